"""benchmarks/compare --grid: LIBSVM's grid of C and gamma, 5 folds, by `hinge grid` and by svm-train -v 5.

svm-train is measured at some points only, evenly spread over the grid, and its time for all of them extrapolated; the
table says from how many. A point that takes longer than --limit counts as that long, and the sum as "at least".
"""
import csv
import json
import math
import os
import random
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time

from charts import draw_grids

# name: (set, rows at most, task, log2 of C, log2 of gamma, values of p, options of hinge scale)
GRIDS = {
    "digits": ("digits", 0, 0, (-5, 15, 2), (3, -15, -2), [], "-l 0"),
    "ijcnn1": ("ijcnn1", 16000, 0, (-5, 15, 2), (3, -15, -2), [], None),
    "a9a": ("a9a", 0, 0, (-5, 15, 2), (3, -15, -2), [], None),
    "letter": ("letter", 15000, 0, (-5, 15, 2), (3, -15, -2), [], "-l -1"),
    "cadata": ("cadata", 0, 3, (-5, 15, 2), (3, -15, -2), [0.02, 0.05, 0.1], "-l -1 -y -1 1"),
    "covtype-1000": ("covtype.binary", 1000, 0, (-5, 13, 2), (3, -15, -2), [], "-l 0"),
    "covtype-5000": ("covtype.binary", 5000, 0, (-5, 13, 2), (3, -15, -2), [], "-l 0"),
}
COLUMNS = """set rows points contestant threads wall_s cpu_s measured_points at_least rate_difference best
    outcome""".split()
# GridSearchCV over scikit-learn-intelex's SVC, with the data as LIBSVM text; prints the seconds
SEARCH = """import json, sys, time
from sklearnex import patch_sklearn
patch_sklearn(verbose=False)
from sklearn.datasets import load_svmlight_file
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC, SVR
job = json.loads(sys.argv[1])
x, y = load_svmlight_file(job["data"])
x = x.toarray()
machine = SVR if job["task"] == 3 else SVC
start, used = time.monotonic(), time.process_time()
search = GridSearchCV(machine(kernel="rbf", cache_size=4096), job["grid"], cv=5, refit=False).fit(x, y)
print(json.dumps({"wall_s": time.monotonic() - start, "cpu_s": time.process_time() - used,
                  "best": 100 * search.best_score_}))
"""


def exponents(begin, end, step):
    return [begin + k * step for k in range(int((end - begin) / step) + 1)]


class Meter:
    """Runs commands on the same processors, and counts their wall and processor time."""

    def __init__(self, options):
        self.options = options
        self.cpus = sorted(os.sched_getaffinity(0))[:options.threads]
        self.wrap = shlex.split(os.environ.get("HINGE_BENCH_WRAP", ""))

    def run(self, command, limit):
        """(standard output, wall seconds, processor seconds, why it failed or None)"""
        environment = dict(os.environ, OMP_NUM_THREADS=str(self.options.threads))
        before, start = os.times(), time.monotonic()
        child = subprocess.Popen(self.wrap + list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                 text=True, env=environment, start_new_session=True,
                                 preexec_fn=lambda: os.sched_setaffinity(0, self.cpus))
        try:
            out, said = child.communicate(timeout=limit or None)
        except BaseException as end:
            os.killpg(child.pid, signal.SIGKILL)
            child.communicate()
            if not isinstance(end, subprocess.TimeoutExpired):
                raise
            return "", limit, math.nan, f"> {limit:g} s"
        wall, after = time.monotonic() - start, os.times()
        used = after.children_user + after.children_system - before.children_user - before.children_system
        lines = said.strip().splitlines() or ["no message"]
        return out, wall, used, None if child.returncode == 0 else f"exit status {child.returncode}: {lines[-1]}"


