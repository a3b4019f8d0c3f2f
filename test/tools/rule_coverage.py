"""Fails when a rule of tape semantics has neither a test case nor a reason why it has none, or has both.

Usage: rule_coverage.py ROOT [--table]. The rules are S1 to S132 and the decisions C1 to C16, numbered as in the names of
the test cases ("S66-S68, C6: aggregation of ..."); --table prints for each the test cases that check it.
"""
import pathlib
import re
import sys

RULES = {"S": 132, "C": 16}
ATTRIBUTES = "an op is a function: its attributes are its arguments, with C++ types"
GRAPH = "of static graphs: there is none"
CHECK = "a structure check: "
WITHOUT_TEST = {
    "S1": ATTRIBUTES,
    "S2": ATTRIBUTES,
    "S4": ATTRIBUTES,
    "S8": "nothing registers itself: an op hands its rule to the tape, so no linker can strip it",
    "S10": CHECK + "layers.py",
    "S22": "an error of the original's lists; here a rule names what it reads, and that is what is kept (S12)",
    "S46": "C++ has no keyword arguments",
    "S58": "C++ has no keyword arguments",
    "S69": "other kinds of gradients than Gradient cannot be expressed",
    "S85": "there are no variant or resource dtypes",
    "S108": GRAPH,
    "S110": "there is one device",
    "S111": GRAPH,
    "S125": GRAPH,
    "S131": CHECK + "layers.py",
    "C8": "no arithmetic of complex tensors shows the convention yet",
    "S132": "a list of wishes, each of which is a rule of its own: S24, S20, S13, S54, S116, S99, S102",
}

CASE = re.compile(r'TEST_CASE\(\s*((?:"(?:[^"\\]|\\.)*"\s*)+)')
NUMBERS = re.compile(r"\b([SC])(\d+)(?:-[SC]?(\d+))?\b")

root = pathlib.Path(sys.argv[1])
tests = {}
for file in sorted((root / "test").rglob("*.cpp")):
    for case in CASE.findall(file.read_text()):
        name = "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', case))
        for letter, first, last in NUMBERS.findall(name):
            for n in range(int(first), int(last or first) + 1):
                tests.setdefault(f"{letter}{n}", []).append(f"{file.relative_to(root / 'test')}: {name}")

bad = []
rules = [f"{letter}{n}" for letter, count in RULES.items() for n in range(1, count + 1)]
for rule in rules:
    reason = WITHOUT_TEST.get(rule)
    if "--table" in sys.argv:
        print(rule, *tests.get(rule, [reason or "nothing"]), sep="\n    ")
    if not reason and rule not in tests:
        bad.append(f"{rule}: no test case names it, and there is no reason")
    if reason and rule in tests:
        bad.append(f"{rule}: a test case and a reason why there is none: {tests[rule][0]}")
    if reason and reason.startswith(CHECK) and not (root / "test/tools" / reason.removeprefix(CHECK)).exists():
        bad.append(f"{rule}: there is no {reason}")
bad += [f"{rule}: no such rule: {tests[rule][0]}" for rule in sorted(tests.keys() - set(rules))]
print("\n".join(bad) or f"{len(rules) - len(WITHOUT_TEST)} rules with tests, {len(WITHOUT_TEST)} without for a reason")
sys.exit(bool(bad))
