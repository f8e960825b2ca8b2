#!/usr/bin/env python3
"""test_report.py HINGE SOURCE: hinge report and hinge plot, from outside.

What report says is computed again in plain Python from the data and the model file: kernel, decision values, slacks,
kinds, certificate, margin, radius, bounds, losses, confusion. Leave-one-out is compared with `train -v n`, the path of
plot with `train -v`. Exit 1 if a check failed.
"""
import json
import lzma
import math
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time

from outside import check, end, folder, read, write

hinge = os.path.abspath(sys.argv[1])
source = os.path.abspath(sys.argv[2])
environment = dict(os.environ, HINGE_NO_RESTART="1", OMP_NUM_THREADS="2")


def near(name, a, b, tolerance):
    check(name, a is not None and abs(a - b) <= tolerance, f"{a} instead of {b}")


def run(*words, code=0, says="", path=None):
    env = dict(environment, PATH=path) if path is not None else environment
    done = subprocess.run([hinge, *map(str, words)], capture_output=True, text=True, env=env)
    good = done.returncode == code and says in done.stderr
    if code:
        good = good and done.stderr.startswith("hinge: ")
    if code or not good:
        check(" ".join(map(str, words)), good, f"code {done.returncode}, {done.stderr.strip()}")
    return done.stdout


def report(*words):
    return json.loads(run("report", "--json", *words))


# ---- data and models as text ----

def read_data(text):
    rows = []
    for line in text.splitlines():
        words = line.split()
        rows.append((float(words[0]), {int(w.split(":")[0]): float(w.split(":")[1]) for w in words[1:]}))
    width = max(max(row[1], default=0) for row in rows)
    return [label for label, _ in rows], [[row.get(k + 1, 0.0) for k in range(width)] for _, row in rows]


def read_model(name):
    with open(name) as file:
        head, body = file.read().split("SV\n", 1)
    keys = {line.split()[0]: line.split()[1:] for line in head.splitlines()}
    vectors = []
    for line in body.splitlines():
        words = line.split()
        values = {int(w.split(":")[0]): float(w.split(":")[1]) for w in words if ":" in w}
        vectors.append((float(words[0]), values))
    return keys, vectors


def write_data(name, y, x):
    with open(name, "w") as file:
        for label, row in zip(y, x):
            pairs = " ".join(f"{k + 1}:{value!r}" for k, value in enumerate(row) if value != 0)
            file.write(f"{label:g} {pairs}\n")


def rbf(gamma, a, b):
    return math.exp(-gamma * sum((u - v) ** 2 for u, v in zip(a, b)))


# ---- the report of a two-class model, computed again ----

