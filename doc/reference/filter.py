#!/usr/bin/env python3
"""filter.py HEADER: the header with its plain comments made doxygen's, as its INPUT_FILTER.

A comment that begins a line is about what follows, one after code about what stands before it, and one with a row of
dashes opens a section. Everything in it is text: nothing is taken for a command, a tag or a link.
"""
import re
import sys

in_section = False


def text(body):
    body = re.sub(r"\n *\* ?", "\n", body)
    return re.sub(r"[\\@&<>#%$]", lambda m: {"&": "&amp;", "<": "&lt;", ">": "&gt;"}.get(m[0], "\\" + m[0]), body)


def comment(match):
    global in_section
    before, body = match[1], match[2]
    title = re.fullmatch(r" -{4} (.*?) -+ *", body)
    if title:
        end = "/** @} */\n" * in_section
        in_section = True
        return f"{before}{end}/** @name {text(title[1])} */\n/** @{{ */"
    if before.rstrip().endswith("{"): # about what opens here
        return f"/** {text(body)} */\n{before}"
    file = "@file\n" if match.start() == 0 else ""
    return f"{before}/**{'<' if before.strip() else ''} {file}{text(body)} */"


with open(sys.argv[1], encoding="utf-8") as header:
    source = header.read()
source = re.sub(r"^([^\n]*?)/\*(.*?)\*/", comment, source, flags=re.M | re.S)
if in_section:
    source = re.sub(r"(#ifdef __cplusplus\n}\n)(?!.*#ifdef)", r"/** @} */\n\1", source, flags=re.S)
print(source, end="")
