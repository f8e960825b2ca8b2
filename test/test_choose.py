#!/usr/bin/env python3
"""test_choose.py HINGE SOURCE: hinge grid, from outside.

Rates are compared with `hinge train -v` at each point, its file with what LIBSVM's grid.py reads of it, its lines with
easy.py, which runs it instead of grid.py; then resuming, interruption, limits, bad input, JSON, pictures, scaling.
Exit 1 if a check failed.
"""
import importlib.machinery
import importlib.util
import json
import lzma
import os
import re
import shutil
import signal
import subprocess
import sys

from outside import check, end, folder, read, write

hinge = os.path.abspath(sys.argv[1])
source = os.path.abspath(sys.argv[2])
os.environ.update(HINGE_NO_RESTART="1", OMP_NUM_THREADS="2", LC_ALL="C.UTF-8")
TIGHT = ["--fold-tolerance", "1e-6", "--drop", "none"]
SMALL = ["-log2c", "-1,5,2", "-log2g", "-3,-9,-2"]


def grid(*words, code=0, says="", **more):
    done = subprocess.run([hinge, "grid", *map(str, words)], capture_output=True, text=True, **more)
    good = done.returncode == code and re.search(says, done.stderr)
    check("grid " + " ".join(map(str, words)), good, f"code {done.returncode}, {done.stderr.strip()}")
    return done.stdout


def points(path):
    """What is in a file of points, by grid.py's own expressions."""
    found = {}
    for line in read(path).splitlines():
        rate = re.findall(r"rate=([0-9.]+)", line)
        if rate:
            key = tuple(float(v) for name in ("log2c", "log2g") for v in re.findall(name + r"=([0-9.-]+)", line))
            found[key] = float(rate[0])
    return found


os.chdir(folder)
with lzma.open(os.path.join(source, "data/breast_cancer.train.xz"), "rt") as packed:
    lines = packed.read().splitlines(True)
write("raw", "".join(lines[:250]))
with open("two", "w", encoding="utf-8") as scaled:
    subprocess.run([hinge, "scale", "-s", "ranges", "raw"], check=True, stdout=scaled)
digits = os.path.join(source, "data/digits.train.xz")

# ---- the values, the lines, the file ----

out = grid(*SMALL, *TIGHT, "-v", 4, "two", "best.model").splitlines()
whole = points("two.out")
check("as many points as the grid has", len(whole) == 16, whole)
for (c, g), rate in whole.items():
    said = subprocess.run([hinge, "train", "-v", "4", "-e", "1e-6", "-c", str(2 ** c), "-g", str(2 ** g), "two"],
                          capture_output=True, text=True, check=True).stdout
    value = float(re.search(r"Accuracy = ([0-9.]+)%", said)[1])
    check(f"the rate of 2^{c:g}, 2^{g:g} is that of train -v", abs(value - rate) < 1e-3, f"{rate}, {value}")
most = max(whole.values())
c, g = min(key for key in whole if whole[key] == most)
best = [2 ** c, 2 ** min(b for a, b in whole if a == c and whole[a, b] == most), most]
last = list(map(float, out[-1].split()))
check("the last line is C, gamma, rate of the best", last[:2] == best[:2] and abs(last[2] - best[2]) < 1e-3,
      f"{last} {best}")
told = [re.fullmatch(r"\[local\] (\S+) (\S+) ([0-9.]+) \(best c=(\S+), g=(\S+), rate=([0-9.]+)\)", line)
        for line in out if line.startswith("[")]
