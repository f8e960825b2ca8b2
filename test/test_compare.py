#!/usr/bin/env python3
"""test_compare.py SOURCE PROGRAMS: benchmarks/compare runs, with the contestants that need no network, on the sets that
ship and one made here; hinge and LIBSVM find the same optimum, and the recomputed objective is what each says of its
own. Figures are no test. Exit status 77 where it cannot run."""
import csv
import lzma
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

from outside import check, end, folder

SOURCE, PROGRAMS = Path(sys.argv[1]), Path(sys.argv[2])
if not all((PROGRAMS / name).exists() for name in ("prepare", "run_hinge", "run_libsvm", "judge", "floor")):
    print("the programs of benchmarks/compare are not all built")
    sys.exit(77)
FOLDER = Path(folder)


def compare(*options, wrap=""):
    """(exit status, what it printed, the lines of its CSV). Each contestant runs once, however busy the machine is."""
    out = FOLDER / "out"
    shutil.rmtree(out, ignore_errors=True)
    command = [SOURCE / "benchmarks/compare", "--bin", PROGRAMS, "--data", FOLDER, "--out", out, "--repeat", "1",
               "--once", "0", "--only", "hinge,libsvm", "--cache", "100", "--eps", "1e-5", *options]
    done = subprocess.run(command, text=True, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          env=dict(os.environ, HINGE_BENCH_WRAP=wrap))
    check("no exception was left", "Traceback" not in done.stdout, done.stdout)
    with open(next(out.glob("*.csv")), encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["contestant"] != "floor"]
    return done.returncode, done.stdout, rows


def write_regression():
    """A regression set by the name of abalone: y = x0 x1 + x2, and some noise."""
    draw = random.Random(1)
    for part, n in (("train", 300), ("test", 60)):
        with lzma.open(FOLDER / f"abalone.{part}.xz", "wt", encoding="ascii") as file:
            for _ in range(n):
                x = [draw.uniform(-1, 1) for _ in range(8)]
                features = " ".join(f"{j + 1}:{v:.6f}" for j, v in enumerate(x))
                file.write(f"{x[0] * x[1] + x[2] + draw.gauss(0, 0.1):.6f} {features}\n")


def near(a, b, tolerance):
    return abs(float(a) - float(b)) <= tolerance * abs(float(b))


def check_agreement():
    status, said, rows = compare("--sets", "breast_cancer,digits,abalone")
    check("it ends well", status == 0, said)
    check("a line a run", len(rows) == 6, rows)
    for h, l in zip(rows[::2], rows[1::2]):
        name = h["set"]
        check(f"{name}: both contestants", (h["contestant"], l["contestant"]) == ("hinge", "libsvm"), h, l)
        check(f"{name}: both find the optimum", near(h["objective"], l["objective"], 1e-5), h, l)
        for row in (h, l):
            said_same = near(row["objective_said"], row["objective"], 1e-6)
            check(f"{name}: {row['contestant']}'s own objective", said_same, row)
            check(f"{name}: {row['contestant']}'s constraints", float(row["sum_residual"]) < 1e-9, row["sum_residual"])
        check(f"{name}: equal scores", near(h["score"], l["score"], 1e-3), h["score"], l["score"])
        check(f"{name}: hinge converged", h["outcome"] == "converged", h["outcome"])
    report = (FOLDER / "out/compare.md").read_text(encoding="utf-8")
    whole = report.count("*floor*") == 3 and "digits: 1438 x 64" in report
    check("the report has all sets and their floors", whole, report)
    for h in rows[::2]:
        spent = [sum(float(h[f"{phase}_{kind}_s"]) for kind in ("user", "system")) for phase in ("train", "predict")]
        cells = [[float(cell) for cell in line.split(" | ")[6].split(", ")] for line in report.splitlines()
                 if line.startswith(f"| {h['set']}: ")]
        check(f"{h['set']}: processor time", len(cells) == 1 and len(cells[0]) == 2 and
              all(abs(a - b) < 0.006 for a, b in zip(cells[0], spent)), cells, spent)
    for h, l in zip(rows[::2], rows[1::2]):
        ratios = [f"{float(l[key]) / float(h[key]):.2f}" for key in ("train_s", "predict_s")]
        line = next((line for line in report.splitlines() if line.startswith(f"| {h['set']}, ")), "")
        check(f"{h['set']}: the ratios", ", ".join(ratios) in line, ratios, line)
    if shutil.which("gnuplot"):
        chart = FOLDER / "out/compare.svg"
        check("the chart is drawn", chart.exists() and "</svg>" in chart.read_text(encoding="utf-8"), said)


