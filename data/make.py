#!/usr/bin/env python3
"""Makes the sets of this folder from the files inside the Python package scikit-learn (README.md here).

    python3 -m venv venv && venv/bin/pip install scikit-learn && venv/bin/python make.py FOLDER

Nothing in the project runs this: it says how the files came about, and makes them again byte for byte.
"""
import csv
import gzip
import io
import lzma
import pathlib
import sys

import numpy
import sklearn.datasets


def rows_of(name):
    """Rows as lists of the very strings in the package's file."""
    path = pathlib.Path(sklearn.datasets.__file__).parent / "data" / name
    raw = path.read_bytes()
    text = gzip.decompress(raw) if name.endswith(".gz") else raw
    return list(csv.reader(io.StringIO(text.decode("ascii"))))


def text_of(value):
    """The shortest text that reads back as the same double: 13.0 is 13."""
    short = repr(float(value))
    return short[:-2] if short.endswith(".0") else short


def line_of(label, values):
    pairs = [f"{j}:{text_of(v)}" for j, v in enumerate(values, 1) if float(v) != 0]
    return " ".join([label] + pairs) + "\n"


def write(folder, name, labels, values):
    n = len(labels)
    part = numpy.random.RandomState(12345).permutation(n)
    k = round(0.8 * n)
    for suffix, chosen in (("train", part[:k]), ("test", part[k:])):
        text = "".join(line_of(labels[i], values[i]) for i in sorted(chosen))
        packed = lzma.compress(text.encode("ascii"), format=lzma.FORMAT_XZ, check=lzma.CHECK_CRC64,
                               preset=9 | lzma.PRESET_EXTREME)
        (folder / f"{name}.{suffix}.xz").write_bytes(packed)


def main():
    folder = pathlib.Path(sys.argv[1])
    cancer = rows_of("breast_cancer.csv")[1:]  # the first line is a head; 0 malignant, 1 benign
    write(folder, "breast_cancer", ["-1" if r[-1] == "0" else "+1" for r in cancer], [r[:-1] for r in cancer])
    digits = rows_of("digits.csv.gz")
    write(folder, "digits", [str(int(float(r[-1]))) for r in digits], [r[:-1] for r in digits])


main()