check("a line a point, as grid.py has them", len(told) == 16 and all(told), out)
check("the lines have the file's rates", all(abs(whole[float(m[1]), float(m[2])] - float(m[3])) < 1e-3 for m in told))
check("the last of them has the best", [float(told[-1][4]), float(told[-1][5])] == best[:2])
check("the table marks it", sum(line.count("*") for line in out if line.startswith("2^")) == 1)
subprocess.run([hinge, "train", "-q", "-c", str(best[0]), "-g", str(best[1]), "two", "alone.model"], check=True)
check("the model is that of a training with these", read("best.model") == read("alone.model"))
check("exact keeps the winner", grid(*SMALL, *TIGHT[:2], "-v", 4, "--out", "null", "two").splitlines()[-1] == out[-1])
check("-q leaves the last line", grid(*SMALL, *TIGHT, "-q", "-v", 4, "--out", "null", "two").splitlines() == out[-1:])
one = grid("-log2c", "3,3,0", "-log2g", "-5,-5,0", "-v", 4, "--out", "null", *TIGHT, "two").splitlines()
check("a grid of one point", len(one) == 2 and abs(float(one[-1].split()[2]) - whole[3, -5]) < 1e-3, one)
ten = grid("-log2c", "9,11,1", "-log2g", "-10,-9,1", "-v", 4, "--out", "ten.out", *TIGHT, "two")
check("ten is 10 in lines, table and file", "[local] 10 -10 " in ten and " 2^10 " in ten and "\n2^-10 " in ten and
      "log2c=10 log2g=-10 " in read("ten.out") and "e+" not in ten + read("ten.out"), ten + read("ten.out"))
check("null leaves a parameter out", len(grid("-log2c", "3,3,0", "-log2g", "null", "-g", 0.1, "-out", "null", "two")
                                         .splitlines()[-1].split()) == 2)

# ---- LIBSVM's own programs ----

if os.path.exists("/usr/bin/svm-grid"):
    loader = importlib.machinery.SourceFileLoader("svm_grid", "/usr/bin/svm-grid")
    sys.dont_write_bytecode = True
    svm_grid = importlib.util.module_from_spec(importlib.util.spec_from_loader("svm_grid", loader))
    loader.exec_module(svm_grid)
    resumed = svm_grid.calculate_jobs(svm_grid.GridOption(
        "two", ["-svmtrain", hinge, "-gnuplot", "null", *SMALL, "-resume", "two.out"]))[1]
    check("grid.py reads the file", resumed == whole, resumed)
else:
    print("# no svm-grid to read the file")
if all(map(os.path.exists, ["/usr/bin/svm-easy", "/usr/bin/gnuplot", "/usr/bin/svm-train"])):
    os.makedirs("libsvm/tools")
    for name in ("svm-scale", "svm-train", "svm-predict"):
        os.symlink("/usr/bin/" + name, "libsvm/" + name)
    write("libsvm/tools/grid.py", f'#!/bin/sh\nexec "{hinge}" grid "$@"\n')
    os.chmod("libsvm/tools/grid.py", 0o755)
    said = subprocess.run([sys.executable, "/usr/bin/svm-easy", "../../raw", "../../raw"], cwd="libsvm/tools",
                          capture_output=True, text=True)
    grid("raw", "--scale-restore", "libsvm/tools/raw.range", "--out", "easy.out")
    rates = points("easy.out")
    found = re.search(r"Best c=(\S+), g=(\S+) CV rate=(\S+)", said.stdout)
    check("easy.py goes by its last line", found and abs(float(found[3]) - max(rates.values())) < 1e-3 and
          "Accuracy = " in said.stdout, said.stdout + said.stderr)
else:
    print("# no svm-easy to run it")

# ---- resuming ----