def two_classes():
    data = os.path.join(source, "data", "breast_cancer.train.xz")
    y, raw = read_data(lzma.open(data, "rt").read())
    n, d, gamma, C = len(y), len(raw[0]), 0.05, 2.0
    low = [min(row[k] for row in raw) for k in range(d)]
    high = [max(row[k] for row in raw) for k in range(d)]
    x = [[2 * (v - l) / (h - l) - 1 for v, l, h in zip(row, low, high)] for row in raw]
    run("train", "-q", "-c", C, "-g", gamma, "-e", 1e-6, "--scale", data, "two.model")
    r = report("-c", C, "--leave-one-out", "--points", "points", "two.model", data)
    keys, vectors = read_model("two.model")
    sv = [[values.get(k + 1, 0.0) for k in range(d)] for _, values in vectors]
    alpha = [0.0] * n
    for (coef, _), vector in zip(vectors, sv):
        row = min(range(n), key=lambda i: sum(abs(a - b) for a, b in zip(x[i], vector)))
        alpha[row] += coef * y[row]
    gram = [[rbf(gamma, a, b) for b in x] for a in x]
    b = -float(keys["rho"][0])
    f = [sum(alpha[j] * y[j] * gram[i][j] for j in range(n) if alpha[j]) + b for i in range(n)]
    xi = [max(0.0, 1 - y[i] * f[i]) for i in range(n)]
    norm2 = sum(alpha[i] * y[i] * (f[i] - b) for i in range(n))
    dual = sum(alpha) - norm2 / 2
    primal = norm2 / 2 + C * sum(xi)
    slack = [sum(v <= 1e-3 for v in xi), sum(1e-3 < v < 1 - 1e-3 for v in xi), sum(abs(v - 1) <= 1e-3 for v in xi),
             sum(v > 1 + 1e-3 for v in xi)]
    p, c = r["problems"][0], r["certificate"]
    check("certified, and C as given", r["located"] and r["certified"] and r["C"] == C and not r["C_of_model"])
    near("primal", c["primal"], primal, 1e-6 * primal)
    near("dual", c["dual"], dual, 1e-6 * primal)
    check("weak duality, and nearly none", 0 <= c["gap"] <= 1e-3 and c["kkt"] <= 2e-6, c)
    check("slack classes", p["slack"] == slack, f"{p['slack']} instead of {slack}")
    check("margin vectors", p["n_margin_sv"] == sum(0 < a < C for a in alpha))
    check("non-margin vectors", p["n_non_margin_sv"] == sum(a == C for a in alpha) > 0)
    near("norm", p["norm2"], norm2, 1e-7 * norm2)
    near("margin", p["margin"], norm2 ** -0.5, 1e-7)
    near("bias", p["bias"], b, 1e-12)
    check("range of b", p["bias_low"] <= b + 1e-5 and b <= p["bias_high"] + 1e-5)
    near("sum of alpha", p["sum_alpha"], sum(alpha), 1e-9 * sum(alpha))
    margins = [y[i] * f[i] for i in range(n)]
    losses = {"hinge": sum(xi) / n, "perceptron": sum(max(0, -m) for m in margins) / n,
              "logistic": sum(math.log2(1 + math.exp(-m)) for m in margins) / n,
              "0-1": sum(m <= 0 for m in margins) / n, "exponential": sum(math.exp(-m) for m in margins) / n}
    for name, value in losses.items():
        near(f"loss {name}", p["losses"][name], value, 1e-7)
    means = [sum(row) / n for row in gram]
    centred = max(1 - 2 * m + sum(means) / n for m in means) ** 0.5
    bounds = r["bounds"]
    near("radius", bounds["radius"], 1, 1e-12)
    near("radius of centred data", bounds["radius_centred"], centred, 1e-9)
    check("dimension is infinite", bounds["dimension"] is None)
    near("VC dimension of fat hyperplanes", bounds["vc_fat"], math.ceil(norm2) + 1, 0)
    near("VC dimension of the slides", bounds["vc_slides"], math.ceil(4 * centred ** 2 * norm2), 0)
    h = min(bounds["vc_fat"], bounds["vc_slides"])
    near("VC bound", bounds["vc_risk"], losses["0-1"]
         + 2 * math.sqrt(2 * (h * math.log(2 * math.e * n / h) + math.log(2 / 0.05)) / n), 1e-6)
    check("no stability of a machine with a bias", "stability" not in bounds)
    near("leave-one-out bound", bounds["leave_one_out"], r["n_sv"] / n, 1e-12)
    run("train", "-q", "-c", C, "-g", gamma, "--no-bias", "--scale", data, "homogeneous.model")
    homogeneous = report("-c", C, "--no-bias", "homogeneous.model", data)["bounds"]
    near("lambda", homogeneous["lambda"], 1 / (2 * C * n), 1e-15)
    near("stability", homogeneous["stability"], 4 * C, 1e-9)
    right = [[sum(1 for i in range(n) if y[i] == a and (1 if f[i] > 0 else -1) == b) for b in (1, -1)]
             for a in (1, -1)]
    order = r["confusion"]["labels"]
    counts = [[right[0 if a > 0 else 1][0 if b > 0 else 1] for b in order] for a in order]
    check("confusion", r["confusion"]["counts"] == counts, r["confusion"])
    near("accuracy", r["accuracy"], 100 * (right[0][0] + right[1][1]) / n, 1e-9)

    points = [line.split() for line in open("points").read().splitlines()[1:]]
    check("a line a point", len(points) == n)
    check("their values", all(abs(float(q[3]) - f[i]) < 1e-6 and abs(float(q[6]) - alpha[i]) < 1e-6
                              and float(q[2]) == y[i] for i, q in enumerate(points)))
    check("their classes", [sum(q[5] == w for q in points) for w in ("outside", "inside", "boundary", "wrong")] == slack)
    check("their kinds", sum(q[8] == "margin" for q in points) == p["n_margin_sv"]
          and sum(q[8] == "non-margin" for q in points) == p["n_non_margin_sv"])

    write_data("scaled", y, x)
    one = json.loads(run("train", "--json", "-c", C, "-g", gamma, "-v", n, "scaled"))
    loo = r["leave_one_out"]
    near("leave one out", loo["errors"], n - one["accuracy"] * n / 100, 1e-6)
    check("its bound", loo["error"] <= loo["bound"] == r["n_sv"] / n and loo["retrained"] == r["n_sv"])

    guessed = report("two.model", data)
    check("C of the coefficients", guessed["C_of_model"] and guessed["C"] == C
          and guessed["certificate"]["gap"] == c["gap"])
    check("parameters that fit", r["misfit"] == guessed["misfit"] == "", r["misfit"])
    wrong = report("-c", C / 2, "two.model", data)
    check("another C is noticed", wrong["certificate"]["box_residual"] > 0.5)
    check("too small a C is said", "reach 2, above C = 1" in wrong["misfit"], wrong["misfit"])
    check("in words too", "do not fit: coefficients reach 2" in run("report", "-c", C / 2, "two.model", data))
    large = report("-c", 10 * C, "two.model", data)["misfit"]
    check("too large a C is said", f"{p['n_non_margin_sv']} coefficients" not in large and "are at 2, below C = 20" in large,
          large)
    hard = report("-c", "inf", "two.model", data)
    check("so is the hard margin's", "below C = inf" in hard["misfit"], hard)
    run("train", "-q", "-c", C, "-g", gamma, "--scale", "--record", data, "recorded.model")
    recorded = report("recorded.model", data)
    check("a model that tells how it was trained", recorded["C"] == C and not recorded["C_of_model"])
    text = run("report", "two.model", data)
    check("text", all(w in text for w in ("certificate", "gap", "1/|w|", "xi = 0", "#SV/N", "VC bound", "0-1",
                                          "confusion", "Accuracy")))
    return data


