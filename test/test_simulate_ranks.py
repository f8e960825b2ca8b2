#!/usr/bin/env python3
"""test_simulate_ranks.py SOURCE: benchmarks/simulate_ranks.py against rounds whose times can be added up by hand."""
import importlib.util
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


if __name__ == "__main__":
    unittest.main()
