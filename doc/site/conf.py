"""What Sphinx makes the site with; scripts/site calls it. The pages are doc/*.md and others as they are, and a page of the
reference for each public header, from doxygen's XML."""
import os
import re

source = os.environ["HINGE_SOURCE"]
with open(os.path.join(source, "meson.build"), encoding="utf-8") as build:
    release = re.search(r"version: '([\d.]+)'", build.read())[1]
project, author, copyright = "hinge", "The hinge developers", "2026, the hinge developers"
extensions = ["myst_parser", "breathe"]
root_doc = "README"
breathe_projects = {"hinge": os.environ["HINGE_XML"]}
breathe_default_project = "hinge"
breathe_domain_by_extension = {"h": "c"}
breathe_show_include = False
myst_heading_anchors = 4
highlight_language = "none" # of blocks that name no language
html_theme = "alabaster"
html_theme_options = {"description": "Dense kernel support vector machines", "fixed_sidebar": True, "page_width": "70em"}
html_copy_source = html_show_sourcelink = False
BEGIN = ["doc/" + page for page in ("from-svm-train", "prepare-a-table", "ten-lines", "model-selection", "mpi", "python", "octave-r",
                                    "from-the-lecture-notes")]


def headers():
    folder = os.path.join(source, "include")
    for path, _, names in sorted(os.walk(folder)):
        for name in sorted(names):
            yield os.path.relpath(os.path.join(path, name), folder)


def page_of(header):
    return "reference/" + os.path.basename(header)


def contents(title, pages):
    return "\n```{toctree}\n:hidden:\n:caption: " + title + "\n\n" + "\n".join(pages) + "\n```\n"


def as_site(app, name, text):
    """The links to headers lead into the reference, and the first page has the sidebar's tables of contents."""
    up = "../" * name.count("/")
    text[0] = re.sub(r"\]\((?:\.\./)?include/(hinge/[\w/]*\.h)\)", lambda link: f"]({up}{page_of(link[1])}.md)", text[0])
    if name != root_doc:
        return
    pages = sorted(page for page in app.env.found_docs if page != root_doc)
    text[0] += contents("Begin here", BEGIN)
    text[0] += contents("Reference", map(page_of, headers()))
    text[0] += contents("More", [page for page in pages if page not in BEGIN and not page.startswith("reference/")])


def setup(app):
    app.connect("source-read", as_site)
