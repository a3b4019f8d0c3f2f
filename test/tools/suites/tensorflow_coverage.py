"""Fails when a test function of TensorFlow's suites has neither a test case here nor a reason why it cannot apply, when
it has both, or when a test case names one that is not in the list.

Usage: tensorflow_coverage.py ROOT. The list is test/tensorflow/suites.txt; a test case in that folder covers the
functions that its name contains, each as class.function.
"""
import pathlib
import re
import sys

CASE = re.compile(r'TEST_CASE\(\s*((?:"(?:[^"\\]|\\.)*"\s*)+)')
FUNCTION = re.compile(r"\b\w+Tests?\.test\w+")

folder = pathlib.Path(sys.argv[1]) / "test/tensorflow"
listed, reasons = set(), {}
for line in (folder / "suites.txt").read_text().splitlines():
    if line and line[0] not in "#[":
        name, bar, reason = (part.strip() for part in line.partition("|"))
        listed.add(name)
        if bar:
            reasons[name] = reason
covered = set()
for file in folder.glob("*.cpp"):
    for case in CASE.findall(file.read_text()):
        covered |= set(FUNCTION.findall("".join(re.findall(r'"([^"]*)"', case))))

bad = [f"{name}: no test case and no reason" for name in sorted(listed - covered - reasons.keys())]
bad += [f"{name}: a test case and a reason why there is none" for name in sorted(covered & reasons.keys())]
bad += [f"{name}: not in the list" for name in sorted(covered - listed)]
bad += [f"{name}: an empty reason" for name, reason in sorted(reasons.items()) if not reason]
print("\n".join(bad) or f"{len(covered)} test functions ported, {len(reasons)} do not apply")
sys.exit(bool(bad) or not listed)
