#!/usr/bin/env python3
"""man.py HINGE COMMAND FOLDER: the manual page of `hinge COMMAND` ("hinge": of the command as a whole), in mdoc.

Name, synopsis, description and options are what `hinge COMMAND --help` prints, so that the two cannot differ. What a
manual says beyond that is in FOLDER: COMMAND.description.mdoc goes on with the description, common.mdoc has the sections
that every page has, and COMMAND.mdoc those that follow them.
"""
import os
import re
import subprocess
import sys
import textwrap

hinge, command, folder = sys.argv[1:]
DATE = "November 21, 2026"


def output(*arguments):
    return subprocess.run([hinge, *arguments], stdout=subprocess.PIPE, text=True, check=True).stdout


def prose(text):
    """Running text in roff: sentences begin lines, and nothing is taken for a request."""
    text = " ".join(text.split()).replace("\\", "\\e")
    text = re.sub(r"`([^`]*)`", r"\\(oq\1\\(cq", text)
    text = re.sub(r"(?<![\w)\\])(-+)(?=\w)", lambda m: "\\-" * len(m[1]), text)
    lines = [line for sentence in re.sub(r"([.?!]) (?=[A-Z-])", r"\1\n", text).split("\n")
             for line in textwrap.wrap(sentence, 78, break_on_hyphens=False, break_long_words=False)]
    return "\n".join("\\&" + line if line[:1] in ".'" else line for line in lines)


def word(text):
    """A word of a synopsis or of an option's head as macros: -x, --long, [optional], ARGUMENT."""
    optional = re.fullmatch(r"\[(.*)\]", text)
    if optional:
        return "Op " + word(optional[1])
    if text == "...":
        return text
    return "Fl " + text[1:] if text.startswith("-") else "Ar " + text


def synopsis(usage):
    lines = []
    for line in usage:
        words = re.sub(r"\[(\w+) \.\.\.\]", r"[\1...]", line).split()
        lines += [".Nm hinge " + words[1]] + ["." + word(w).replace("...", " ...") for w in words[2:]]
    return lines


def options(text):
    """The groups of a help text: a title that ends in a colon, and options at column 2 with their text at column 28."""
    lines = []
    for group in re.split(r"\n+(?=\S)", text.strip()):
        title, *rest = re.split(r"\n(?=  {0,5}-)", group)
        lines += [".Ss " + prose(title.rstrip(":")), ".Bl -tag -width Ds"]
        for option in rest:
            head, what = re.fullmatch(r" *(\S+(?: \S+)*)\s{2,}(.*)", option, re.S).groups()
            lines.append(".It " + " , ".join(" ".join(map(word, name.split())) for name in head.split(", ")))
            what = what.splitlines()
            if all(re.match(r" *\d ", line) for line in what): # a list, not running text
                lines += [line for item in what for line in (".br", prose(item))][1:]
            else:
                lines.append(prose(" ".join(what)))
        lines.append(".El")
    return lines


def section(name):
    path = os.path.join(folder, name + ".mdoc")
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as file:
        return file.read().rstrip("\n").split("\n")


overview = output("help")
commands = dict(re.findall(r"^  (\w+) +(.*)$", overview, re.M))
page = [".ds doc-volume-operating-system", # groff's heads say BSD otherwise
        f".Dd {DATE}", ".Dt " + ("HINGE" if command == "hinge" else "HINGE-" + command.upper()) + " 1",
        ".Os " + output("--version").strip(), ".Sh NAME"]
if command == "hinge":
    page += [".Nm hinge", ".Nd kernel support vector machines on dense data", ".Sh SYNOPSIS", ".Nm", ".Ar command",
             ".Op Ar options", ".Ar ...", ".Nm", ".Fl -help | Fl -version", ".Sh DESCRIPTION", "The commands are:",
             ".Bl -tag -width calibrate"]
    for name, what in commands.items():
        page += [".It Cm " + name, prose(what) + "; see"] if name != "help" else [".It Cm help", prose(what) + "."]
        page += [f".Xr hinge-{name} 1 ."] if name != "help" else []
    page += [".El", ".Pp", prose(overview.strip().split("\n\n")[-1]),
             *section("hinge.description")]
else:
    text = output(command, "--help")
    first, description, rest = text.split("\n\n", 2)
    page += [".Nm hinge-" + command, ".Nd " + prose(commands[command]), ".Sh SYNOPSIS"]
    page += synopsis(line.replace("usage: ", "").strip() for line in first.splitlines())
    page += [".Sh DESCRIPTION", prose(description), *section(command + ".description"), ".Sh OPTIONS", *options(rest)]
page += section("common") + section(command)
others = ["hinge"] if command != "hinge" else []
others += ["hinge-" + name for name in commands if name not in (command, "help")]
page += [".Sh SEE ALSO"] + [f".Xr {name} 1 ," for name in sorted(others)[:-1]] + [f".Xr {sorted(others)[-1]} 1"]
print("\n".join(page))