text = read("two.out")
kept = text.splitlines(True)
write("cut", "".join(kept[:8]) + kept[8][:14])
again = grid(*SMALL, *TIGHT, "-v", 4, "-resume", "cut", "-out", "again", "two").splitlines()
check("resumed: seven points are known", sum(line.startswith("[resumed]") for line in again) == 7)
check("resumed: the same result", again[-1] == out[-1] and points("again") == whole, points("again"))
grid(*SMALL, *TIGHT, "-v", 4, "-resume", "two")
check("resumed from the default file, which is whole again", points("two.out") == whole)
write("theirs", "".join(line.replace("log2c=3 ", "log2c=3.0 ") for line in kept[1:]))
grid(*SMALL, *TIGHT, "-v", 4, "--resume", "theirs", "--out", "null", "two", says="does not tell of what data")
write("other", "".join(lines[1:250]))
grid(*SMALL, *TIGHT, "-v", 4, "--resume=two.out", "other", code=1, says="two.out: it holds points of other data")
grid(*SMALL, *TIGHT, "-v", 5, "--resume=two.out", "two", code=1, says="other options: '.*4 folds.*' instead of '.*5 fo")
grid(*SMALL, *TIGHT, "-v", 4, "-w1", 3, "--resume=two.out", "two", code=1, says="other options")
for words in (["--by-fold"], ["--repeats", 2]):
    grid(*SMALL, *TIGHT, "-v", 4, *words, "--out", "means", "two")
    grid(*SMALL, *TIGHT, "-v", 4, "--resume=means", "two", code=1, says="other options")
grid("-log2c", "0,4,2", "-log2g", "-3,-9,-2", *TIGHT, "-v", 4, "--resume=two.out", "two", code=1,
     says="two.out:2: log2c=-1 is of another grid")
grid("--resume", "absent", "two", code=1, says="absent: cannot read: No such file")
grid(*SMALL, "--resume", write("bad", "log2c=1 log2g=-3 rate=x\n"), "two", code=1, says="bad:1: rate is not a number")
grid("--one-se", "--resume=two.out", "two", code=2, says="--resume knows no scores of single folds")

# ---- interruption and limits ----