def unseen(data):
    other = data.replace("train", "test")
    r = report("two.model", other)
    check("unseen data: no certificate, and why", not r["certified"] and "not among the 114 rows" in r["why_not"])
    check("unseen data: the rest", sum(r["problems"][0]["slack"]) == 114 and "losses" in r["problems"][0]
          and "bounds" not in r and "C" not in r)
    run("report", "--leave-one-out", "two.model", other, code=1, says="--leave-one-out")
    done = run("report", "--points", "-", "two.model", other).splitlines()
    check("points of unseen data", len(done) == 115 and done[1].endswith(" - - -"))


# ---- other tasks ----

def small_data():
    state, rows = 12345, []

    def draw():
        nonlocal state
        state = state * 16807 % 2147483647
        return state / 2147483647

    for i in range(120):
        k = i % 3
        rows.append((k, [round(math.cos(2.1 * k) + draw() * 2 - 1, 6), round(math.sin(2.1 * k) + draw() * 2 - 1, 6)]))
    return rows


def other_tasks():
    rows = small_data()
    write_data("three", [k + 1 for k, _ in rows], [x for _, x in rows])
    write_data("pair", [1 if k else -1 for k, _ in rows], [x for _, x in rows])
    write_data("real", [sum(x) for _, x in rows], [x for _, x in rows])

    for how, problems in (("ovo", 3), ("ovr", 3)):
        trained = json.loads(run("train", "--json", "--certify", "-c", 4, "-g", 1, "--multiclass", how, "three", "m"))
        r = report("-c", 4, "m", "three")
        check(f"{how}: certificate of train", abs(r["certificate"]["primal"] - trained["primal"]) < 1e-8)
        check(f"{how}: problems", len(r["problems"]) == problems and "bounds" not in r)
        check(f"{how}: every row in each of its problems",
              sum(sum(p["slack"]) for p in r["problems"]) == (240 if how == "ovo" else 360))
        check(f"{how}: bounded", sum(p["n_non_margin_sv"] for p in r["problems"]) == trained["n_bsv"])
        check(f"{how}: confusion", sum(map(sum, r["confusion"]["counts"])) == 120)
        check(f"{how}: text", "hinge loss" in run("report", "-c", 4, "m", "three"))

    for words, needed, why in ((["-s", 3, "-c", 2, "-p", 0.2], ["-c", 2, "-p", 0.2], "give -c and -p"),
                               (["-s", 4, "-c", 2, "-n", 0.3], ["-c", 2, "-n", 0.3], "give -c and -n"),
                               (["-s", 2, "-n", 0.3], ["-n", 0.3], "give -n"),
                               (["-s", 1, "-n", 0.3], ["-n", 0.3], "give -n")):
        data = "real" if words[1] in (3, 4) else "pair"
        trained = json.loads(run("train", "--json", "--certify", "-g", 1, *words, data, "m"))
        r = report("m", data)
        check(f"task {words[1]}: what is missing is said", not r["certified"] and why in r["why_not"], r.get("why_not"))
        r = report(*needed, "m", data)
        check(f"task {words[1]}: certificate of train",
              r["certified"] and abs(r["certificate"]["primal"] - trained["primal"]) < 1e-7 * abs(trained["primal"])
              and abs(r["certificate"]["gap"] - trained["gap"]) < 1e-7 * abs(trained["primal"]), r)

    run("train", "-q", "-c", 1, "-g", 1, "-w1", 3, "-e", 1e-5, "pair", "m")
    r = report("-c", 1, "-w1", 3, "m", "pair")
    check("class weights", r["certificate"]["kkt"] < 1e-4 and r["certificate"]["box_residual"] == 0)
    check("class weights left out", report("-c", 1, "m", "pair")["certificate"]["box_residual"] > 1)
    check("class weights, C of the model", abs(report("-w1", 3, "m", "pair")["C"] - 1) < 1e-9)
    r = report("m", "pair")
    check("class weights that nobody tells", not r["certified"] and "give the weights" in r["why_not"], r)
    run("train", "-q", "-c", 1, "-g", 1, "-w1", 3, "-e", 1e-5, "--record", "pair", "recorded")
    r = report("recorded", "pair")
    check("a model that tells its class weights", r["certificate"]["kkt"] < 1e-4 and r["misfit"] == "", r)

    run("train", "-q", "-s", 1, "-n", 0.3, "-g", 1, "pair", "m")
    r = report("-n", 0.3, "m", "pair")
    check("nu-SVC has no leave-one-out bound", r["certified"] and r["bounds"]["leave_one_out"] is None)
    check("in words neither", "#SV/N" not in run("report", "-n", 0.3, "m", "pair"))
    check("another nu is said", "other parameters" in report("-n", 0.6, "m", "pair")["misfit"])
    run("train", "-q", "-s", 3, "-c", 2, "-p", 0.2, "-g", 1, "--record", "real", "m")
    check("regression that tells its parameters", report("m", "real")["certificate"]["kkt"] < 2e-3)
    check("regression with another C", "below C = 9" in report("-c", 9, "m", "real")["misfit"])

    apart = [(k, [x[0] + 20 * (k > 0), x[1]]) for k, x in rows]
    write_data("apart", [1 if k else -1 for k, _ in apart], [x for _, x in apart])
    run("train", "-q", "-c", "inf", "-t", "linear", "apart", "m")
    r = report("-c", "inf", "m", "apart")
    check("hard margin", r["certified"] and r["certificate"]["gap"] < 1e-6 and r["misfit"] == "", r)
    check("hard margin in words", "nan" not in run("report", "-c", "inf", "m", "apart"))
    run("train", "-q", "-c", "inf", "-t", "linear", "--record", "apart", "m")
    check("hard margin that tells", report("m", "apart")["certified"])

    with open("pair", encoding="utf-8") as lines, open("weights", "w", encoding="utf-8") as out:
        out.writelines(f"{1 + k % 7 / 4}\n" for k, _ in enumerate(lines))
    run("train", "-q", "-c", 2, "-g", 1, "--weights", "weights", "-e", 1e-5, "pair", "m")
    r = report("--weights", "weights", "m", "pair")
    check("weights of examples, C of the model", abs(r["C"] - 2) < 1e-9)
    check("weights of examples", r["certificate"]["kkt"] < 1e-4 and r["certificate"]["box_residual"] == 0)
    check("weights of examples left out", report("-c", 2, "m", "pair")["certificate"]["box_residual"] > 0.5)
    run("report", "--weights", "m", "m", "pair", code=1, says="m")

    run("train", "-q", "-c", 1e6, "-g", 1, "-e", 1e-5, "three", "m")
    r = report("m", "three")
    check("no coefficient at a bound: C is asked for", r["certified"] or "give -c" in r["why_not"])
    write_data("tiny", [-1, 1, 1], [[-1e-10], [1e-10], [1e-10]])
    run("train", "-q", "-t", 0, "-c", 0.125, "tiny", "m")
    for options in (["-c", 0.125], ["-c", 0.01]):
        near("w far less than b", report(*options, "m", "tiny")["problems"][0]["norm2"], 6.25e-22, 1e-30)
    run("train", "-q", "-c", 1e6, "-g", 1, "-e", 1e-5, "three", "m")

    gram = [[rbf(1, a, b) for _, b in rows] for _, a in rows]
    with open("gram", "w") as file:
        for i, (k, _) in enumerate(rows):
            values = " ".join(f"{j + 1}:{v!r}" for j, v in enumerate(gram[i]))
            file.write(f"{1 if k else -1} 0:{i + 1} {values}\n")
    run("train", "-q", "-c", 2, "-g", 1, "-e", 1e-6, "pair", "m")
    run("train", "-q", "-c", 2, "-t", 4, "-e", 1e-6, "gram", "g")
    a, b = report("-c", 2, "m", "pair"), report("-c", 2, "g", "gram")
    near("precomputed kernel", b["certificate"]["primal"], a["certificate"]["primal"], 1e-5)
    near("its norm", b["problems"][0]["norm2"], a["problems"][0]["norm2"], 1e-5 * a["problems"][0]["norm2"])
    check("no number is missing", "nan" not in run("report", "-c", 2, "g", "gram"))
    lines = open("gram").read().splitlines(True)
    open("turned", "w").writelines(lines[1:] + lines[:1])
    check("precomputed rows in another order", "not in their order" in report("-c", 2, "g", "turned")["why_not"])
    with open("odd", "w") as file:
        file.write(open("pair").read() + "7 1:0.5\n")
    r = report("m", "odd")
    check("a label the model has not", r["confusion"]["labels"][2] == 7 and sum(r["problems"][0]["slack"]) == 120)


