"""check.py WHEEL [PYTHON...]: that a wheel is what its name says, and that it works.

Its tags, the version of glibc that every file in it asks for, what it links, what the module exports, its size. Where
this machine can run it, it is installed into a new environment and trains there. PYTHON, with words in front of it, is
another Python that it is for, 3.11, by an emulator: it trains in a folder that pip filled for that one. Says what is
wrong, with exit status 1.
"""
import os
import platform
import re
import subprocess
import sys
import tempfile
import zipfile

from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile
from elftools.elf.gnuversions import GNUVerNeedSection
from elftools.elf.sections import SymbolTableSection

SYSTEM = re.compile(r"ld-linux-.*|lib(c|m|dl|pthread|rt)\.so\.\d+|libc(\.musl-x86_64)?\.so(\.1)?")
WINDOWS = re.compile(r"(?i)(kernel32|msvcrt|advapi32|user32|python3|api-ms-win-.*)\.dll")
OURS = re.compile(r"libgomp-[0-9a-f]+\.so[\d.]*") # beside the module, under a name that no other wheel has
STARTS = "PyInit__core", "_init", "_fini"
GLIBC = 2, 17
LARGEST = 12 << 20
TRY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "try.py")
# and of which platforms it takes what it depends on
TAGS = {r"manylinux2014_(x86_64|aarch64)\.manylinux_2_17_\1":
            ["manylinux_2_17_{}", "manylinux_2_27_{}", "manylinux_2_28_{}"],
        r"musllinux_1_2_(x86_64)": ["musllinux_1_2_{}"], r"win_(amd64)": ["win_{}"]}
wrong = []


def look(name, file):
    """One ELF file of the wheel: what it needs is the system's or beside it, in no newer version than promised."""
    elf = ELFFile(file)
    for section in elf.iter_sections():
        if isinstance(section, GNUVerNeedSection):
            for _, names in section.iter_versions():
                for version in names:
                    found = re.fullmatch(r"GLIBC_(\d+)\.(\d+)(\.\d+)?", version.name)
                    if found and (int(found[1]), int(found[2])) > GLIBC:
                        wrong.append(f"{name} asks for {version.name}")
        elif isinstance(section, DynamicSection):
            for tag in section.iter_tags("DT_NEEDED"):
                if not SYSTEM.fullmatch(tag.needed) and not OURS.fullmatch(tag.needed):
                    wrong.append(f"{name} links {tag.needed}")
        elif isinstance(section, SymbolTableSection) and section.name == ".dynsym" and "_core" in name:
            check_exports(name, [s.name for s in section.iter_symbols()
                                 if s["st_shndx"] != "SHN_UNDEF" and s["st_info"]["bind"] != "STB_LOCAL"])


def look_windows(name, file, beside):
    """One DLL of the wheel: what it needs is Windows', Python's or beside it."""
    import pefile
    dll = pefile.PE(data=file.read())
    for needed in dll.DIRECTORY_ENTRY_IMPORT:
        if not WINDOWS.fullmatch(needed.dll.decode()) and needed.dll.decode() not in beside:
            wrong.append(f"{name} links {needed.dll.decode()}")
    if "_core" in name:
        check_exports(name, [symbol.name.decode() for symbol in dll.DIRECTORY_ENTRY_EXPORT.symbols])


def check_exports(name, exported):
    if [s for s in exported if s not in STARTS]:
        wrong.append(f"{name} exports {' '.join(exported[:5])} ...")


def trains(wheel):
    with tempfile.TemporaryDirectory() as folder:
        python = os.path.join(folder, "bin/python")
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([python, "-m", "pip", "install", "-q", wheel], check=True)
        if subprocess.run([python, TRY], cwd=folder).returncode != 0:
            wrong.append("it does not train in an environment of its own")


def trains_by(wheel, python, platforms):
    """The same by a Python that pip does not run on: it fills a folder as it would there."""
    with tempfile.TemporaryDirectory() as folder:
        wine = python[0] == "wine"
        subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--target", folder, "--only-binary=:all:",
                        "--implementation", "cp", "--python-version", "3.11", wheel] +
                       [word for name in platforms for word in ("--platform", name)] +
                       ["numpy<2"] * wine, check=True) # NumPy 2 calls crealf, which wine 8 has not
        path = "Z:" + folder if wine else folder
        done = subprocess.run(python + [TRY], cwd=folder, env={**os.environ, "PYTHONPATH": path}, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) # wine's way
        print(done.stdout, end="")
        if done.returncode != 0:
            wrong.append(f"it does not train by {' '.join(python)}")


def main(path, python):
    name = os.path.basename(path)
    tags = re.fullmatch(r"hinge-[\d.]+-(?:cp310-abi3|(cp3\d+)-\1t)-(.*)\.whl", name)
    for pattern, others in TAGS.items():
        found = re.fullmatch(pattern, tags[2]) if tags else None
        if found:
            platforms = [tag.format(found[1]) for tag in others]
            break
    else:
        return f"{name}: tags other than cp310-abi3, or cp313-cp313t and later, and " + ", ".join(TAGS)
    with zipfile.ZipFile(path) as wheel:
        files = wheel.namelist()
        for entry in files:
            with wheel.open(entry) as file:
                if re.search(r"\.so[\d.]*$", entry):
                    look(entry, file)
                elif re.search(r"\.(pyd|dll)$", entry):
                    look_windows(entry, file, {os.path.basename(other) for other in files})
        if sum("/LICENSE" in entry for entry in files) < (3 if "win" in name else 6):
            wrong.append("licences of what it holds are missing")
    if os.path.getsize(path) > LARGEST:
        wrong.append(f"it has {os.path.getsize(path) >> 20} MB")
    if python:
        trains_by(os.path.abspath(path), python, platforms)
    elif found[1] == platform.machine() and "manylinux" in name:
        trains(os.path.abspath(path))
    else:
        print(f"not run: it is for {tags[2]}")
    return "\n".join(f"{name}: {what}" for what in wrong)


sys.exit(main(sys.argv[1], sys.argv[2:]) or 0)
