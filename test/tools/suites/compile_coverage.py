"""Fails when a test of TensorFlow's tf.function or of MLX's compile has neither a test case here nor a reason why it cannot
apply, when it has both, when the test case does not exist, or when a section does not have the stated number of tests.

Usage: compile_coverage.py ROOT. The list is test/compile/suites.txt; `test = text` names the one test case whose name holds
the text.
"""
import pathlib
import re
import sys

CASE = re.compile(r'TEST_CASE\(\s*((?:"(?:[^"\\]|\\.)*"\s*)+)')
SECTION = re.compile(r"\[(\S+): (\d+)\]$")

root = pathlib.Path(sys.argv[1])
names = ["".join(re.findall(r'"([^"]*)"', case)) for file in sorted((root / "test").rglob("*.cpp"))
         for case in CASE.findall(file.read_text())]
bad, seen, sections = [], set(), {}
ported = without = 0
for line in (root / "test/compile/suites.txt").read_text().splitlines():
    if not line or line[0] == "#":
        continue
    if section := SECTION.match(line):
        here = section[1]
        sections[here] = [int(section[2]), 0]
        continue
    name, sign, rest = (part.strip() for part in re.match(r"([^=|]*)([=|]?)(.*)", line).groups())
    sections[here][1] += 1
    if (here, name) in seen:
        bad.append(f"{here}: {name}: twice")
    seen.add((here, name))
    if not rest:
        bad.append(f"{name}: no test case and no reason")
    elif sign == "=":
        ported += 1
        count = sum(rest in case for case in names)
        if "|" in rest:
            bad.append(f"{name}: a test case and a reason why there is none")
        elif count != 1:
            bad.append(f'{name}: {count} test cases are named "{rest}"')
    else:
        without += 1
for here, (stated, found) in sections.items():
    if stated != found:
        bad.append(f"{here}: {found} tests instead of {stated}")
print("\n".join(bad) or f"{ported} tests ported, {without} do not apply")
sys.exit(bool(bad) or not ported)
