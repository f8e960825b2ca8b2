#!/usr/bin/env python3
"""test_shares.py HINGE: hinge explain, beside the decision values of hinge predict: sums of shares, Shapley values by
all subsets of features, derivatives by differences; what is written, and what is refused. Exit 1 if a check failed.
"""
import csv
import itertools
import json
import math
import os
import random
import shutil
import subprocess
import sys

from outside import check, end, folder, read, write

hinge = os.path.abspath(sys.argv[1])
os.chdir(folder)
draw = random.Random(4801)


def run(*words, **options):
    return subprocess.run([hinge, *map(str, words)], capture_output=True, text=True, **options)


def fine(name, *words, **options):
    done = run(*words, **options)
    check(name, done.returncode == 0 and not done.stderr, done.stderr)
    return done.stdout


def refuses(part, code, *words):
    done = run("explain", *words)
    check(f"refuses {words}", done.returncode == code and part in done.stderr and done.stderr.count("\n") == 1,
          done.returncode, done.stderr)


def libsvm(path, rows, labels):
    return write(path, "".join(f"{label} " + " ".join(f"{k + 1}:{v!r}" for k, v in enumerate(row) if v) + "\n"
                               for row, label in zip(rows, labels)))


def decisions(model, rows):
    asked = libsvm("asked", rows, [1] * len(rows))
    fine("predicts", "predict", "-q", "--precision", "f64", "--decisions", "f", asked, model)
    return [list(map(float, line.split())) for line in read("f").splitlines()]


def explained(*words):
    return json.loads(fine("explains " + " ".join(map(str, words)), "explain", "--json", *words))


def near(a, b, tolerance=1e-9):
    return len(a) == len(b) and all(abs(p - q) <= tolerance for p, q in zip(a, b))


X = [[draw.uniform(-1, 1) for _ in range(4)] for _ in range(60)]
kinds = [1 + (x[0] > x[1]) + (x[1] * x[2] > 0.1) for x in X]
libsvm("three", X, kinds)
libsvm("real", X, [x[0] * x[1] + x[2] for x in X])
libsvm("some", X[:7], [0] * 7)

# ---- truth ----

for kernel in [], ["-t", "linear"], ["-t", "laplacian"], ["-t", "polynomial", "-r", 1], ["--scale"], \
        ["--multiclass", "ovr"]:
    fine("trains", "train", "-q", "-c", 5, "-g", 0.4, *kernel, "three", "model")
    truth = sum(decisions("model", X), [])
    for more in [], ["--background", "some"]:
        rows = explained(*more, "three", "model")["rows"]
        check("shares and base sum to f", near([r["base"] + sum(r["shares"]) for r in rows], truth))
        check("f is told", near([r["f"] for r in rows], truth))
        check("in order", [(r["row"], r["problem"]) for r in rows] == [(i, p) for i in range(1, 61) for p in (1, 2, 3)])
    fine("table", "explain", *more, "three", "model", "out.csv")
    with open("out.csv", encoding="utf-8", newline="") as file:
        table = list(csv.reader(file))
    check("head", table[0] == ["row", "problem", "f", "base"] + [f"feature {k}" for k in (1, 2, 3, 4)], table[0])
    check("the same as a table", [list(map(float, line[2:])) for line in table[1:]] ==
          [[r["f"], r["base"], *r["shares"]] for r in rows])

fine("trains", "train", "-q", "-s", 3, "-c", 50, "-g", 0.4, "real", "values")
x, d = X[11], 4
known = [[x[k] if k in s else b[k] for k in range(d)] for n in range(d + 1) for s in itertools.combinations(range(d), n)
         for b in X[:7]]
f = [v[0] for v in decisions("values", known)]
subsets = [frozenset(s) for n in range(d + 1) for s in itertools.combinations(range(d), n)]
mean = {s: sum(f[7 * i:7 * i + 7]) / 7 for i, s in enumerate(subsets)}
shapley = [sum((mean[s | {k}] - mean[s]) * math.factorial(len(s)) * math.factorial(d - 1 - len(s)) / math.factorial(d)
               for s in subsets if k not in s) for k in range(d)]
told = explained("--rows", 12, "--background", "some", "real", "values")["rows"]
check("Shapley values by all subsets", len(told) == 1 and near(told[0]["shares"], shapley) and
      told[0]["row"] == 12, shapley)
check("the base is the mean over the background", near([told[0]["base"]], [mean[frozenset()]]))
step = 1e-5
moved = [[v + step * sign * (k == c) for c, v in enumerate(x)] for k in range(d) for sign in (1, -1)]
f = [v[0] for v in decisions("values", moved)]
slopes = [(f[2 * k] - f[2 * k + 1]) / (2 * step) for k in range(d)]
told_slopes = explained("--rows", 12, "--gradients", "real", "values")["rows"][0]
check("derivatives by differences", near(told_slopes["gradient"], slopes, 1e-6) and "base" not in told_slopes, slopes)

largest = sorted(range(d), key=lambda k: -abs(shapley[k]))[:2]
top = explained("--rows", 12, "--background", "some", "--top", 2, "real", "values")["rows"][0]
check("--top", list(top["shares"]) == [f"feature {k + 1}" for k in largest] and
      near([top["others"]], [sum(shapley) - sum(shapley[k] for k in largest)]), top)
text = fine("text", "explain", "--rows", 12, "--background", "some", "--top", 2, "real", "values").splitlines()
check("text has the same", [line.split(" = ")[0].strip() for line in text[2:4]] == list(top["shares"]) and
      near([float(line.split()[-1]) for line in text[1:]], [top["base"], *top["shares"].values(), top["others"]], 1e-5)
      and       text[0].startswith("row 12, value: ") and len(text) == 5, text)
