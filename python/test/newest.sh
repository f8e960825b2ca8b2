#!/bin/sh
# newest.sh PYTHON FOLDER: the tests of the module beside the newest NumPy, scikit-learn, pandas, matplotlib and mypy that
# pip finds for a Python, in an environment in the folder; exit 77, a skip, where it cannot be made.
set -eu
if ! "$1" -m venv "$2" || ! "$2/bin/pip" install -q --upgrade cffi numpy scikit-learn pandas matplotlib pytest mypy; then
    echo "skipped: $1 makes no environment, or pip does not fill it"
    exit 77
fi
for test in module theory notebook sklearn types; do
    "$2/bin/python" "$(dirname "$0")/run.py" $test
done
