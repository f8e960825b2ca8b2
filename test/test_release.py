#!/usr/bin/env python3
"""test_release.py SOURCE: scripts/release, on a git repository of its own that holds the source: what it refuses, with
nothing left behind; the tarball has the files of git, byte for byte, and their modes; sums, recipes and the changelog's
section are those that Python makes; the same commit gives the same. Exit 77 without git."""
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

source = os.path.abspath(sys.argv[1])
QUICK = ["--no-tests", "--no-wheels", "--no-command"]
wrong = []


def git(folder, *words):
    name = ["-c", "user.name=test", "-c", "user.email=test@example.org", "-c", "init.defaultBranch=main"]
    return subprocess.run(["git", *name, "-C", folder, *words], check=True, stdout=subprocess.PIPE, text=True).stdout


def read(*path):
    with open(os.path.join(*path), "rb") as file:
        return file.read()


def copy_source(folder):
    """What git has of the source, or all of it where that is a tarball's."""
    if os.path.exists(os.path.join(source, ".git")):
        for name in git(source, "ls-files", "-z").split("\0"):
            if name and os.path.lexists(os.path.join(source, name)):
                os.makedirs(os.path.dirname(os.path.join(folder, name)), exist_ok=True)
                shutil.copy2(os.path.join(source, name), os.path.join(folder, name), follow_symlinks=False)
    else:
        shutil.copytree(source, folder, symlinks=True, ignore=lambda at, names: [
            name for name in names if at == source and name.startswith("build")])


def release(folder, *words):
    done = subprocess.run([os.path.join(folder, "scripts/release"), *words], cwd=os.path.dirname(folder),
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.returncode, done.stdout


def refused(folder, why, *words):
    before = sorted(os.listdir(os.path.dirname(folder)))
    status, text = release(folder, *words)
    if status != 1 or why not in text:
        wrong.append(f"release {' '.join(words)}: status {status}, without '{why}': {text}")
    if sorted(os.listdir(os.path.dirname(folder))) != before:
        wrong.append(f"release {' '.join(words)}: something is left behind")


def check_tarball(folder, path, name):
    kept = {f"{name}/{one}" for one in git(folder, "ls-files", "-z").split("\0") if one}
    with tarfile.open(path) as tar:
        members = {member.name: member for member in tar.getmembers() if not member.isdir()}
        if set(members) != kept:
            wrong.append(f"only in the tarball or only in git: {sorted(set(members) ^ kept)}")
        for path in kept & set(members):
            here = os.path.join(folder, path[len(name) + 1:])
            if members[path].isfile() and tar.extractfile(path).read() != read(here):
                wrong.append(f"{path} is not what git has")
            if members[path].isfile() and bool(members[path].mode & 0o100) != os.access(here, os.X_OK):
                wrong.append(f"{path} can be run in one of git and tarball alone")


def check_made(folder, made, version):
    name = f"hinge-{version}"
    files = sorted(os.path.relpath(os.path.join(at, one), made) for at, _, names in os.walk(made) for one in names)
    sums = "".join(f"{hashlib.sha256(read(made, one)).hexdigest()}  {one}\n" for one in files if one != "SHA256SUMS")
    if read(made, "SHA256SUMS").decode() != sums or f"{name}.tar.xz" not in files:
        wrong.append(f"SHA256SUMS does not have the sums of what was made: {sums}")
    check_tarball(folder, os.path.join(made, f"{name}.tar.xz"), name)
    of_tarball = hashlib.sha256(read(made, f"{name}.tar.xz")).hexdigest()
    if of_tarball not in read(made, "recipes/homebrew/hinge.rb").decode():
        wrong.append("a recipe does not have the tarball's sum")
    sections = re.split(r"(?m)^## (.*)\n", read(folder, "CHANGELOG.md").decode())
    section = next(text for title, text in zip(sections[1::2], sections[2::2]) if title.split(",")[0] == version)
    if not section.strip() or read(made, f"CHANGELOG-{version}.md").decode() != section:
        wrong.append("the changelog's section is not that of the version")


def main(room):
    folder, made = os.path.join(room, "hinge"), os.path.join(room, "out", "made")
    copy_source(folder)
    os.mkdir(os.path.join(room, "out"))
    status, text = release(folder, "--help")
    if status or not text.startswith("release [--no-tests]"):
        wrong.append(f"--help: status {status}: {text}")
    refused(folder, "no such option: --fast", "--fast", made)
    refused(folder, "made of a git repository", *QUICK, made)
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "All")
    recipe = read(folder, "meson.build").decode()
    version = re.search(r"version: '([\d.]+)'", recipe)[1]
    with open(os.path.join(folder, "meson.build"), "w", encoding="utf-8") as file:
        file.write(recipe.replace(version, "7.8.9", 1))
    refused(folder, "not committed", *QUICK, made)
    git(folder, "commit", "-q", "-a", "-m", "Another version")
    refused(folder, "no section 7.8.9", *QUICK, made)
    git(folder, "reset", "-q", "--hard", "HEAD^")
    status, text = release(folder, *QUICK, "out/made")
    if status or os.listdir(os.path.join(room, "out")) != ["made"]:
        sys.exit(f"release {' '.join(QUICK)}: status {status}: {text}")
    check_made(folder, made, version)
    refused(folder, "there already", *QUICK, made)
    again = os.path.join(room, "out", "again")
    status, text = release(folder, *QUICK, again)
    if status or read(again, "SHA256SUMS") != read(made, "SHA256SUMS"):
        wrong.append(f"the same commit gives another tarball: {text}")
    if git(folder, "status", "--porcelain"):
        wrong.append("the source is not as it was")


if not shutil.which("git"):
    print("skipped: no git")
    sys.exit(77)
with tempfile.TemporaryDirectory() as folder:
    main(os.path.realpath(folder))
print("\n".join(wrong) or "what a release has is right")
sys.exit(len(wrong) > 0)
