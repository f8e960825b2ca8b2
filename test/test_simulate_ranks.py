#!/usr/bin/env python3
"""test_simulate_ranks.py SOURCE: benchmarks/simulate_ranks.py against rounds whose times can be added up by hand."""
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import unittest

SCRIPT = os.path.join(sys.argv.pop(1), "benchmarks", "simulate_ranks.py")
spec = importlib.util.spec_from_file_location("simulate_ranks", SCRIPT)
simulate = importlib.util.module_from_spec(spec)
spec.loader.exec_module(simulate)
NAMES = ("problem n d value_bytes q ranks threads round fresh moved computed steps gathered select exchange block solve "
         "rows checks")


def line(**values):
    usual = {name: 0 for name in NAMES.split()}
    usual.update(n=8192, d=10, value_bytes=4, q=1000, ranks=1, threads=1, fresh=400)
    usual.update(values)
    return usual


class Simulation(unittest.TestCase):
    def test_seconds(self):
        r = line(rows=3, select=1, block=2, solve=5)
        self.assertAlmostEqual(simulate.seconds(r, 1, 8192, 1, 2048, 0, 1e30), 4 + 2 + 5)
        self.assertAlmostEqual(simulate.seconds(r, 4, 8192, 1, 2048, 0, 1e30), 1 + 2 + 5)  # one tile of four each
        self.assertAlmostEqual(simulate.seconds(r, 3, 8192, 1, 2048, 0, 1e30), 2 + 2 + 5)  # two tiles at most
        self.assertAlmostEqual(simulate.seconds(r, 1, 16384, 2, 2048, 0, 1e30), 4 + 1 + 5)
        two = line(rows=3, select=1, ranks=2, threads=4)  # a rank's share is half of the examples
        self.assertAlmostEqual(simulate.seconds(two, 1, 8192, 1, 2048, 0, 1e30), 4 * 2 * 4)

    def test_messages(self):
        record = 104 + 40
        self.assertEqual(simulate.told(line(), 1), (4352 + 8 * 600 + 8 + 400 * record, 2))
        self.assertEqual(simulate.told(line(), 4), (4352 + 8 * 600 + 4 * (8 + 169 * record), 2))  # 125 + 40 + 4
        self.assertEqual(simulate.told(line(), 100), (4352 + 8 * 600 + 100 * 8 + 400 * record, 3))
        got = simulate.told(line(), 4)[0]  # an allreduce of two times two steps, a gather of two
        self.assertAlmostEqual(simulate.seconds(line(), 4, 8192, 1, 2048, 1, 1e30), 6)
        self.assertAlmostEqual(simulate.seconds(line(), 4, 8192, 1, 2048, 0, got), 1)

    def test_table(self):
        rounds = [line(rows=1), line(solve=1)]
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            file.write(NAMES + "\n" + "".join(" ".join(str(r[n]) for n in NAMES.split()) + "\n" for r in rounds))
            file.flush()
            out = subprocess.run([sys.executable, SCRIPT, file.name, "--points", "8192e3", "--threads", "1"],
                                 check=True, capture_output=True, text=True).stdout
        # 1000 s that are dealt as 4000 tiles, 1 s that is not; most tiles of a rank: 1000, 250, 63, 16, 4. So
        # 1001 / (4 * 251), 1001 / (16 * 63.5), 1001 / (64 * 16.75), 1001 / (256 * 5), 1001 / (1024 * 2)
        self.assertIn("| 8,192,000 | InfiniBand | 100 % | 99 % | 93 % | 78 % | 49 % |", out)


def told(count, calls, sums, gathered):
    """What ranks tell of a part in which gathers bring so many bytes to each, its own included."""
    return {"calls": calls, "sums": sums, "bytes": (count - 1) * gathered + count * 4352 * sums}


def training(count, **values):
    run = {"n": 8192, "d": 10, "distinct": 8192, "rounds": 7}
    run.update({"seconds_" + k: 0 for k in "rows check select block newton subproblem".split()})
    run.update({"seconds_" + k: v for k, v in values.items()})
    none = told(count, 0, 0, 0)
    run["profile"] = {"seconds_other": 0,
                      "ranks": {"count": count, "busiest": 1 / count, "deal": none, "rounds": none, "rest": none}}
    return run


class Shared(unittest.TestCase):
    def test_tiles(self):
        self.assertEqual(simulate.tiles_of({"distinct": 8192}), 16)
        self.assertEqual(simulate.tiles_of({"distinct": 8191}), 32)
        self.assertEqual(simulate.tiles_of({"distinct": 100}), 2)
        self.assertAlmostEqual(simulate.busiest(16, 3), 6 / 16)
        self.assertAlmostEqual(simulate.busiest(16, 64), 1 / 16)

    def test_messages(self):
        two = training(2)
        two["profile"]["ranks"]["rounds"] = told(2, 30, 20, 160000)
        self.assertEqual(simulate.exchanged(two, "rounds", 2), (160000 + 2 * 87040, 80000 + 87040))
        self.assertEqual(simulate.exchanged(two, "rounds", 3), (320000 + 3 * 87040, 160000 * 11 / 16 + 87040))
        self.assertEqual(simulate.exchanged(two, "rounds", 64), (63 * 160000 + 64 * 87040, 160000 + 87040))
        self.assertEqual(simulate.exchanged(two, "rounds", 1), (0, 0))

    def test_seconds(self):
        one, two = training(1, rows=6, check=2, subproblem=3, block=1), training(2)
        self.assertAlmostEqual(simulate.shared_seconds(one, two, 1, 1, 0, 1e30), 12)
        self.assertAlmostEqual(simulate.shared_seconds(one, two, 4, 1, 0, 1e30), 6)
        self.assertAlmostEqual(simulate.shared_seconds(one, two, 1024, 2, 0, 1e30), 8 / 2 / 16 + 1 / 2 + 3)
        two["profile"]["ranks"]["rounds"] = told(2, 30, 20, 0)
        self.assertAlmostEqual(simulate.shared_seconds(one, two, 4, 1, 1, 1e30), 6 + 2 * 50)
        self.assertAlmostEqual(simulate.shared_seconds(one, two, 4, 1, 0, 4352), 6 + 20)

    def test_table(self):
        one, two = training(1, rows=8), training(2)
        two["profile"]["ranks"]["rounds"] = told(2, 30, 20, 160000)
        with tempfile.TemporaryDirectory() as folder:
            paths = [os.path.join(folder, name) for name in ("one.json", "two.json")]
            for path, run in zip(paths, (one, two)):
                with open(path, "w", encoding="utf-8") as file:
                    json.dump(run, file)
            out = subprocess.run([sys.executable, SCRIPT, *paths, "--threads", "1"], check=True, capture_output=True,
                                 text=True).stdout
        self.assertIn("| 2 | 30 | 0.334 | 0.334 | 50.00 % | 50.00 % |", out)
        # 50 steps of 3 us times log2 of ranks: 0.9 ms for 64, 1.5 ms for 1,024
        self.assertIn("| 100 GbE | 8 s | 4 s | 1 s | 0.501 s | 0.502 s |", out)


if __name__ == "__main__":
    unittest.main()
