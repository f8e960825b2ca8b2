#!/usr/bin/env python3
"""test_notes.py SOURCE LIBRARY_FOLDER HINGE [--update]: doc/from-the-lecture-notes.md keeps its word.

Each C block is put into the frame, the first one, where it says so, compiled against the library and run; each sh block
is run as it stands, with the hinge command in PATH, in a folder that has the source's data. What comes out must be the
text block that follows. --update writes what comes out into the page, to be read by a human being. Exit 1 if anything
differs, 77 without a compiler.
"""
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

source, library, hinge = (os.path.abspath(word) for word in sys.argv[1:4])
page = os.path.join(source, "doc", "from-the-lecture-notes.md")
MARK = "    /* the example */\n"


def blocks(text):
    """(language, content, start, end) of each fenced block"""
    return [(m.group(1), m.group(2), m.start(2), m.end(2))
            for m in re.finditer(r"^```(\w*)\n(.*?)^```$", text, re.M | re.S)]


def program(frame, examples):
    """All examples as one program: a function each, and main prints a line between their outputs."""
    head, body = frame.split("int main(void)")
    parts = [head]
    for k, example in enumerate(examples):
        lines = "".join("    " + line if line.strip() else line for line in example.splitlines(True))
        parts.append(f"static int example_{k}(void)" + body.replace(MARK, lines))
    calls = "".join(f'    failed |= example_{k}();\n    puts("\\001");\n' for k in range(len(examples)))
    parts.append("int main(void)\n{\n    int failed = 0;\n" + calls + "    return failed;\n}\n")
    return "\n".join(parts)


def outputs_of_c(frame, examples, folder):
    with open(os.path.join(folder, "notes.c"), "w", encoding="utf-8") as file:
        file.write(program(frame, examples))
    command = shlex.split(os.environ.get("CC", "cc")) + [
        "-std=c11", "-Wall", "-Wextra", "-Werror", "-I", os.path.join(source, "include"), "notes.c", "-o", "notes",
        "-L", library, "-lhinge", "-lm", "-Wl,-rpath," + library]
    subprocess.run(command, cwd=folder, check=True)
    done = subprocess.run(["./notes"], cwd=folder, capture_output=True, text=True, check=True, timeout=60)
    return done.stdout.split("\001\n")[:-1]


def output_of_sh(script, folder):
    environment = dict(os.environ, PATH=os.path.dirname(hinge) + ":" + os.environ["PATH"], HINGE_NO_RESTART="1")
    done = subprocess.run(["sh", "-c", script], cwd=folder, env=environment, capture_output=True, text=True, timeout=60)
    return done.stdout + done.stderr


def main():
    with open(page, encoding="utf-8") as file:
        text = file.read()
    found = blocks(text)
    (language, frame, _, _), rest = found[0], found[1:]
    if language != "c" or MARK not in frame:
        sys.exit("the first block is not the frame")
    if not shutil.which(shlex.split(os.environ.get("CC", "cc"))[0]):
        sys.exit(77)
    folder = tempfile.mkdtemp()
    try:
        os.symlink(os.path.join(source, "data"), os.path.join(folder, "data"))
        compiled = iter(outputs_of_c(frame, [content for language, content, _, _ in rest if language == "c"], folder))
        failures, pieces, at, got, shown = 0, [], 0, None, ""
        for language, content, start, end in rest:
            if language == "text":
                if got is None:
                    sys.exit(f"a text block follows no example: {content}")
                if got != content:
                    failures += 1
                    print(f"--- {shown.strip()}\n--- the page says\n{content}--- but it is\n{got}")
                pieces += [text[at:start], got]
                at, got = end, None
                continue
            if got:
                sys.exit(f"the output of an example is not shown: {shown}")
            got, shown = next(compiled) if language == "c" else output_of_sh(content, folder), content
        if got:
            sys.exit(f"the output of an example is not shown: {shown}")
    finally:
        shutil.rmtree(folder)
    if "--update" in sys.argv:
        with open(page, "w", encoding="utf-8") as file:
            file.write("".join(pieces) + text[at:])
    print(f"{len(rest)} blocks, {failures} differ")
    sys.exit(1 if failures else 0)


main()
