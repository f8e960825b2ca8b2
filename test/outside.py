"""What tests that look at programs from outside share: checks, which are counted; a folder, which goes with the test."""
import atexit
import os
import shutil
import sys
import tempfile

failures = 0
folder = tempfile.mkdtemp()


@atexit.register
def leave():
    os.chdir("/")
    shutil.rmtree(folder)


def check(name, good, *seen):
    global failures
    failures += not good
    print(("ok - " if good else "not ok - ") + name, *(() if good else seen), flush=True)


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def end():
    print(f"{failures} failed")
    sys.exit(failures > 0)