def many_classes():
    """The problems of many classes, each as if it stood alone."""
    rows = [(k % 9, [math.cos(k % 9) + x[0], math.sin(k % 9) + x[1]]) for k, (_, x) in enumerate(small_data())]
    write_data("nine", [k for k, _ in rows], [x for _, x in rows])
    run("train", "-q", "-c", 3, "-g", 1, "-e", 1e-6, "nine", "k9")
    r = report("-c", 3, "--points", "points", "k9", "nine")
    points = [line.split() for line in open("points").read().splitlines()[1:]]
    check("a problem a pair", len(r["problems"]) == 36)
    for number, p in enumerate(r["problems"]):
        pair = [row for row in rows if row[0] in (p["positive"], p["negative"])]
        mine = [q for q in points if int(q[1]) == number + 1]
        alpha = [float(q[6]) * float(q[2]) for q in mine]
        norm2 = sum(u * v * rbf(1, a, b) for u, (_, a) in zip(alpha, pair) for v, (_, b) in zip(alpha, pair))
        good = len(mine) == len(pair) == p["n"] and abs(norm2 - p["norm2"]) < 1e-6 * norm2
        good = good and p["n_non_margin_sv"] == sum(abs(abs(v) - 3) < 1e-9 for v in alpha)
        good = good and p["n_margin_sv"] == sum(1e-9 < abs(v) < 3 - 1e-9 for v in alpha)
        if not good or number == 35:
            check(f"problem {number}", good, p)
    run("train", "-q", "-c", 3, "-g", 1, "nine", "other")
    unseen_rows = report("other", "three")["problems"]
    near("norms from support vectors alone", unseen_rows[0]["norm2"], r["problems"][0]["norm2"],
         1e-3 * r["problems"][0]["norm2"])


