#!/usr/bin/env python3
"""test_packaging.py SOURCE BUILD: what stands beside meson.build agrees with it. Debian's changelog, CITATION.cff, the
changelog and the recipes have its version; recipes are in their languages' grammar, where those are there, and name only
options that meson_options.txt has; each file that the build installs is in one of Debian's packages, and each pattern of
these finds one."""
import configparser
import fnmatch
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

source, build = map(os.path.abspath, sys.argv[1:3])
sys.path.insert(0, os.path.join(source, "packaging"))
sys.dont_write_bytecode = True
import fill

wrong = []


def read(*path):
    with open(os.path.join(*path), encoding="utf-8") as file:
        return file.read()


def check_versions():
    version = re.escape(fill.version())
    for path, pattern in {"debian/changelog": rf"hinge \({version}\)", "CITATION.cff": rf"(?m)^version: {version}$",
                          "CHANGELOG.md": rf"(?m)^## {version}\b", "compat/r/DESCRIPTION": rf"(?m)^Version: {version}$",
                          "compat/octave/DESCRIPTION": rf"(?m)^Version: {version}$",
                          "doc/octave-r.md": rf"hinge_{version}.tar.gz"}.items():
        if not re.search(pattern, read(source, path)):
            wrong.append(f"{path} does not have version {fill.version()}")
    if read(source, "compat/octave/COPYING") != read(source, "LICENSE"):
        wrong.append("compat/octave/COPYING is not LICENSE")
    for path in glob.glob(os.path.join(source, "*meson.build")) + glob.glob(os.path.join(source, "*/meson.build")):
        for line in re.findall(r"(?m)^.*\bversion: (?:\w+ \+ )?'\d*\.[\d.]+'.*$", read(path)):
            if line != f"  version: '{fill.version()}',":
                wrong.append(f"{os.path.relpath(path, source)} has a version of its own:{line}")


def grammar(name, command):
    if shutil.which(command[0]):
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode:
            wrong.append(f"{name}: {done.stdout}")
    else:
        print(f"not looked at for want of {command[0]}: {name}")


def check_recipes(folder):
    options = set(re.findall(r"^option\('(\w+)'", read(source, "meson_options.txt"), re.M)) | {"wrap_mode"}
    options |= {"default_library", "buildtype"}
    texts = {path: read(folder, path) for path in fill.RECIPES}
    texts.update({"debian/rules": read(source, "debian/rules"), "pyproject.toml": read(source, "pyproject.toml"),
                  "conan/conanfile.py": read(source, "packaging/conan/conanfile.py")})
    for path, text in texts.items():
        named = set(re.findall(r"-D(\w+)=", text)) | set(re.findall(r'"(\w+)": "disabled"', text))
        if named - options:
            wrong.append(f"{path}: no such option: {' '.join(named - options)}")
        if path in fill.RECIPES and fill.version() not in text:
            wrong.append(f"{path} does not have version {fill.version()}")
    json.loads(texts["vcpkg/vcpkg.json"])
    wrap = configparser.ConfigParser()
    wrap.read_string(texts["wrapdb/hinge.wrap"])
    provided = set(re.findall(r"override_dependency\('([\w-]+)'", "".join(
        read(source, path) for path in ("meson.build", "compat/meson.build", "mpi/meson.build"))))
    if set(wrap["provide"]["dependency_names"].split(", ")) != provided:
        wrong.append(f"hinge.wrap does not provide {provided}")
    for path in ("spack/package.py", "conan/conanfile.py", "conan/test_package/conanfile.py"):
        compile(texts.get(path) or read(source, "packaging", path), path, "exec")
    grammar("PKGBUILD", ["bash", "-n", os.path.join(folder, "aur/PKGBUILD")])
    grammar("hinge.rb", ["ruby", "-c", os.path.join(folder, "homebrew/hinge.rb")])
    grammar("flake.nix", ["nix-instantiate", "--parse", os.path.join(folder, "nix/flake.nix")])


def check_exported_files():
    """Conan takes every room that is built."""
    taken = re.findall(r'"(\w+)/\*"', read(source, "packaging/conan/conanfile.py"))
    rooms = set(re.findall(r"subdir\('(\w+)'", read(source, "meson.build"))) | {"lib", "kernels", "solver", "include"}
    rooms |= {"tools", "compat"}
    if not rooms - {"python", "test", "benchmarks"} <= set(taken):
        wrong.append(f"conanfile.py does not export {rooms - set(taken)}")


def installed():
    """Paths below usr/ as Debian has them, and whether the build leaves out nothing."""
    known = json.loads(subprocess.run(["meson", "introspect", "--installed", build], check=True, stdout=subprocess.PIPE).stdout)
    prefix = next(option["value"] for option in json.loads(subprocess.run(
        ["meson", "introspect", "--buildoptions", build], check=True, stdout=subprocess.PIPE).stdout)
        if option["name"] == "prefix")
    for path in set(known.values()):
        path = os.path.join("usr", os.path.relpath(path, prefix))
        yield re.sub(r"^usr/lib/(?!python)", "usr/lib/x86_64-linux-gnu/", path)


def check_debian():
    patterns = {}
    for path in glob.glob(os.path.join(source, "debian/*.install")) + [os.path.join(source, "debian/not-installed")]:
        for line in read(path).splitlines():
            patterns[line.split()[0]] = os.path.basename(path)
    paths = list(installed()) # and what doc/install.py copies
    paths += ["usr/share/doc/hinge/" + name for name in ("LICENSE", "CHANGELOG.md", "README.md", "doc/x", "examples/x")]
    has_mpi = any("libhinge-mpi" in path for path in paths)
    has_python = any("-packages" in path for path in paths)
    found = {pattern: [path for path in paths if fnmatch.fnmatch(path, pattern) or fnmatch.fnmatch(path, pattern + "/*")]
             for pattern in patterns}
    for pattern, matches in found.items():
        if not matches and (has_mpi or "mpi" not in pattern) and (has_python or "python" not in pattern):
            wrong.append(f"debian/{patterns[pattern]}: nothing that is installed is {pattern}")
    for path in paths:
        takers = {patterns[pattern] for pattern, matches in found.items() if path in matches}
        if len(takers) != 1:
            wrong.append(f"{path} is in {len(takers)} of Debian's packages {' '.join(takers)}")


check_versions()
with tempfile.TemporaryDirectory() as folder:
    fill.main(folder)
    check_recipes(folder)
check_exported_files()
if all(os.path.exists(os.path.join(build, part)) for part in ("compat", "tools")):
    check_debian()
print("\n".join(wrong) or "all agree")
sys.exit(len(wrong) > 0)