part = explained("--rows", "2-4", "--problem", 3, "three", "model")["rows"]
check("--rows and --problem", [(r["row"], r["problem"]) for r in part] == [(2, 3), (3, 3), (4, 3)])
many = [X[i % 60] for i in range(600)]
told = explained("--problem", 1, "--background", "some", libsvm("many", many, [1] * 600), "model")["rows"]
first = explained("--problem", 1, "--background", "some", "three", "model")["rows"]
check("many rows, all alike", [r["shares"] for r in told] == [first[i % 60]["shares"] for i in range(600)])

# ---- widths, names, and standard input ----

wide = libsvm("wide", [b + [0.5] for b in X[:7]], [0] * 7)
for data, background in ("real", "wide"), ("wide", "some"):
    rows = explained("--background", background, data, "values")["rows"]
    check(f"{data} before {background}", all(len(r["shares"]) == 5 and near([r["base"] + sum(r["shares"])], [r["f"]])
                                             for r in rows))
write("sparse", "".join(f"{(-1) ** i} {100 * (i % 40) + 7}:1 {90000 + i % 3}:{1 + i % 2}\n" for i in range(80)))
fine("trains on few columns of many", "train", "-q", "-g", 0.3, "sparse", "sparse.model")
told = explained("--rows", "1-3", "sparse", "sparse.model")
check("features by their numbers in the file", told["features"][0] == "feature 7" and
      "feature 90001" in told["features"] and
      all(near([r["base"] + sum(r["shares"])], [r["f"]]) for r in told["rows"]), told["features"])

write("named.csv", "a,\"b's x, y\",kind\n" + "".join(f"{v[0]},{v[1]},{'no' if v[0] < 0 else 'yes'}\n" for v in X))
fine("trains on a table", "train", "-q", "--label-column", "kind", "named.csv", "named")
told = explained("named.csv", "named")
check("names", told["features"] == ["a", "b's x, y"] and set(told["problems"][0].split(" against ")) == {"yes", "no"})
table = fine("to standard output", "explain", "named.csv", "named", "-")
check("names in the table", table.splitlines()[0] == 'row,f,base,a,"b\'s x, y"', table[:60])
piped = fine("from standard input", "explain", "--background", "-", "real", "values", "-", input=read("some"))
check("as from a file", piped == fine("from a file", "explain", "--background", "some", "real", "values", "-"))

# ---- refusals ----

for words in ["real"], ["real", "values", "out", "more"], ["--rows", "0", "real", "values"], \
        ["--rows", "3-2", "real", "values"], ["--rows", "1-x", "real", "values"], \
        ["--rows", "-", "real", "values"], ["--top", "0", "real", "values"], ["--rows", "3--4", "real", "values"]:
    refuses(words[0] if words[0] != "real" else "explain: ", 2, *words)
refuses("--rows: real has no row 61, but 60 of them", 2, "--rows", 61, "real", "values")
refuses("--problem: model has no decision value 4, but 3 of them", 2, "--problem", 4, "three", "model")
refuses("--json", 2, "--json", "real", "values", "-")
refuses("--gradients", 2, "--gradients", "--background", "some", "real", "values")
refuses("--keep", 2, "--keep", "kept", "real", "values")
refuses("--bars: one row is drawn, and there are 60", 2, "--bars", "p.svg", "real", "values")
refuses("--beeswarm: one decision value is drawn, and model has 3", 2, "--beeswarm", "p.svg", "three", "model")
refuses("p.pdf", 2, "--beeswarm", "p.pdf", "real", "values")
refuses("absent", 1, "--background", "absent", "real", "values")
write("nothing.csv", "a,b\n")
refuses("nothing.csv", 1, "--background", "nothing.csv", "real", "values")
write("bad", "1 1:0 2:x\n")
refuses("bad:1", 1, "--background", "bad", "real", "values")
refuses("twice", 2, "real", "values", "./real")
fine("trains", "train", "-q", "-t", "sigmoid", "three", "tanh")
write("kept", "as it was")
refuses("tanh: kernel: sigmoid", 1, "three", "tanh", "kept")
check("and leaves the old file", read("kept") == "as it was")
explained("--gradients", "three", "tanh")

# ---- pictures ----

if shutil.which("gnuplot"):
    fine("bars", "explain", "--rows", 12, "--background", "some", "--top", 2, "--keep", "bars", "--bars", "bars.svg",
         "real", "values")
    lines = read("bars/plot.gp").split("$bars << END\n")[1].split("END")[0].splitlines()
    check("bars of the shares, and the others", near([float(line.split()[1]) for line in lines],
                                                     [*top["shares"].values(), top["others"]]), lines)
    check("with names and values", f"'feature {largest[0] + 1} = {x[largest[0]]:.6g}'" in read("bars/plot.gp"))
    fine("beeswarm", "explain", "--problem", 2, "--keep", "swarm", "--beeswarm", "swarm.svg", "three", "model")
    lines = read("swarm/plot.gp").split("$swarm << END\n")[1].split("END")[0].splitlines()
    drawn, told = [float(line.split()[0]) for line in lines], explained("--problem", 2, "three", "model")["rows"]
    check("a point a row and feature", near(sorted(drawn), sorted(v for r in told for v in r["shares"])))
    for rows, name in (1, "one"), (2, "two"):
        libsvm(name, [[0, 0, 0, 0]] * rows, [1] * rows)
        fine("beeswarm of equal rows", "explain", "--beeswarm", "equal.svg", name, "values")
    fine("names with quotes", "explain", "--rows", 1, "--bars", "named.svg", "named.csv", "named")
    check("are in the picture", "y = " in read("named.svg") and "</svg>" in read("named.svg"))
end()