def refusals():
    run("report", "m", code=2, says="a model file and a data file are needed")
    run("report", "m", "pair", "x", code=2, says="too many")
    run("report", "nothing", "pair", code=1, says="nothing")
    run("report", "m", "nothing", code=1, says="nothing")
    run("report", "-c", "0", "m", "pair", code=2, says="-c")
    run("report", "--slack-tolerance", "0.5", "m", "pair", code=2, says="--slack-tolerance")
    run("report", "--json", "--points", "-", "m", "pair", code=2, says="--points")
    open("bare.csv", "w").write("1,2\n3,4\n")
    run("report", "--no-labels", "m", "bare.csv", code=1, says="no labels")


# ---- plot ----

def data_block(folder, name):
    """The lines of a data block of the script that --keep left, without blank ones."""
    script = open(f"{folder}/plot.gp").read()
    return [line for line in script.partition(f"\n${name} << END\n")[2].partition("END\n")[0].splitlines() if line]


def plot(data):
    for words, code, says in ((("plot", "m", "pair"), 2, "-o"),
                              (("plot", "-o", "a.gif", "m", "pair"), 2, ".svg"),
                              (("plot", "-o", "a.svg", "m"), 2, "needed"),
                              (("plot", "-o", "a.svg", "--features", "1,9", "m", "pair"), 2, "no feature 9"),
                              (("plot", "-o", "a.svg", "--features", "1,1", "m", "pair"), 2, "different"),
                              (("plot", "-o", "a.svg", "--features", "1", "m", "pair"), 2, "comma"),
                              (("plot", "-o", "a.svg", "--features", "1,0.5", "m", "pair"), 2, "whole"),
                              (("plot", "-o", "no/a.svg", "m", "pair"), 1, "no/a.svg"),
                              (("plot", "-o", "a.svg", "--path", "--costs", "3,1,1", "pair"), 2, "--costs"),
                              (("plot", "-o", "a.svg", "--path", "-t", "4", "gram"), 2, "precomputed"),
                              (("plot", "-o", "a.svg", "g", "gram"), 1, "precomputed")):
        run(*words, code=code, says=says)
    run("plot", "-o", "a.svg", "--keep", "there", "m", "pair", code=1, says="gnuplot is not installed", path="/nowhere")
    check("data are kept where gnuplot is missing", os.path.exists("there/plot.gp"))
    check("no picture is left then", not [name for name in os.listdir(".") if name.startswith("a.svg")])
    if not shutil.which("gnuplot"):
        print("# skipped: no gnuplot to draw with")
        return
    for model, file, features, n in (("m", "pair", "1,2", 120), ("two.model", data, "3,7", 455)):
        run("plot", "-o", "a.svg", "--features", features, "--keep", "kept", model, file)
        check("a picture", open("a.svg").read(200).count("<svg") == 1)
        points = data_block("kept", "points")
        check("every example is drawn", len(points) == n, len(points))
        rings = data_block("kept", "vectors")
        check("every support vector is ringed", len(rings) == report(model, file)["n_sv"] and set(rings) <= set(points))
        slack = report(model, file)["problems"][0]["slack"]
        script = open("kept/plot.gp").read()
        check("slack classes are counted", all(f"({k})'" in script for k in slack if k))
        shutil.rmtree("kept")
    run("train", "-q", "-c", 4, "-g", 1, "three", "t")
    run("plot", "-o", "a.png", "t", "three")
    check("a PNG", open("a.png", "rb").read(8) == b"\x89PNG\r\n\x1a\n")
    run("train", "-q", "-s", 2, "-n", 0.2, "pair", "o")
    run("plot", "-o", "one.svg", "o", "pair")
    run("plot", "--path", "-g", 1, "--costs", "-2,2,2", "-v", 4, "--keep", "path", "-o", "path.svg", "pair")
    steps = [tuple(map(float, line.split())) for line in data_block("path", "path")]
    check("steps of the path", [step[0] for step in steps] == [0.25, 1, 4])
    for C, error, n_sv in steps:
        validated = json.loads(run("train", "--json", "-c", C, "-g", 1, "-v", 4, "pair"))
        near(f"error at C = {C:g}", error, 100 - validated["accuracy"], 1e-6)
        trained = json.loads(run("train", "--json", "-c", C, "-g", 1, "pair", "m2"))
        near(f"support vectors at C = {C:g}", n_sv, trained["n_sv"], 1)


