"""run.py TEST MODULE...: the tests of the file, by pytest; exit 77, a skip, where a module it needs is missing."""
import importlib
import os
import sys

here = os.path.dirname(os.path.abspath(__file__))
for need in ("pytest", *sys.argv[2:]):
    name, _, version = need.partition(">=")
    try:
        module = importlib.import_module(name)
    except ImportError:
        sys.exit(print(f"skipped: {sys.executable} has no {name}") or 77)
    if version and tuple(map(int, module.__version__.split(".")[:2])) < tuple(map(int, version.split("."))):
        sys.exit(print(f"skipped: {name} is {module.__version__}, and {version} is needed") or 77)

import pytest  # noqa: E402

sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", os.path.join(here, sys.argv[1])]))
