#!/usr/bin/env python3
"""test_completion.py HINGE BASH ZSH: what a shell offers behind hinge's words, in bash itself; zsh's file by its grammar,
where zsh is there. Exit 1 if a check failed.
"""
import os
import re
import shutil
import subprocess
import sys

from outside import check, end, folder, read

hinge, bash, zsh = map(os.path.abspath, sys.argv[1:])
os.chdir(folder)
for name in "data.csv", "data.model", "other":
    open(name, "w", encoding="utf-8").close()


def offered(*words):
    """What is offered for the last word, which is begun."""
    script = (f"source {bash}; COMP_WORDS=({' '.join(map(repr, words))}); COMP_CWORD={len(words) - 1}; _hinge; "
              "printf '%s\\n' \"${COMPREPLY[@]}\"")
    done = subprocess.run(["bash", "-uc", script], capture_output=True, text=True)
    check(f"{words}: nothing is said", not done.stderr, done.stderr)
    return set(done.stdout.split())


def said(*words):
    return subprocess.run([hinge, *words], capture_output=True, text=True).stdout


commands = set(re.findall(r"^  (\w+) ", said("help"), re.M))
check("commands", commands < offered("hinge", "") and offered("hinge", "pr") == {"predict"})
for command in commands - {"help"}:
    names = set(re.findall(r"(?<![\w-])--?\w[\w-]*", "\n".join(re.findall(r"^ {2,6}(-.*?)(?:  |$)", said(command, "--help"), re.M))))
    check(f"all options of {command}", offered("hinge", command, "-") == names and "--help" in names,
          offered("hinge", command, "-") ^ names)
check("options that begin so", offered("hinge", "train", "--scale-") == {"--scale-lower", "--scale-upper", "--scale-restore"})
check("words of an option", offered("hinge", "train", "--precision", "") == {"auto", "f32", "f64"})
check("which begin so", offered("hinge", "predict", "--format", "l") == {"libsvm"})
check("of one with two names", offered("hinge", "train", "-s", "q") == offered("hinge", "train", "--type", "q") == {"quantile"})
check("files for names", offered("hinge", "train", "da") == {"data.csv", "data.model"})
check("and for options that name some", offered("hinge", "train", "--test", "o") == {"other"})
check("but not for numbers", offered("hinge", "train", "-c", "") == set())
check("help of commands", offered("hinge", "help", "sc") == {"scale"})
check("zsh has the same", all(f"{command}) _arguments" in read(zsh) for command in commands - {"help"}) and
      "'--precision[" in read(zsh) and ":P:(auto f32 f64)'" in read(zsh))
if shutil.which("zsh"):
    done = subprocess.run(["zsh", "-n", zsh], capture_output=True, text=True)
    check("in its grammar", done.returncode == 0 and not done.stderr, done.stderr)
end()
