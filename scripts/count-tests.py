#!/usr/bin/env python3
"""count-tests.py TESTLOG.json STATUS: counts what `meson test` ran, test function by test function where a
program is made with cmocka. Prints why tests were skipped, and "N passed, N failed" (", N skipped") as the last line. Exit status 1
where something failed, nothing ran, or Meson itself ended with a STATUS other than 0.
"""
import collections
import json
import os
import sys


def count(test):
    """(passed, failed, [reason of each that was skipped]) of one entry of Meson's log. A function that was begun and
    neither passed nor was skipped has failed, which holds for a crash too. What was skipped said why before."""
    passed, skipped, reason = 0, [], "no reason given"
    begun = False
    functions = 0
    for line in (test.get("stdout") or "").splitlines():
        if line.startswith("[ RUN      ]"):
            begun = True
            functions += 1
            reason = "no reason given"
        elif begun and line.startswith("[       OK ]"):
            begun = False
            passed += 1
        elif begun and line.startswith("[  SKIPPED ]"):  # again in the summary at the end
            begun = False
            skipped.append(reason)
        elif line.strip():
            reason = line.strip()
    good = test["result"] in ("OK", "EXPECTEDFAIL")
    if functions == 0:
        return (0, 0, [reason]) if test["result"] == "SKIP" else (int(good), int(not good), [])
    failed = functions - passed - len(skipped)
    return passed, failed if good else max(failed, 1), skipped


def main():
    log, status = sys.argv[1], int(sys.argv[2])
    tests = []
    if os.path.exists(log):
        with open(log, encoding="utf-8") as lines:
            tests = [json.loads(line) for line in lines]
    counts = [count(test) for test in tests]
    passed, failed = (sum(column) for column in zip((0, 0), *(c[:2] for c in counts)))
    skipped = collections.Counter(reason for c in counts for reason in c[2])
    if status != 0 and failed == 0:
        print(f"meson test ended with status {status}")
        failed = 1
    if passed + failed == 0:
        print("no test ran")
    for reason, times in skipped.most_common():
        print(f"skipped {times}: {reason.removeprefix('skipped: ')}")
    print(f"{passed} passed, {failed} failed" + (f", {sum(skipped.values())} skipped" if skipped else ""))
    return 1 if failed or passed == 0 else 0


sys.exit(main())
