#!/usr/bin/env python3
"""test_export.py HINGE CC...: hinge export, from outside.

Models of every task and kernel become C files, are compiled as C99 without a warning and, on examples they have not
seen, answer what `hinge predict` does. Exit 1 if a check failed.
"""
import math
import os
import random
import subprocess
import sys

from outside import check, end, folder

hinge, compiler = os.path.abspath(sys.argv[1]), sys.argv[2:]
environment = dict(os.environ, HINGE_NO_RESTART="1", OMP_NUM_THREADS="2")
D, N = 5, 90

MAIN = """#include <stdio.h>
#include "model.c"
int main(void)
{
    REAL x[COLUMNS], decisions[PROBLEMS + 1];
    double value, label;
    for (;;) {
        for (int k = 0; k < COLUMNS; k++) {
            if (scanf("%lf", &value) != 1)
                return 0;
            x[k] = (REAL)value;
        }
        label = svm(x, decisions);
        if (label != svm(x, NULL))
            return 1;
        printf("%.17g", label);
        for (int p = 0; p < PROBLEMS; p++)
            printf(" %.17g", (double)decisions[p]);
        printf("\\n");
    }
}
"""


def run(*words, code=0, says=""):
    done = subprocess.run([hinge, *map(str, words)], capture_output=True, text=True, env=environment, timeout=120)
    if done.returncode != code or says not in done.stderr:
        check(" ".join(map(str, words)), False, f"code {done.returncode}, {done.stderr.strip()}")
    return done.stdout


def write(name, labels, rows):
    with open(name, "w") as file:
        for label, row in zip(labels, rows):
            file.write(f"{label!r} " + " ".join(f"{k + 1}:{v!r}" for k, v in enumerate(row)) + "\n")


def gram(name, labels, left, right):
    """Kernel values of each row with all of right, as LIBSVM's precomputed kernels have them."""
    with open(name, "w") as file:
        for i, (label, a) in enumerate(zip(labels, left)):
            values = [math.exp(-0.3 * sum((u - v) ** 2 for u, v in zip(a, b))) for b in right]
            file.write(f"{label!r} 0:{i + 1} " + " ".join(f"{j + 1}:{v!r}" for j, v in enumerate(values)) + "\n")


def compare(name, data, rows, single):
    """The exported model.c and `hinge predict` on rows."""
    words = open("m").read().split("\nSV\n")[0]
    rho = [line for line in words.split("\n") if line.split()[0] == "rho"][0].split()[1:]
    with open("main.c", "w") as file:
        file.write(MAIN)
    command = [*compiler, "-std=c99", "-pedantic", "-Wall", "-Wextra", "-Wmissing-prototypes", "-Werror", "-O1",
               f"-DREAL={'float' if single else 'double'}", f"-DPROBLEMS={len(rho)}", f"-DCOLUMNS={len(rows[0])}",
               "main.c", "-o", "program", "-lm"]
    built = subprocess.run(command, capture_output=True, text=True)
    if built.returncode:
        check(name, False, built.stderr[:1000])
        return
    text = "\n".join(" ".join(map(repr, row)) for row in rows)
    done = subprocess.run(["./program"], input=text, capture_output=True, text=True, timeout=60)
    got = [[float(word) for word in line.split()] for line in done.stdout.splitlines()]
    run("predict", "-q", "--precision", "f64", "--decisions", "decisions", data, "m", "labels")
    labels = [float(line) for line in open("labels")]
    decisions = [[float(word) for word in line.split()] for line in open("decisions")]
    tolerance = 2e-4 if single else 1e-11
    size = 1 + max([abs(value) for line in decisions for value in line], default=0)
    wrong = [i for i, line in enumerate(got) if any(abs(a - b) > tolerance * size
                                                    for a, b in zip(line[1:], decisions[i]))]
    near = [i for i, line in enumerate(decisions) if any(abs(value) <= tolerance * size for value in line)]
    values = "svr" in words.split("\n")[0]
    other = [i for i, line in enumerate(got)
             if abs(line[0] - labels[i]) > (tolerance * size if values else 0) and (values or i not in near)]
    check(name, done.returncode == 0 and len(got) == len(rows) == len(labels) and not wrong and not other
          and all(len(line) == 1 + len(rho) for line in got), f"{done.returncode}, {len(got)} {wrong} {other}")


