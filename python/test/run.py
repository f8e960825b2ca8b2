"""run.py TEST MODULE...: the tests of test_TEST.py by pytest, or "types", by mypy; exit 77, a skip, where a module that
is needed is missing."""
import importlib
import os
import subprocess
import sys

here = os.path.dirname(os.path.abspath(__file__))
for need in sys.argv[2:]:
    name, _, version = need.partition(">=")
    try:
        module = importlib.import_module(name)
    except ImportError:
        sys.exit(print(f"skipped: {sys.executable} has no {name}") or 77)
    if version and tuple(map(int, module.__version__.split(".")[:2])) < tuple(map(int, version.split("."))):
        sys.exit(print(f"skipped: {name} is {module.__version__}, and {version} is needed") or 77)

if sys.argv[1] == "types":
    command = ["mypy", "--cache-dir", os.devnull, "--config-file", "../../pyproject.toml", "../hinge"]
else:
    command = ["pytest", "-q", "-rs", "-p", "no:cacheprovider", f"test_{sys.argv[1]}.py"]
sys.exit(subprocess.call([sys.executable, "-m", *command], cwd=here))