class Grid:
    """One grid: its data as LIBSVM text, its points, and what each contestant took."""

    def __init__(self, name, options):
        self.name, self.options = name, options
        data, rows, self.task, log2c, log2g, self.p, scale = GRIDS[name]
        self.log2c, self.log2g = log2c, log2g
        self.hinge = options.bin.parent / "tools/hinge"
        self.file = options.out / "cache" / f"{name}.grid"
        self.file.parent.mkdir(parents=True, exist_ok=True)
        source = options.data / f"{data}.train.xz"
        if not source.exists():
            raise RuntimeError(f"there is no {source}")
        rows = min(filter(None, (rows, max(options.rows, 0))), default=0)
        steps = [[self.hinge, "sample", "-s", "1", source, str(rows), f"{self.file}.all"]] if rows else []
        if scale:
            whole = steps[-1][-1] if rows else source
            steps.append([self.hinge, "scale", *scale.split(), "--output", self.file, whole])
        for step in steps:
            subprocess.run(list(map(str, step)), check=True, stderr=subprocess.DEVNULL)
        if not scale:
            with open(self.file, "wb") as file:
                command = ["cat", f"{self.file}.all"] if rows else ["xz", "-dc", source]
                subprocess.run(command, check=True, stdout=file)
        with open(self.file, "rb") as lines:
            self.rows = sum(1 for _ in lines)
        self.points = [(2.0 ** c, 2.0 ** g, p) for p in self.p or [None] for c in exponents(*log2c)
                       for g in exponents(*log2g)]

    def by_hinge(self, meter, drop):
        command = [self.hinge, "grid", "--json", "--out", "null", "--drop", drop, "-s", self.task,
                   "--threads", meter.options.threads, "--log2c=" + ",".join(map(str, self.log2c)),
                   "--log2g=" + ",".join(map(str, self.log2g))]
        if self.p:
            command += ["--list", "p=" + ",".join(map(str, self.p))]
        out, wall, used, trouble = meter.run(command + [self.file], meter.options.limit)
        found = {"contestant": f"hinge grid, drop {drop}", "threads": meter.options.threads, "wall_s": wall,
                 "cpu_s": used, "measured_points": len(self.points), "at_least": int(bool(trouble)),
                 "outcome": trouble or "done"}
        rates = {}
        if not trouble:
            report = json.loads(out)
            scale = -1 if self.task == 3 else 100
            found["best"] = scale * report["best_score"]
            for values, score in zip(report["cv_results"]["params"], report["cv_results"]["pooled_test_score"]):
                if score is not None:
                    rates[values["C"], values["gamma"], values.get("epsilon")] = scale * score
        return found, rates

    def by_libsvm(self, meter, wanted, rates):
        """svm-train at wanted points, evenly spread; the time of all follows from theirs."""
        wanted = min(wanted, len(self.points)) or len(self.points)
        start = random.Random(1).random()
        wall, used, off, over, trouble = 0.0, 0.0, 0.0, 0, None
        for k in range(wanted):
            point = c, g, p = self.points[int((k + start) * len(self.points) / wanted)]
            command = ["svm-train", "-q", "-v", 5, "-s", self.task, "-c", c, "-g", g] + (["-p", p] if p else [])
            out, one, own, trouble = meter.run(command + [self.file], meter.options.limit)
            wall, over = wall + one, over + bool(trouble)
            used += one if math.isnan(own) else own
            if trouble and not trouble.startswith(">"):
                return {"contestant": "svm-train -v 5", "threads": 1, "outcome": trouble}
            if not trouble and point in rates:
                said = re.search(r"(?:Accuracy|Mean squared error) = ([-+.0-9e]+)", out)
                off = max(off, abs(float(said[1]) - rates[point]))
        factor = len(self.points) / wanted
        return {"contestant": "svm-train -v 5", "threads": 1, "wall_s": wall * factor, "cpu_s": used * factor,
                "measured_points": wanted, "at_least": over, "rate_difference": off, "outcome": "done"}

    def by_intelex(self, meter):
        """None where scikit-learn-intelex is not installed."""
        own = meter.options.venv / "bin/python"
        python = str(own) if own.exists() else sys.executable
        if subprocess.run([python, "-c", "import sklearnex"], capture_output=True, check=False).returncode != 0:
            return None
        grid = {"C": [2.0 ** c for c in exponents(*self.log2c)], "gamma": [2.0 ** g for g in exponents(*self.log2g)]}
        if self.p:
            grid["epsilon"] = self.p
        job = json.dumps({"data": str(self.file), "task": self.task, "grid": grid})
        out, wall, _, trouble = meter.run([python, "-c", SEARCH, job], meter.options.limit)
        found = {"contestant": "GridSearchCV, intelex", "threads": meter.options.threads, "wall_s": wall,
                 "measured_points": len(self.points), "at_least": int(bool(trouble)), "outcome": trouble or "done"}
        return found if trouble else dict(found, **json.loads(out))


