#!/usr/bin/env python3
"""test_docs.py SOURCE BUILD HINGE [--update] [PAGE...]: README.md, CHANGELOG.md, CONTRIBUTING.md, SECURITY.md and doc/*.md keep their word.

Every fenced block is checked, or the test fails:
  c     a whole program (it has a main), or statements that go into the page's frame, a block with the line "the
        example" (it may stand in an HTML comment). Compiled against the library without a warning, and run.
  sh    run as it stands, in a folder of the page's own that has the source's data, examples and benchmarks, with the hinge command
        in PATH and the library where pkg-config finds it. It must succeed.
  python  a session: python/test looks whether it comes out so
  octave, r  as python, by test_octave.sh and test_r.sh
  text  what the example before it prints; "..." stands for what differs from machine to machine.
An HTML comment on the line before a block says what is special about it:
  file: NAME            written there, for the sh blocks that follow (a C file must compile by itself)
  needs: COMMAND...     skipped, and said so, where one of these is not installed
  not run: WHY          sh: its grammar is checked, and that it names no option the command does not have
  output not shown: WHY
  varies: WORD, ...     text: lines that begin with one of these words need only do that
What prints something must show it. Links within the source, and between what is installed, must lead somewhere, every page must be linked from
doc/README.md, and the changelog speaks of the version that is built. --update writes what comes out into the pages, to be read by a human being. Exit 1 if anything differs,
77 without a compiler.
"""
import glob
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

words = [word for word in sys.argv[1:] if word != "--update"]
source, build, hinge = (os.path.abspath(word) for word in words[:3])
update = len(words) < len(sys.argv) - 1
MARK = "    /* the example */\n"
BLOCK = re.compile(r"^(?:<!-- ([^\n]*) -->\n)?```([^\n]*)\n(.*?)^```$", re.M | re.S)
CC = shlex.split(os.environ.get("CC", "cc"))
FLAGS = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-I", os.path.join(source, "include")]
LIBRARY = ["-L", build, "-lhinge", "-lm", "-Wl,-rpath," + build]
ENVIRONMENT = dict(os.environ, HINGE_NO_RESTART="1", OMP_WAIT_POLICY="passive", LC_ALL="C.UTF-8")
ENVIRONMENT["PATH"] = os.path.dirname(hinge) + ":" + os.environ["PATH"]
failures = 0


def fail(page, what):
    global failures
    failures += 1
    print(f"{os.path.relpath(page, source)}: {what}")


def run(command, folder, **more):
    return subprocess.run(command, cwd=folder, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, **more)


def install(folder):
    """hinge goes into the folder, and pkg-config and the dynamic linker find it there."""
    subprocess.run(["meson", "install", "-C", build, "--no-rebuild", "--quiet", "--destdir", folder], check=True)
    found = glob.glob(os.path.join(folder, "**", "pkgconfig", "*.pc"), recursive=True)
    for path in found:
        with open(path, "r+", encoding="utf-8") as file:
            text = file.read().replace("prefix=/", f"prefix={folder}/", 1)
            file.seek(0)
            file.write(text)
    description = os.path.dirname(found[0])
    ENVIRONMENT["hinge_DIR"] = os.path.join(os.path.dirname(description), "cmake", "hinge")
    for name, first in [("LD_LIBRARY_PATH", os.path.dirname(description)), ("PKG_CONFIG_PATH", description)]:
        ENVIRONMENT[name] = ":".join(filter(None, [first, os.environ.get(name)]))
    pages = glob.glob(os.path.join(folder, "**", "share", "doc", "**", "*.md"), recursive=True)
    if not pages:
        fail(folder, "no page is installed")
    for page in pages:
        with open(page, encoding="utf-8") as file:
            check_links(page, file.read())


def framed(frame, examples):
    """All examples as one program: a function each, and main prints a line between their outputs."""
    head, body = frame.split("int main(void)")
    parts = [head]
    for k, example in enumerate(examples):
        lines = "".join("    " + line if line.strip() else line for line in example.splitlines(True))
        parts.append(f"static int example_{k}(void)" + body.replace(MARK, lines))
    calls = "".join(f'    failed |= example_{k}();\n    puts("\\001");\n' for k in range(len(examples)))
    parts.append("int main(void)\n{\n    int failed = 0;\n" + calls + "    return failed;\n}\n")
    return "\n".join(parts)


def output_of_program(page, text, folder):
    with open(os.path.join(folder, "block.c"), "w", encoding="utf-8") as file:
        file.write(text)
    done = run(CC + FLAGS + ["block.c", "-o", "block"] + LIBRARY, folder)
    if done.returncode == 0:
        done = run(["./block"], folder)
    if done.returncode:
        fail(page, f"a program fails:\n{text}--- it says\n{done.stdout}")
    return done.stdout


def output_of_sh(page, script, folder):
    done = run(["sh", "-eu", "-c", script], folder)
    if done.returncode:
        fail(page, f"exit status {done.returncode} of\n{script}--- it says\n{done.stdout}")
    return done.stdout


