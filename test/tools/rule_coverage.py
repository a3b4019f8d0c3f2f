"""Fails when a rule of test/rules.md has neither a test case nor a reason why it has none, or has both, and when a number is
cited that is no rule.

Usage: rule_coverage.py ROOT [--table]. A rule is an item "- **S66** ..." of test/rules.md; its reason follows "No test:". A test
case cites rules in its name ("S66-S68, C6: aggregation of ..."); --table prints for each rule the test cases that check it.
Comments of lib, include, test, samples and bench cite rules too.
"""
import pathlib
import re
import sys

RULE = re.compile(r"^- \*\*([SC]\d+)\*\* ((?:.*\n)(?:  .*\n)*)", re.MULTILINE)
REASON = re.compile(r"No test:\s+(.*)", re.DOTALL)
SCRIPT = re.compile(r"`([\w/]+\.py)`")
CASE = re.compile(r'TEST_CASE\(\s*((?:"(?:[^"\\]|\\.)*"\s*)+)')
COMMENT = re.compile(r"(?<!:)//.*|/\*.*?\*/")
NUMBERS = re.compile(r"\b(?!C99\b|C23\b)([SC])(\d+)(?:-[SC]?(\d+))?\b")  # C99 and C23 are editions of C


def cited(text):
    """The rules that a text cites, ranges resolved."""
    return [f"{letter}{n}" for letter, first, last in NUMBERS.findall(text) for n in range(int(first), int(last or first) + 1)]


root = pathlib.Path(sys.argv[1])
rules, bad = {}, []
page = (root / "test/rules.md").read_text()
for rule, text in RULE.findall(page):
    if rule in rules:
        bad.append(f"{rule}: stands twice in test/rules.md")
    reason = REASON.search(text)
    rules[rule] = reason and " ".join(reason[1].split())
bad += [f"test/rules.md: cites {rule}, which it does not have" for rule in cited(page) if rule not in rules]

tests = {}
for folder in ("lib", "include", "test", "samples", "bench"):
    for file in sorted((root / folder).rglob("*.[ch]pp")):
        text, name = file.read_text(), file.relative_to(root)
        for case in CASE.findall(text):
            title = "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', case))
            for rule in cited(title):
                tests.setdefault(rule, []).append(f"{file.relative_to(root / 'test')}: {title}")
        bad += [f"{name}: cites {rule}, which test/rules.md does not have"
                for comment in COMMENT.findall(text) for rule in cited(comment) if rule not in rules]

for rule, reason in rules.items():
    if "--table" in sys.argv:
        print(rule, *tests.get(rule, [reason or "nothing"]), sep="\n    ")
    if not reason and rule not in tests:
        bad.append(f"{rule}: no test case names it, and there is no reason")
    if reason and rule in tests:
        bad.append(f"{rule}: a test case and a reason why there is none: {tests[rule][0]}")
    bad += [f"{rule}: there is no {script}" for script in SCRIPT.findall(reason or "") if not (root / script).exists()]
bad += [f"{rule}: no such rule: {tests[rule][0]}" for rule in sorted(tests.keys() - rules.keys())]
without = sum(reason is not None for reason in rules.values())
print("\n".join(bad) or f"{len(rules) - without} rules with tests, {without} without for a reason")
sys.exit(bool(bad) or not rules)