def table(results):
    """A line a contestant of a set: seconds, and how many times as long as hinge's first line."""
    lines = ["| set | contestant | threads | wall, s | processor, s | / hinge | rates differ by | best |",
             "|---|---|--:|--:|--:|--:|--:|--:|"]
    for name, found in results.items():
        base = found[0].get("wall_s") if found[0]["outcome"] == "done" else None
        for k, run in enumerate(found):
            wall, more = run.get("wall_s"), "at least " if run.get("at_least") else ""
            note = "" if run["outcome"] == "done" else f" ({run['outcome']})"
            if run.get("measured_points", run["points"]) < run["points"]:
                note += f", extrapolated from {run['measured_points']} of {run['points']} points"
            cells = [f"{name}, {run['rows']} rows, {run['points']} points x 5 folds" if k == 0 else "",
                     run["contestant"] + note, str(run["threads"]), f"{more}{wall:.4g}" if wall else "",
                     f"{run['cpu_s']:.4g}" if run.get("cpu_s", math.nan) >= 0 else "",
                     f"{more}{wall / base:.3g}" if wall and base else "",
                     f"{run['rate_difference']:.2g}" if run.get("rate_difference") is not None else "",
                     f"{run['best']:.6g}" if run.get("best") is not None else ""]
            lines.append("| " + " | ".join(cells) + " |")
    return lines + ["", "svm-train runs on one processor; grid.py with two workers takes half of its wall time on two. "
                    "Folds are each program's own, so rates differ by their noise."]


def main(options):
    """Runs the grids and writes grid.csv, grid.md and grid.svg; the exit status."""
    meter, results, failed = Meter(options), {}, []
    with open(options.out / "grid.csv", "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, extrasaction="ignore")
        writer.writeheader()
        for name in options.sets.split(",") if options.sets else GRIDS:
            try:
                grid = Grid(name, options)
            except (KeyError, RuntimeError, subprocess.CalledProcessError) as error:
                failed.append(f"{name}: {'no such grid' if isinstance(error, KeyError) else error}")
                continue
            rates = {}

            def note(run):
                if run:
                    run.update(set=name, rows=grid.rows, points=len(grid.points))
                    results.setdefault(name, []).append(run)
                    writer.writerow(run)
                    file.flush()
                    print(f"{name}: {run['contestant']}: {run.get('wall_s', math.nan):.4g} s, {run['outcome']}",
                          flush=True)

            for drop in ("exact", "race", "none"):
                run, rates = grid.by_hinge(meter, drop)  # the last of them has all rates
                note(run)
            note(grid.by_libsvm(meter, options.grid, rates) if shutil.which("svm-train") else None)
            note(grid.by_intelex(meter))
    text = "\n".join(table(results))
    print("\n" + text)
    (options.out / "grid.md").write_text(text + "\n", encoding="utf-8")
    try:
        subprocess.run(["gnuplot"], input=draw_grids(results, options), text=True, check=True, cwd=options.out)
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"no chart: {error}")
    for line in failed:
        print(f"compare: {line}", file=sys.stderr)
    return int(bool(failed) or any(run["outcome"] != "done" for found in results.values() for run in found[:1]))
