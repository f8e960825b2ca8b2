"""doc/ten-minutes.ipynb: its cells run one after the other, and show what the notebook says they show. Run by itself,
it writes into the notebook what they show."""
import ast
import contextlib
import importlib.util
import io
import json
import os

FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../doc/ten-minutes.ipynb")


def shown(source, names):
    """What a cell prints, and its last expression's value."""
    tree, out = ast.parse(source), io.StringIO()
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    with contextlib.redirect_stdout(out):
        exec(compile(tree, FILE, "exec"), names)
        value = eval(compile(ast.Expression(last.value), FILE, "eval"), names) if last else None
    return out.getvalue() + ("" if value is None or source.rstrip().endswith(";") else f"{value!r}\n")


def outputs(text):
    """As a notebook keeps it."""
    return [{"name": "stdout", "output_type": "stream", "text": text.splitlines(True)}] if text else []


def run():
    """The notebook, and it with what its cells show now; those that need a module that is missing keep what they have."""
    with open(FILE, encoding="utf-8") as file:
        notebook = json.load(file)
    names, cells = {"__name__": "__main__"}, []
    for number, cell in enumerate(notebook["cells"], 1):
        needs = cell["metadata"].get("needs")
        if cell["cell_type"] == "code" and (needs is None or importlib.util.find_spec(needs)):
            try:
                cell = {**cell, "outputs": outputs(shown("".join(cell["source"]), names))}
            except Exception as error:
                raise AssertionError(f"cell {number} of {FILE} raises {error!r}") from error
        cells.append(cell)
    return notebook, {**notebook, "cells": cells}


def test_the_notebook_runs_and_shows_what_it_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    notebook, now = run()
    assert notebook["nbformat"] == 4 and len(notebook["cells"]) > 20
    for number, (cell, again) in enumerate(zip(notebook["cells"], now["cells"]), 1):
        assert cell == again, f"cell {number} shows another thing"


if __name__ == "__main__":
    with open(FILE, encoding="utf-8") as file:
        assert json.load(file)["nbformat"] == 4
    written = run()[1]
    with open(FILE, "w", encoding="utf-8") as file:
        file.write(json.dumps(written, indent=1, ensure_ascii=False) + "\n")
