#!/usr/bin/env python3
"""test_man.py HINGE SOURCE PAGE...: the manual pages, as a reader sees them.

mandoc and groff have nothing to say against any of them; every option of `hinge COMMAND --help` stands in the page's
text and the other way round; every example succeeds; every command has a page. Exit 1 if not, 77 without mandoc and
groff.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

hinge, source, *pages = map(os.path.abspath, sys.argv[1:])
failures = 0


def check(what, good, text=""):
    global failures
    if not good:
        failures += 1
        print(f"not ok - {what}\n{text}")


def run(*command, **more):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more)


def heads(text, indent):
    """The sets of names of the options that a text explains, each on a line that begins so."""
    lines = re.findall(rf"^{indent}(-.*?)(?:  |$)", text, re.M)
    return {frozenset(re.findall(r"(?<![\w-])--?\w[\w-]*", line)) for line in lines}


formatters = {"mandoc": ["mandoc", "-T", "utf8"], "groff": ["groff", "-m", "mdoc", "-T", "utf8", "-P", "-cbou"]}
formatters = {name: command for name, command in formatters.items() if shutil.which(name)}
if not formatters:
    print("neither mandoc nor groff")
    sys.exit(77)
for page in pages:
    name = os.path.basename(page)
    if "mandoc" in formatters:
        # an Xr to a page that is not installed here, and a foot of our own, are all it may speak of
        lint = [line for line in run("mandoc", "-T", "lint", page).stdout.splitlines() if "referenced manual not found"
                not in line and "outdated mandoc.db" not in line and "explicitly specified" not in line]
        check(f"{name}: mandoc", not lint, "\n".join(lint))
    if "groff" in formatters:
        said = run("groff", "-ww", "-m", "mdoc", "-T", "utf8", "-z", page).stdout
        check(f"{name}: groff", not said, said)
    command = re.match(r"hinge-?(\w*)\.1$", name)[1]
    for formatter, words in formatters.items():
        text = re.sub(".\b", "", run(*words, page).stdout).replace("\u2010", "-").replace("\u2212", "-")
        check(f"{name} by {formatter}: head and foot", "BSD" not in text)
        if command:
            shown = heads(text.split("OPTIONS")[1].split("\nE")[0], "     ")
            wanted = heads(run(hinge, command, "--help").stdout, " {2,6}")
            check(f"{name} by {formatter}: options", shown == wanted and len(wanted) > 1,
                  f"{sorted(map(sorted, shown ^ wanted))}")
        else:
            commands = set(re.findall(r"^  (\w+) ", run(hinge, "help").stdout, re.M)) - {"help"}
            check(f"{name}: commands", commands == set(re.findall(r"hinge-(\w+)\(1\)", text)))
            check(f"{name}: a page each", {f"hinge-{c}.1" for c in commands} < set(map(os.path.basename, pages)))
    with open(page, encoding="utf-8") as file:
        examples = re.findall(r"^\.Dl (.*)$", file.read(), re.M)
    check(f"{name}: has examples", examples)
    if not shutil.which("gnuplot"):
        examples = [line for line in examples if "hinge plot" not in line and ".svg" not in line]
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(os.path.join(source, "data"), os.path.join(folder, "data"))
        path = os.path.dirname(hinge) + ":" + os.environ["PATH"]
        done = run("sh", "-euc", "\n".join(examples), cwd=folder,
                   env=dict(os.environ, PATH=path, HINGE_NO_RESTART="1", OMP_WAIT_POLICY="passive"))
        check(f"{name}: examples", done.returncode == 0, done.stdout)
print(f"{len(pages)} pages, {failures} failures")
sys.exit(1 if failures else 0)
