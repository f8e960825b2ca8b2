#!/usr/bin/env python3
"""test_site.py SOURCE: scripts/site makes the pages without a complaint; every link between them leads to a page, a file or a
heading that is there; every function of test/symbols.txt is in the reference and is found by a search. Exit 77 where
scripts/site lacks its tools."""
import html.parser
import os
import re
import subprocess
import sys
import tempfile
import urllib.parse


class Page(html.parser.HTMLParser):
    def __init__(self, path):
        super().__init__()
        self.links, self.anchors = [], {""}
        with open(path, encoding="utf-8") as file:
            self.feed(file.read())

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.anchors.add(attributes.get("id"))
        self.links += [attributes[name] for name in ("href", "src") if attributes.get(name)]


def dead_links(site):
    pages = {os.path.join(folder, name): Page(os.path.join(folder, name))
             for folder, _, names in os.walk(site) for name in names if name.endswith(".html")}
    for path, page in pages.items():
        for link in page.links:
            parts = urllib.parse.urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = path
            if parts.path:
                target = os.path.normpath(os.path.join(os.path.dirname(path), urllib.parse.unquote(parts.path)))
            if not os.path.exists(target) or target in pages and parts.fragment not in pages[target].anchors:
                yield f"{os.path.relpath(path, site)}: a link leads nowhere: {link}"


def missing_functions(source, site):
    with open(os.path.join(site, "searchindex.js"), encoding="utf-8") as file:
        index = file.read()
    reference = os.path.join(site, "reference")
    anchors = set().union(*(Page(os.path.join(reference, name)).anchors for name in os.listdir(reference)))
    with open(os.path.join(source, "test/symbols.txt"), encoding="utf-8") as file:
        for name in file.read().split():
            if f"c.{name}" not in anchors or not re.search(rf"\b{name}\b", index):
                yield f"{name} is not in the reference, or no search finds it"


def main(source):
    with tempfile.TemporaryDirectory() as site:
        made = subprocess.run([os.path.join(source, "scripts/site"), site])
        if made.returncode:
            return made.returncode
        wrong = [*dead_links(site), *missing_functions(source, site)]
    print("\n".join(wrong) or "no link is dead")
    return len(wrong) > 0


sys.exit(main(os.path.abspath(sys.argv[1])))