def write_file(page, name, language, content, folder):
    path = os.path.join(folder, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(content)
    if language == "c":
        done = run(CC + FLAGS + ["-fsyntax-only", path], folder)
        if done.returncode:
            fail(page, f"{name} does not compile:\n{done.stdout}")


def check_script(page, script):
    """Of a script that is not run: the grammar, and every option of the hinge command."""
    done = run(["sh", "-n", "-c", script], source)
    if done.returncode:
        fail(page, done.stdout)
    for line in script.replace("\\\n", " ").splitlines():
        line = shlex.split(line, comments=True)
        if line[:1] == ["hinge"] and len(line) > 1:
            text = run([hinge, line[1], "--help"], source).stdout
            for option in line[2:]:
                if option.startswith("-") and not re.search(rf"(?<![\w-]){re.escape(option)}(?![\w-])", text):
                    fail(page, f"hinge {line[1]} has no option {option}")


def same(shown, got, varies):
    """Lines that begin with one of the words of varies are compared up to there."""
    got = re.sub(r"^hinge: warning: .* runs kernels without AVX-512: .*\n", "", got, flags=re.M)  # on some processors
    if varies:
        shown, got = (re.sub(rf"^( *(?:{'|'.join(varies)})\b).*", r"\1", text, flags=re.M) for text in (shown, got))
    return re.fullmatch(".*".join(map(re.escape, shown.split("..."))), got, re.S) is not None


def check_blocks(page, text, folder):
    """Returns the page with the outputs that came."""
    found = list(BLOCK.finditer(text))
    if len(found) * 2 != len(re.findall(r"^ *(?:```|~~~)", text, re.M)):
        fail(page, "a fence is not at the start of its line, or not closed")
    for line in re.findall(r"^(?: {4,}|\t)(?![-*\d]).*(?:#include|hinge_\w+\(|\$ |;$).*$", BLOCK.sub("", text), re.M):
        fail(page, f"code that is not in a fenced block: {line}")
    frame = next((m[3] for m in found if m[2] == "c" and MARK in m[3]), None)
    in_frame = [m[3] for m in found if m[2] == "c" and MARK not in m[3] and "int main" not in m[3] and
                not (m[1] or "").startswith("file: ")]
    outputs = iter([])
    if in_frame and frame:
        outputs = iter(output_of_program(page, framed(frame, in_frame), folder).split("\001\n"))
    elif in_frame:
        fail(page, f"statements, and no frame for them:\n{in_frame[0]}")
    pieces, at, got, shown = [], 0, None, ""
    for m in found + [None]:
        note, language, content = (m[1] or "", m[2], m[3]) if m else ("", "", "")
        kind, _, detail = note.partition(": ")
        if language == "text":
            if got is None:
                fail(page, f"a text block follows no example:\n{content}")
            elif not same(content, got, detail.split(", ") if kind == "varies" else []):
                fail(page, f"the output of\n{shown}--- is not\n{content}--- but\n{got}")
                pieces += [text[at:m.start(3)], got]
                at = m.end(3)
            got = None
            continue
        if got:
            fail(page, f"the output is not shown of\n{shown}--- which is\n{got}")
        got, shown = None, content
        if m is None or language == "c" and MARK in content:
            continue
        if kind == "needs" and any(not shutil.which(command) for command in detail.split()):
            print(f"{os.path.relpath(page, source)}: skipped, for want of {detail}:\n{content}")
            got = "..."
            return text  # what follows may need it
        if kind == "file":
            write_file(page, detail, language, content, folder)
        elif kind == "not run" and language == "sh":
            check_script(page, content)
        elif kind not in ("", "needs", "output not shown"):
            fail(page, f"what is '{note}'?")
        elif language in ("python", "octave", "r"):
            pass
        elif language == "c":
            got = output_of_program(page, content, folder) if "int main" in content else next(outputs, "")
        elif language == "sh":
            got = output_of_sh(page, content, folder)
        else:
            fail(page, f"no way to check a block of '{language}':\n{content}")
        if kind == "output not shown":
            got = None
    return "".join(pieces) + text[at:]


def anchors(path):
    with open(path, encoding="utf-8") as file:
        titles = re.findall(r"^#+ (.*)$", file.read(), re.M)
    return [re.sub(r"[^\w\- ]", "", re.sub(r"\]\(.*?\)", "", title).lower()).replace(" ", "-") for title in titles]


def check_links(page, text):
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        path, _, anchor = target.partition("#")
        path = os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page
        if "://" in target:
            continue
        if not os.path.exists(path):
            fail(page, f"a link leads nowhere: {target}")
        elif anchor and anchor not in anchors(path):
            fail(page, f"no such heading: {target}")


def main():
    if not shutil.which(CC[0]):
        print("no compiler")
        sys.exit(77)
    pages = [*(os.path.join(source, name + ".md") for name in ("README", "CHANGELOG", "CONTRIBUTING", "SECURITY")),
             *sorted(glob.glob(os.path.join(source, "doc", "*.md")))]
    with open(os.path.join(source, "doc", "README.md"), encoding="utf-8") as file:
        index = file.read()
    count, prefix = 0, tempfile.TemporaryDirectory()
    install(prefix.name)
    for page in pages:
        if words[3:] and os.path.basename(page) not in words[3:]:
            continue
        with open(page, encoding="utf-8") as file:
            text = file.read()
        with tempfile.TemporaryDirectory() as folder:
            for name in ("data", "examples", "benchmarks"):
                os.symlink(os.path.join(source, name), os.path.join(folder, name))
            changed = check_blocks(page, text, folder)
        check_links(page, text)
        if os.path.dirname(page).endswith("doc") and not page.endswith("README.md") and \
                f"]({os.path.basename(page)})" not in index:
            fail(page, "doc/README.md does not link to it")
        version = run([hinge, "--version"], source).stdout.split()[1] if page.endswith("CHANGELOG.md") else ""
        if version and f"\n## {version}" not in text:
            fail(page, f"no word of version {version}")
        if update and changed != text:
            with open(page, "w", encoding="utf-8") as file:
                file.write(changed)
        count += len(BLOCK.findall(text))
    print(f"{count} blocks, {failures} failures")
    sys.exit(1 if failures else 0)


main()