def models():
    random.seed(5)
    draw = lambda n: [[round(random.gauss(0, 1), 6) for _ in range(D)] for _ in range(n)]
    rows, test = draw(N), draw(40)
    groups = lambda x: [1 + (r[0] > 0) + 2 * (r[1] > 0) for r in x]
    halves = lambda x: [2.5 if r[0] + r[1] ** 2 > 1 else -7 for r in x]
    sums = lambda x: [sum(r) + r[0] * r[1] for r in x]
    for name, target in (("four", groups), ("two", halves), ("real", sums)):
        write(name, target(rows), rows)
        write(name + ".test", target(test), test)
        gram(name + ".gram", target(rows), rows, rows)
        gram(name + ".gram.test", target(test), test, rows)
    wide = lambda x: [[1000 * r[0] + 77, r[1] / 50, r[2], 4.0, r[4]] for r in x]
    write("wide", halves(rows), wide(rows))
    write("wide.test", halves(test), wide(test))
    write("one", [3] * N, rows)

    kernels = (["-t", 0], ["-t", 1, "-g", 0.4, "-r", 0.5, "-d", 3], ["-t", 2, "-g", 0.3],
               ["-t", 3, "-g", 0.1, "-r", -0.2], ["-t", 1, "-d", 0], ["-t", 4],
               ["-t", 6, "-g", 0.5], ["-t", 7, "-g", 0.8], ["-t", 8, "-g", 0.4])
    tasks = (["-s", 0, "-c", 3], ["-s", 1, "-n", 0.2], ["-s", 2, "-n", 0.3], ["-s", 3, "-c", 3], ["-s", 4, "-n", 0.4])
    for task in tasks:
        for kernel in kernels:
            for data in (("real",) if task[1] in (3, 4) else ("two",) if task[1] == 2 else ("two", "four")):
                if task[1] == 1 and data == "two" and kernel == ["-t", 1, "-d", 0]:
                    continue # a constant kernel has no margin
                used = data + (".gram" if kernel[1] == 4 else "")
                run("train", "-q", "--max-iter", 20000, *task, *kernel, used, "m")
                single = (task[1] + kernel[1]) % 2 == 1
                for float_too in ([False, True] if single else [False]):
                    run("export", "--c", "-o", "model.c", *(["--float"] if float_too else []), "m")
                    given = [[math.exp(-0.3 * sum((u - v) ** 2 for u, v in zip(a, b))) for b in rows] for a in test]
                    columns = max(int(word.split(":")[1]) for line in open("m").read().split("\nSV\n")[1].splitlines()
                                  for word in line.split() if ":" in word) if kernel[1] == 4 else D
                    compare(f"{' '.join(map(str, task + kernel))}, {data}{', float' if float_too else ''}",
                            used + ".test", [row[:columns] for row in given] if kernel[1] == 4 else test, float_too)
    for words, data, what, x in ((["--multiclass", "ovr", "-g", 0.3], "four", "one-versus-rest", test),
                                 (["--multiclass", "ovr", "-t", 0], "four", "one-versus-rest, linear", test),
                                 (["--scale", "-g", 0.5], "wide", "scaled", wide(test)),
                                 (["--scale", "-t", 0], "wide", "scaled, linear", wide(test))):
        run("train", "-q", *words, data, "m")
        for float_too in (False, True):
            run("export", "--c", "-o", "model.c", *(["--float"] if float_too else []), "m")
            compare(what + (", float" if float_too else ""), data + ".test", x, float_too)
    run("train", "-q", "one", "m")
    run("export", "--c", "-o", "model.c", "m")
    check("one class: exported", "return svm_labels[best]" in open("model.c").read())
    built = subprocess.run([*compiler, "-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-c", "model.c"],
                           capture_output=True, text=True)
    check("one class: compiled", built.returncode == 0, built.stderr)


def refusals():
    run("export", "m", code=2, says="--c")
    run("export", "--c", code=2, says="one model file")
    run("export", "--c", "--name", "2x", "m", code=2, says="2x")
    run("export", "--c", "--name", "", "m", code=2, says="--name")
    run("export", "--c", "absent", code=1, says="absent")
    check("goes to standard output", "double other(const double *x" in run("export", "--c", "--name", "other", "m"))
    with open("large", "w") as file:
        file.write("svm_type epsilon_svr\nkernel_type linear\nnr_class 2\ntotal_sv 1\nrho 1e300\nSV\n1 1:1 \n")
    before = sorted(os.listdir())
    run("export", "--c", "--float", "-o", "model.c", "large", code=1, says="beyond float")
    check("nothing is left of a file that is refused", sorted(os.listdir()) == before, sorted(os.listdir()))


os.chdir(folder)
models()
refusals()
end()