def check_scaling():
    status, said, rows = compare("--scale-d", "5,20", "--rows", "300")
    check("scaling ends well", status == 0, said)
    check("made-up data", [row["d"] for row in rows] == ["5", "5", "20", "20"] and near(rows[2]["objective"],
          rows[3]["objective"], 1e-5), rows)


def check_made():
    """Made-up sets have the shapes that README says, and are the same problem for both."""
    sizes = {"embeddings": "768", "embeddings-10": "1536", "bytes-10": "784", "uniform": "1000", "delays": "25"}
    status, said, rows = compare("--sets", ",".join(sizes), "--rows", "200", "--test-rows", "50")
    check("made-up sets end well", status == 0, said)
    check("their shapes", [(row["set"], row["n"], row["d"], row["n_test"]) for row in rows[::2]] ==
          [(name, "200", d, "50") for name, d in sizes.items()], rows)
    check("their optima", all(near(h["objective"], l["objective"], 1e-5) for h, l in zip(rows[::2], rows[1::2])), rows)


def check_grid():
    if not (PROGRAMS.parent / "tools/hinge").exists() or not shutil.which("svm-train"):
        print("# no hinge command, or no svm-train, to try a grid")
        return
    status, said, rows = compare("--grid", "3", "--sets", "digits", "--rows", "150")
    names = [f"hinge grid, drop {drop}" for drop in ("exact", "race", "none")] + ["svm-train -v 5"]
    check("a grid ends well", status == 0 and [row["contestant"] for row in rows] == names, said)
    check("hinge does all points, svm-train as many as wanted",
          [row["measured_points"] for row in rows] == ["110", "110", "110", "3"] and rows[0]["rows"] == "150", rows)
    check("the table says so, and times it", "extrapolated from 3 of 110 points" in said and
          f"{float(rows[3]['wall_s']) / float(rows[0]['wall_s']):.3g} |" in said, said)
    check("rates are much the same, though folds are not", 0 <= float(rows[3]["rate_difference"]) < 20, rows[3])
    shutil.copy(FOLDER / "abalone.train.xz", FOLDER / "cadata.train.xz")
    status, said, rows = compare("--grid", "2", "--sets", "cadata", "--rows", "40")
    check("a grid of regression", status == 0 and rows[2]["measured_points"] == "330" and
          0 <= float(rows[3]["rate_difference"]) < 1, said)
    status, said, rows = compare("--grid", "2", "--sets", "digits", "--rows", "150", "--limit", "0.0001")
    over = rows[0]["outcome"] == "> 0.0001 s" and rows[3]["at_least"] == "2"
    check("a grid over the limit", status == 1 and over, rows)


def check_teams():
    """A serial share of s leaves 1 / (s + (1 - s) / N) of N threads, and no more."""
    done = subprocess.run([SOURCE / "benchmarks/compare", "--bin", PROGRAMS, "--data", FOLDER, "--out", FOLDER / "out",
                           "--repeat", "1", "--sets", "digits", "--teams", "--threads", "2"], text=True,
                          check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    cells = [line.strip("| ").split(" | ") for line in done.stdout.splitlines() if line.startswith("| digits")]
    check("a line of teams", done.returncode == 0 and len(cells) == 1 and len(cells[0]) == 12, done.stdout)
    alone, shared, serial, jobs, *times, measured = (float(cell) for cell in cells[0][1:])
    check("jobs are counted, and two threads measured", jobs > 0 and measured > 0, cells)
    check("the share that is serial", 0 < serial < 1 and near(serial, alone / (alone + shared), 0.02), cells)
    amdahl = [1 / (serial + (1 - serial) / n) for n in (2, 4, 8, 16, 32, 64)]
    check("more threads", 1 <= times[0] and times == sorted(times) and
          all(time <= 1.02 * most for time, most in zip(times, amdahl)), cells, amdahl)


def check_failures():
    status, said, rows = compare("--sets", "digits", "--limit", "0.0001")
    over = [row["outcome"] for row in rows] == ["> 0.0001 s"] * 2
    check("over the limit, and not tried again", over, rows)
    status, said, rows = compare("--sets", "digits", wrap="false")
    failed = [row["outcome"] for row in rows] == ["exit status 1: no message"] * 2
    check("contestants that fail are reported", status == 1 and failed, said)
    status, said, rows = compare("--sets", "nonsense,breast_cancer")
    others = "no such set" in said and len(rows) == 2
    check("a set that fails does not stop the others", status == 1 and others, said)


for path in (SOURCE / "data").glob("*.xz"):
    shutil.copy(path, FOLDER)
write_regression()
check_agreement()
check_scaling()
check_made()
check_grid()
check_teams()
check_failures()
end()
