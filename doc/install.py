#!/usr/bin/env python3
"""install.py FOLDER HEADERS: installs pages and examples to FOLDER of the prefix, as Meson calls it. Links to public headers
lead to HEADERS of the prefix, where they are installed; of links to what stays in the source the text alone is left."""
import os
import re
import shutil
import sys

source, prefix = os.environ["MESON_SOURCE_ROOT"], os.environ["MESON_INSTALL_DESTDIR_PREFIX"]
folder, headers = (os.path.join(prefix, word) for word in sys.argv[1:])
LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(([^)\s#]+)(#[^)\s]*)?\)")


def files():
    yield from ("LICENSE", "README.md", "CHANGELOG.md")
    for room in ("doc", "examples"):
        for name in sorted(os.listdir(os.path.join(source, room))):
            if os.path.isfile(os.path.join(source, room, name)) and name not in ("meson.build", "install.py"):
                yield os.path.join(room, name)


def place(path):
    if path.startswith("include/"):
        path = os.path.join(headers, os.path.relpath(path, "include"))
        return path if os.path.exists(path) else None
    return os.path.join(folder, path) if path in installed else None


def page(path):
    def link(match):
        target = os.path.normpath(os.path.join(os.path.dirname(path), match[2]))
        if "://" in match[2] or not os.path.exists(os.path.join(source, target)):
            return match[0]
        there = place(target)
        return f"[{match[1]}]({os.path.relpath(there, os.path.dirname(place(path)))}{match[3] or ''})" if there else match[1]

    with open(os.path.join(source, path), encoding="utf-8") as file:
        return LINK.sub(link, file.read())


installed = set(files())
for path in sorted(installed):
    os.makedirs(os.path.dirname(place(path)), exist_ok=True)
    if path.endswith(".md"):
        with open(place(path), "w", encoding="utf-8") as file:
            file.write(page(path))
    else:
        shutil.copyfile(os.path.join(source, path), place(path))
    os.chmod(place(path), 0o644)
