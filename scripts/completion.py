#!/usr/bin/env python3
"""completion.py HINGE bash|zsh: completion of the command's words for a shell, of what `hinge COMMAND --help` prints,
which is its table of options; the words that an option takes are those that its refusal names.
"""
import re
import subprocess
import sys

hinge, shell = sys.argv[1:]


def said(*words):
    done = subprocess.run([hinge, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


def options_of(command):
    """(names, what the value is called or None, words of the value, text) of each option."""
    found = []
    for head, text in re.findall(r"^ {2,6}(-\S.*?)(?: {2,}|\n {28})(\S.*(?:\n {28}.*)*)", said(command, "--help"), re.M):
        names = [word.split()[0] for word in head.split(", ")]
        value = (head.split(", ")[-1].split() + [None])[1]
        value = None if value and value.startswith("[") else value # which --scale takes with = only
        wrong = re.search(r" is none of (.*)", said(command, names[-1], "?")) if value else None
        found.append((names, value, wrong[1].split(", ") if wrong else [], " ".join(text.split())))
    return found


commands = re.findall(r"^  (\w+) +(.*)$", said("help"), re.M)
options = {name: options_of(name) for name, _ in commands if name != "help"}


def is_file(value):
    return value.startswith(("FILE", "FOLDER"))


def bash():
    lines = ["# Completion of hinge's words in bash, made from its table of options.", "_hinge()", "{",
             "    local word=${COMP_WORDS[COMP_CWORD]} last=${COMP_WORDS[COMP_CWORD-1]} words=", "    COMPREPLY=()",
             "    if [ \"$COMP_CWORD\" -eq 1 ]; then",
             f"        words='{' '.join(name for name, _ in commands)} --help --version'", "    else",
             "        case ${COMP_WORDS[1]}:$last in",
             f"        help:*) words='{' '.join(options)}' ;;"]
    for command, rows in options.items():
        for names, value, words, _ in rows:
            case = "        " + "|".join(f"{command}:{name}" for name in names) + ") "
            if value: # a word of several, a file, or something that cannot be guessed
                lines.append(case + (f"words='{' '.join(words)}' ;;" if words else ";;" if is_file(value) else "return ;;"))
        names = " ".join(name for row in rows for name in row[0])
        lines.append(f"        {command}:*) [ \"${{word#-}}\" = \"$word\" ] || words='{names}' ;;")
    lines += ["        esac", "    fi", "    if [ -n \"$words\" ]; then",
              "        mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\")", "    else",
              "        compopt -o filenames 2>/dev/null", "        mapfile -t COMPREPLY < <(compgen -f -- \"$word\")",
              "    fi", "}", "complete -F _hinge hinge"]
    return lines


def quoted(text):
    return "'" + text.replace("'", "'\\''") + "'"


def zsh():
    lines = ["#compdef hinge", "# Completion of hinge's words in zsh, made from its table of options.", "",
             "local -a commands", "commands=("]
    lines += ["    " + quoted(f"{name}:{text}") for name, text in commands]
    lines += [")", "if (( CURRENT == 2 )); then", "    _describe command commands", "    return", "fi",
              "local command=$words[2]", "shift words", "(( CURRENT-- ))", "case $command in",
              f"help) _values command {' '.join(options)} ;;"]
    for command, rows in options.items():
        lines.append(f"{command}) _arguments -S \\")
        for names, value, words, text in rows:
            what = re.sub(r"([][:\\])", r"\\\1", text)
            action = f"({' '.join(words)})" if words else "_files" if value and is_file(value) else " "
            for name in names:
                others = "(" + " ".join(names) + ")" if len(names) > 1 else ""
                argument = ":" + re.sub(r"([][:\\])", r"\\\1", value) + ":" + action if value else ""
                lines.append("    " + quoted(f"{others}{name}[{what}]{argument}") + " \\")
        lines.append("    '*:file:_files' ;;")
    return lines + ["esac"]


print("\n".join(bash() if shell == "bash" else zsh()))