def looks():
    """Colours, axes and warnings of a picture; the error of values against C."""
    with open("twelve", "w") as file:
        for i in range(120):
            turn = 2 * math.pi * (i % 12) / 12
            file.write(f"{i % 12} 1:{math.cos(turn) + i % 7 / 90} 2:{math.sin(turn) + i % 11 / 90} 3:5 4:{i}\n")
    run("train", "-q", "-c", 10, "-g", 1, "twelve", "w")
    for features, equal in (("1,2", True), ("1,4", False)):
        run("plot", "-o", "a.svg", "--keep", "kept", "--features", features, "w", "twelve")
        script = open("kept/plot.gp").read()
        check(f"equal axes of {features}", ("set size ratio -1" in script) == equal)
        tints = re.findall(r"boxxyerror lc rgb '(#\w+)' title 'predicted", script)
        marks = re.findall(r"NaN with points.*rgb '(#\w+)' title 'label", script)
        check(f"colours of {features} differ", len(set(tints)) == len(tints) > 0 and len(set(marks)) == 12)
        shutil.rmtree("kept")
    run("plot", "-o", "a.svg", "--features", "1,3", "w", "twelve", says="feature 3 is 5 in all examples")
    run("plot", "--path", "-s", 3, "-p", 0.2, "-g", 1, "--costs", "0,1,1", "-v", 4, "--keep", "kept", "-o", "a.svg",
        "real")
    for line in data_block("kept", "path"):
        C, error, _ = map(float, line.split())
        validated = json.loads(run("train", "--json", "-s", 3, "-p", 0.2, "-c", C, "-g", 1, "-v", 4, "real"))
        near(f"squared error at C = {C:g}", error, validated["mse"], 1e-6 * error)
    run("plot", "--path", "-s", 2, "-o", "a.svg", "real", code=2, says="one_class has no C")


