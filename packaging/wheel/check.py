"""check.py WHEEL: that a wheel for Linux is what its name says, and that it works.

Its tags, the version of glibc that every file in it asks for, what it links, what the module exports, its size. Where this
machine can run it, it is installed into a new environment and trains there. Says what is wrong, with exit status 1.
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

SYSTEM = re.compile(r"ld-linux-.*|lib(c|m|dl|pthread|rt)\.so\.\d+")
OURS = re.compile(r"libgomp-[0-9a-f]+\.so[\d.]*") # beside the module, under a name that no other wheel has
GLIBC = 2, 17
LARGEST = 12 << 20
TRY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "try.py")
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
            exported = [s.name for s in section.iter_symbols()
                        if s["st_shndx"] != "SHN_UNDEF" and s["st_info"]["bind"] != "STB_LOCAL"]
            if [s for s in exported if s not in ("PyInit__core", "_init", "_fini")]:
                wrong.append(f"{name} exports {' '.join(exported[:5])} ...")


def trains(wheel):
    with tempfile.TemporaryDirectory() as folder:
        python = os.path.join(folder, "bin/python")
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([python, "-m", "pip", "install", "-q", wheel], check=True)
        if subprocess.run([python, TRY], cwd=folder).returncode != 0:
            wrong.append("it does not train in an environment of its own")


def main(path):
    name = os.path.basename(path)
    tags = re.fullmatch(r"hinge-[\d.]+-cp310-abi3-manylinux2014_(\w+?)\.manylinux_2_17_\1\.whl", name)
    if tags is None:
        return f"{name}: tags other than cp310-abi3-manylinux2014"
    with zipfile.ZipFile(path) as wheel:
        for entry in wheel.namelist():
            if re.search(r"\.so[\d.]*$", entry):
                with wheel.open(entry) as file:
                    look(entry, file)
        if sum("/LICENSE" in entry for entry in wheel.namelist()) < 6:
            wrong.append("licences of what it holds are missing")
    if os.path.getsize(path) > LARGEST:
        wrong.append(f"it has {os.path.getsize(path) >> 20} MB")
    if tags[1] == platform.machine():
        trains(os.path.abspath(path))
    else:
        print(f"not run: it is for {tags[1]}")
    return "\n".join(f"{name}: {what}" for what in wrong)


sys.exit(main(sys.argv[1]) or 0)
