"""Sums Meson's logs of test runs up: test cases where a test is a Catch2 program, else tests. Fails when any failed.

Usage: totals.py [--also NAME=STATUS]... [--expect NAME]... TESTLOG.json...; a missing or empty log is a failure, and so is
an expected test that no log has: Meson leaves a test out silently where its dependency is missing. --also counts a check
that ran elsewhere by its exit status, 77 being a check that was skipped. The last line is "N passed, N failed, N skipped".
"""
import argparse
import json
import pathlib
import re
import sys

SKIPPED = 77  # the exit status by which a test says so


def catch_cases(text):
    """(passed, failed) of a Catch2 console report, or None."""
    if found := re.search(r"All tests passed \(.* in (\d+) test cases?\)", text):
        return int(found[1]), 0
    if found := re.search(r"test cases: +(\d+) \|(.*)", text):
        failed = re.search(r"(\d+) failed(?! as expected)", found[2])
        failed = int(failed[1]) if failed else 0
        return int(found[1]) - failed, failed
    return None


def count(test):
    """(passed, failed, skipped) of one line of the log."""
    if test["result"] == "SKIP" or test.get("returncode") == SKIPPED:
        return 0, 0, 1
    good = test["result"] in ("OK", "EXPECTEDFAIL")
    cases = catch_cases(test.get("stdout", ""))
    if cases is None:
        return int(good), int(not good), 0
    passed, failed = cases
    return passed, failed if good or failed else 1, 0  # a crash after the report is a failure too


parser = argparse.ArgumentParser()
parser.add_argument("--also", action="append", default=[])
parser.add_argument("--expect", action="append", default=[])
parser.add_argument("logs", nargs="+", type=pathlib.Path)
arguments = parser.parse_args()

results = []  # (name, (passed, failed, skipped))
for log in arguments.logs:
    tests = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    results += [(test["name"], count(test)) for test in tests] or [(f"no tests ran: {log}", (0, 1, 0))]
ran = {name.split(" / ")[-1] for name, _ in results}
results += [(f"{name}: not among the tests", (0, 1, 0)) for name in arguments.expect if name not in ran]
for check in arguments.also:
    name, status = check.rsplit("=", 1)
    results.append((name, (status == "0", status not in ("0", str(SKIPPED)), status == str(SKIPPED))))

for name, (_, failed, skipped) in results:
    if failed:
        print(f"FAILED: {name}")
    elif skipped:
        print(f"skipped: {name}")
totals = [sum(column) for column in zip(*(result for _, result in results))]
print("{} passed, {} failed, {} skipped".format(*totals))
sys.exit(totals[1] > 0)
