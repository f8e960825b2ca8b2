#!/usr/bin/env python3
"""count-tests.py TESTLOG.json STATUS: counts what `meson test` ran, test function by test function where a
program is made with cmocka, and prints "N passed, N failed" (", N skipped") as the last line. Exit status 1
where something failed, nothing ran, or Meson itself ended with a STATUS other than 0.
"""
import json
import os
import sys


def count(test):
    """(passed, failed, skipped) of one entry of Meson's log. A function that was begun and neither passed nor
    was skipped has failed, which holds for a crash too."""
    passed = skipped = 0
    begun = False
    functions = 0
    for line in (test.get("stdout") or "").splitlines():
        if line.startswith("[ RUN      ]"):
            begun = True
            functions += 1
        elif begun and line.startswith("[       OK ]"):
            begun = False
            passed += 1
        elif begun and line.startswith("[  SKIPPED ]"):  # again in the summary at the end
            begun = False
            skipped += 1
    good = test["result"] in ("OK", "EXPECTEDFAIL")
    if functions == 0:
        return (0, 0, 1) if test["result"] == "SKIP" else (int(good), int(not good), 0)
    failed = functions - passed - skipped
    return passed, failed if good else max(failed, 1), skipped


def main():
    log, status = sys.argv[1], int(sys.argv[2])
    tests = []
    if os.path.exists(log):
        with open(log, encoding="utf-8") as lines:
            tests = [json.loads(line) for line in lines]
    passed, failed, skipped = (sum(column) for column in zip((0, 0, 0), *map(count, tests)))
    if status != 0 and failed == 0:
        print(f"meson test ended with status {status}")
        failed = 1
    if passed + failed == 0:
        print("no test ran")
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return 1 if failed or passed == 0 else 0


sys.exit(main())