FINE = ["-log2c", "-5,15,0.1", "-log2g", "3,-15,-0.5"]
process = subprocess.Popen([hinge, "grid", *FINE, "--png", "stopped.svg", "--out", "stopped.out", digits, "stopped.model"],
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
first = process.stdout.readline()
process.send_signal(signal.SIGINT)
rest, said = process.communicate(timeout=200)
stopped = points("stopped.out")
check("Ctrl-C: exit status 130, and said so", process.returncode == 130 and "interrupted; the table" in said, said)
check("Ctrl-C: table and best point are of those done", 1 <= len(stopped) < 7437 and "* the best" in rest and
      abs(float(rest.split()[-1]) - max(stopped.values())) < 1e-3, rest[-200:])
check("Ctrl-C: the model is there, and trained to the end",
      json.loads(subprocess.run([hinge, "train", "--json", "-v", "2", "two"], capture_output=True).stdout) and
      read("stopped.model").startswith("svm_type c_svc") and os.path.getsize("stopped.svg") > 1000)
done = subprocess.run([hinge, "grid", *FINE, "--time-limit", "3", "--out", "limit.out", digits], capture_output=True,
                      text=True)
limited = points("limit.out")
if limited:
    check("a time limit ends the grid", done.returncode == 0 and "not all points are tried: time limit" in done.stderr
          and abs(float(done.stdout.split()[-1]) - max(limited.values())) < 1e-3, done.stderr)
else:
    check("a time limit before the first point", done.returncode == 1 and "no point" in done.stderr, done.stderr)
for words in (["--out", "/dev/full"], ["--png", "absent/x.png"], ["--png", "x.gif"]):
    said = subprocess.run([hinge, "grid", *SMALL, *words, "two"], capture_output=True, text=True)
    check("refuses " + " ".join(words), said.returncode in (1, 2) and words[1] in said.stderr, said.stderr)
with open("/dev/full", "w", encoding="utf-8") as full:
    said = subprocess.run([hinge, "grid", *SMALL, "--out", "null", "two"], stdout=full, stderr=subprocess.PIPE)
    check("a full disk under its output", said.returncode == 1 and b"cannot write to standard output" in said.stderr)
said = grid(*SMALL, *TIGHT, "-v", 4, "--out", "null", "two", "/dev/full", code=1, says="/dev/full: cannot write")
check("a full disk under the model leaves the table", said.splitlines()[-1] == out[-1], said)

# ---- bad input ----

LEFT = ["-s", 1, "--list", "nu=0.99", "-g", 0.1, "--out", "null"]  # no value of the grid can be trained
grid(*LEFT, "two", code=1, says="no point of the grid is done")
shown = grid("-s", 1, "--list", "nu=0.2,0.99", "-g", 0.1, "--out", "null", "two", says="nu: 0.99 is infeasible")
check("an infeasible nu: the point says so, the others go on", shown.count("[failed]") == 1 and
      shown.splitlines()[-1].startswith("0.2 "), shown)
write("few", "".join([x for x in lines if x.startswith("-1")][:40] + [x for x in lines if x.startswith("+1")][:2]))
rates = grid("-log2c", "0,2,1", "-g", 0.1, "--out", "null", "few").split()
check("a class smaller than the folds: two rows may be wrong", float(rates[-1]) >= 100 * 40 / 42 - 1e-3, rates)
write("single", "".join(x for x in lines[:60] if x.startswith("+1")))
check("one class", grid("-log2c", "0,2,1", "-g", 1, "--out", "null", "single", says="the label 1")
      .splitlines()[-1] == "1.0 100")
write("kept.out", "earlier points\n")
grid("-s", 3, "--score", "auc", "--out", "kept.out", "two", code=1, says="has no score")
check("a grid that is refused leaves the earlier points", read("kept.out") == "earlier points\n")
two = read("two")
grid("two", "two", code=2, says="two: cannot write: the command uses this file twice")
grid("--out", "two", "two", code=2, says="two: cannot write")
grid("--out", "both", "two", "both", code=2, says="both: cannot write")
check("a grid does not write over its data", read("two") == two and not os.path.exists("both"))
for words, code, says in [(["-log2c", "5,1,1"], 2, "leads from BEGIN to END"), (["-log2c", "1,2"], 2, "neither"),
                          (["--list", "x=1"], 2, "NAME=VALUE"),
                          (["--list", "c=1,a"], 2, "--list c: 'a' is not a number"),
                          (["--list", "c=1,-1"], 2, "--list c: '-1' must be above 0"),
                          (["-s", "5", "--list", "tau=1"], 2, "--list tau: '1' must be above 0 and below 1"),
                          (["-s", "1", "--list", "nu=2"], 2, "--list nu: '2' must be above 0 and at most 1"),
                          (["--list", "g="], 2, "--list g: '' is not a number"),
                          (["-t", "0", "-log2g", "1,2,1"], 2, "has no g"), (["-c", "1", "-log2c", "1,2,1"], 2, "-c"),
                          (["--score", "best"], 2, "none of auto, accuracy"),
                          (["--score", "mse"], 1, 'score: c_svc with 2 classes has no score "mse"'),
                          (["--solver", "sgd"], 2, "no grid"), (["--scale=1"], 2, "LOWER,UPPER")]:
    grid(*words, "--out", "null", "two", code=code, says=says)

# ---- JSON ----

report = json.loads(grid(*SMALL, *TIGHT, "-v", 4, "--json", "--out", "null", "two"))
results = report["cv_results"]
n = len(results["params"])
splits = [results[f"split{k}_test_score"] for k in range(4)]
means = [sum(column) / 4 for column in zip(*splits)]
deviations = [(sum((x - m) ** 2 for x in column) / 4) ** 0.5 for column, m in zip(zip(*splits), means)]


def same(a, b):
    return len(a) == len(b) and all(abs(x - y) < 1e-12 for x, y in zip(a, b))


check("JSON: means and deviations are those of the folds", n == 16 and same(results["mean_test_score"], means) and
      same(results["std_test_score"], deviations))
check("JSON: ranks", results["rank_test_score"] == [1 + sum(y > x for y in means) for x in means])
check("JSON: parameters", [p["C"] for p in results["params"]] == results["param_C"] and
      [p["gamma"] for p in results["params"]] == results["param_gamma"])
check("JSON: the best", report["best_params"] == results["params"][report["best_index"]] ==
      {"C": best[0], "gamma": best[1]} and abs(100 * report["best_score"] - best[2]) < 1e-3)
report = json.loads(grid(*LEFT, "--json", "two", code=1, says="no point"))
check("JSON: an error is one object", report == {"error": "no point of the grid is done, so there is no best one",
                                                 "exit_status": 1}, report)
report = json.loads(grid("--list", "c=1", "-g", 0.1, "--json", "--out", "null", "--png", "x.svg", "two", code=1,
                         says="gnuplot is not installed", env=dict(os.environ, PATH=folder)))
check("JSON: one object, though there is no picture", len(report["cv_results"]["params"]) == 1)
report = json.loads(grid(*SMALL, "--one-se", "-v", 4, "--json", "--out", "null", "two"))
scores = report["cv_results"]
top = max(range(16), key=lambda k: scores["mean_test_score"][k])
least = scores["mean_test_score"][top] - scores["std_test_score"][top] / 2
near = [p["C"] for p, score in zip(scores["params"], scores["mean_test_score"]) if score > least - 1e-9]
check("one standard error: the smallest C", report["best_params"]["C"] == min(near), f"{report['best_params']} {near}")
report = json.loads(grid("-s", 3, *SMALL, "--json", "--out", "null", "two"))
check("JSON: errors are negative, as scikit-learn has them", report["scoring"] == "neg_mean_squared_error" and
      report["best_score"] == max(x for x in report["cv_results"]["pooled_test_score"] if x is not None) < 0)

# ---- scaling, and pictures ----

grid("--scale", "0,1", "-log2c", "3,5,2", "-log2g", "-3,-3,0", "--out", "null", "raw", "scaled.model")
said = subprocess.run([hinge, "predict", "raw", "scaled.model", "predicted"], capture_output=True, text=True).stdout
subprocess.run(f"'{hinge}' scale -l 0 raw >scaled; '{hinge}' train -q -c 8 -g 0.125 scaled by8.model;"
               f"'{hinge}' train -q -c 32 -g 0.125 scaled by32.model", shell=True, check=True)
right = [subprocess.run([hinge, "predict", "scaled", name, "predicted"], capture_output=True, text=True).stdout
         for name in ("by8.model", "by32.model")]
check("--scale L,U: the model takes raw data", said in right, f"{said}{right}")
grid("--scale", "--verbose", *SMALL, "--out", "null", "raw", says="20 kernels were made, .* where 4 would do")
kernels = [json.loads(grid(*words, "--json", *SMALL, "--out", "null", "two"))["kernels"] for words in (["--scale"], [])]
check("folds scaled by themselves have a kernel each", kernels == [20, 4], kernels)
if shutil.which("gnuplot"):
    pictures = [(["-log2c", "3,3,0", "-log2g", "-5,-5,0"], "one.svg"), (SMALL, "map.svg"), (SMALL, "map.png"),
                (["-log2c", "-1,5,2", "-g", "0.1"], "line.svg"), (["-s", "3", *SMALL], "mse.svg"),
                (["-log2c", "-20,-18,1", "-log2g", "-5,-7,-1"], "flat.svg")]
    told = {}
    for words, name in pictures:
        said = subprocess.run([hinge, "grid", *words, "-png", name, "--out", "null", "two"], capture_output=True,
                              text=True)
        told[name] = said.stdout.split()[-3:]
        check(f"{name} is drawn without a word", said.returncode == 0 and not said.stderr, said.stderr)
    drawing = read("map.svg")
    c, g, rate = told["map.svg"]
    check("the map says the best point and all rates",
          f"best accuracy {rate} % at C = {float(c):g}, gamma = {float(g):g}<" in drawing and
          "rgb( 17,  17,  17)" in drawing and ">NaN<" not in drawing, re.findall("best acc.*", drawing))
    with open("map.png", "rb") as file:
        check("the other map is a PNG", file.read(8) == b"\x89PNG\r\n\x1a\n")
else:
    print("# no gnuplot to draw")

end()