def predicted(model, rows):
    """What a model says of rows of features."""
    write("rows", "".join("0 " + " ".join(f"{k + 1}:{v!r}" for k, v in enumerate(row)) + "\n" for row in rows))
    run("predict", "-q", "rows", model, "said")
    return [float(word) for word in read("said").split()]


def borders():
    """Borders between three classes are where the prediction changes, not half way between points of a grid."""
    run("train", "-q", "-c", 4, "-g", 1, "three", "t")
    run("plot", "-o", "a.svg", "--keep", "kept", "t", "three")
    places = [tuple(map(float, line.split())) for line in data_block("kept", "borders")][::2]
    corners = [tuple(map(float, line.split())) for line in data_block("kept", "corners")]
    script = read("kept/plot.gp")
    shutil.rmtree("kept")
    low, high = zip(*((float(a), float(b)) for a, b in re.findall(r"^set [xy]range \[(.*):(.*)\]", script, re.M)))
    step = [(b - a) / 299 for a, b in zip(low, high)]
    around = [(x + a * step[0] / 400, y + b * step[1] / 400) for x, y in places for a, b in ((-1, 0), (1, 0), (0, -1), (0, 1))]
    told = predicted("t", around)
    on = sum(told[k] != told[k + 1] or told[k + 2] != told[k + 3] for k in range(0, len(told), 4))
    check("borders are where the prediction changes", len(places) > 200 and on == len(places), f"{on} of {len(places)}")
    check("and regions reach to them", set(places) <= set(corners))


def regressions():
    """Prediction, tube and examples over one feature, contours over two; names on the axes."""
    draw = random.Random(7)
    write("curve.csv", "time,load\n" + "".join(f"{x!r},{math.sin(x) + draw.gauss(0, 0.2)!r}\n"
                                               for x in (draw.uniform(0, 6) for _ in range(80))))
    run("train", "-q", "-s", 3, "-p", 0.25, "-c", 10, "-g", 1, "-e", 1e-6, "--label-column", "load", "curve.csv", "c")
    run("plot", "-o", "a.svg", "--keep", "kept", "c", "curve.csv")
    script = read("kept/plot.gp")
    curve = [tuple(map(float, line.split())) for line in data_block("kept", "values")]
    points = data_block("kept", "points")
    shutil.rmtree("kept")
    check("names on the axes", "set xlabel 'time'" in script and "set ylabel 'load'" in script)
    check("the curve is the prediction", len(curve) == 500 and
          max(abs(a - b[1]) for a, b in zip(predicted("c", [row[:1] for row in curve]), curve)) < 1e-8)
    check("examples are all there", len(points) == 80)
    tube = float(re.search(r"title 'tube, \+- ([0-9.]+)'", script)[1])
    check("the tube is that of the training", abs(tube - 0.25) < 1e-4, tube)
    write("hill.csv", "north,east,height,wind\n" + "".join(
        f"{x!r},{y!r},{math.exp(-x * x - y * y)!r},{z!r}\n" for x, y, z in
        ([draw.uniform(-2, 2) for _ in range(3)] for _ in range(90))))
    run("train", "-q", "-s", 3, "-p", 0.05, "-g", 1, "--label-column", "height", "hill.csv", "h")
    run("plot", "-o", "a.svg", "--keep", "kept", "--features", "east,north", "h", "hill.csv")
    script = read("kept/plot.gp")
    check("contours of two features by name", "set xlabel 'east'" in script and "set ylabel 'north'" in script and
          "set cblabel 'height'" in script and len(data_block("kept", "values")) == 200 * 200)
    shutil.rmtree("kept")
    run("plot", "-o", "a.svg", "--features", "wind", "h", "hill.csv")
    run("plot", "-o", "a.svg", "--features", "wind,rain", "h", "hill.csv", code=2, says="no feature rain")
    run("plot", "-o", "a.svg", "--features", "4", "h", "hill.csv", code=2, says="feature")
    write("odd.csv", "a,b,what\n" + "".join(f"{draw.gauss(0, 1)!r},{draw.gauss(0, 1)!r},{'odd one' if k % 9 else 'usual'}\n"
                                           for k in range(60)))
    run("train", "-q", "-s", 2, "-n", 0.2, "--ignore", "what", "--no-labels", "odd.csv", "o")
    run("plot", "-o", "a.svg", "--keep", "kept", "--label-column", "what", "o", "odd.csv")
    script = read("kept/plot.gp")
    shutil.rmtree("kept")
    check("one_class with words for labels", all(f"title '{text}'" in script for text in
          ("predicted inside", "predicted outside", "label odd one", "label usual")) and "wrong" not in script)
    write("large.csv", "big,small,y\n" + "".join(f"{draw.uniform(0, 2e6)!r},{draw.uniform(0, 1e-4)!r},{k % 2}\n" for k in range(40)))
    run("train", "-q", "--scale", "--label-column", "y", "large.csv", "l")
    run("plot", "-o", "a.svg", "--keep", "kept", "l", "large.csv")
    script = read("kept/plot.gp")
    shutil.rmtree("kept")
    check("numbers of an axis have one form", "set format x '%.0f'" in script and "set format y '%.1e'" in script)
    run("plot", "--path", "--scale", "--costs", "0,2,2", "-v", 4, "--keep", "kept", "-o", "a.svg", "--label-column", "y", "large.csv")
    for line in data_block("kept", "path"):
        C, error, _ = map(float, line.split())
        validated = json.loads(run("train", "--json", "--scale", "-c", C, "-v", 4, "--label-column", "y", "large.csv"))
        near(f"scaled error at C = {C:g}", error, 100 - validated["accuracy"], 1e-6)
    table = run("grid", "--out", "null", "--list", "c=1,2,3", "--list", "g=1,2", "pair")
    check("heads of a grid have one form", "c=1         2         3" in table and "\n2^0 " in table and "\n2^1 " in table, table)


def interrupted():
    """A gnuplot that waits: it has a locale of UTF-8, and an interrupt leaves nothing behind."""
    os.mkdir("bin")
    with open("bin/gnuplot", "w") as file:
        file.write('#!/bin/sh\necho "$LC_ALL" >locale.new && mv locale.new "$0.locale" && exec sleep 60\n')
    os.chmod("bin/gnuplot", 0o755)
    here = os.getcwd()
    env = dict(environment, PATH=here + "/bin:" + os.environ["PATH"], LC_ALL="C")
    drawing = subprocess.Popen([hinge, "plot", "-o", "late.svg", "m", "pair"], env=env)
    while drawing.poll() is None and not os.path.exists("bin/gnuplot.locale"):
        time.sleep(0.01)
    drawing.send_signal(signal.SIGINT)
    check("an interrupt ends it", drawing.wait() == -signal.SIGINT, drawing.returncode)
    check("no picture is left by an interrupt", not [n for n in os.listdir(".") if n.startswith("late.svg")])
    check("gnuplot's locale", open("bin/gnuplot.locale").read() == "C.UTF-8\n")


os.chdir(folder)
shipped = two_classes()
unseen(shipped)
other_tasks()
many_classes()
refusals()
plot(shipped)
interrupted()
if shutil.which("gnuplot"):
    looks()
    borders()
    regressions()
end()
