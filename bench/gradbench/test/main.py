"""Tests the GradBench tool over its protocol: main.py PROGRAM.

refused.py has inputs that are refused. Each other file here has cases(), which yields (module, function, input, expected
output). The expected outputs are of plain Python numbers, from formulas that share nothing with the program; all must
agree to a relative 1e-10.
"""
import importlib
import json
import math
import os
import pathlib
import shlex
import subprocess
import sys

sys.dont_write_bytecode = True
import refused  # noqa: E402

TOLERANCE = 1e-10
failures = []


def check(condition, what):
    if not condition:
        failures.append(what)


def serve(lines):
    """(answers, exit status, standard error) of a session."""
    text = "".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines)
    emulator = shlex.split(os.environ.get("REEL_TEST_EMULATOR", ""))  # of a cross build; Meson's own limit holds then
    done = subprocess.run([*emulator, sys.argv[1]], input=text, capture_output=True, encoding="utf-8", errors="replace",
                          timeout=None if emulator else 300)
    return [json.loads(line) for line in done.stdout.splitlines()], done.returncode, done.stderr


def flatten(value, path=""):
    """(path, number) for every number of nested lists and objects."""
    if isinstance(value, dict):
        for key in sorted(value):
            yield from flatten(value[key], f"{path}.{key}")
    elif isinstance(value, list):
        yield path + "#", len(value)
        for i, item in enumerate(value):
            yield from flatten(item, f"{path}[{i}]")
    else:
        yield path, value


def difference(expected, actual):
    """What differs first, or None. As by GradBench, numbers below 1 are compared with 1, but with its 1e-4 made 1e-10, and
    where all are below 1, with the largest."""
    a, b = list(flatten(expected)), list(flatten(actual))
    largest = min(1, max((abs(x) for path, x in a if x is not None and not path.endswith("#")), default=0)) or 1
    for (path, x), (other, y) in zip(a, b):
        if path != other:
            return f"{path} expected, {other} found"
        if x is None or y is None:
            if x is not y:
                return f"{path}: {x} expected, {y} found"
        elif not abs(x - y) <= TOLERANCE * max(largest, abs(x), abs(y)):
            return f"{path}: {x!r} expected, {y!r} found"
    return None if len(a) == len(b) else f"{len(a)} numbers expected, {len(b)} found"


def test_values():
    cases = []
    for file in sorted(pathlib.Path(__file__).parent.glob("*.py")):
        if file.name not in ("main.py", "refused.py"):
            cases += importlib.import_module(file.stem).cases()
    answers, status, errors = serve(
        {"id": i, "kind": "evaluate", "module": module, "function": function, "input": given}
        for i, (module, function, given, _) in enumerate(cases))
    check(status == 0 and len(answers) == len(cases), f"{len(answers)} of {len(cases)} answers, status {status}: {errors}")
    check(errors == "", f"good messages give no warning: {errors}")
    for (module, function, given, expected), answer in zip(cases, answers):
        what = f"{module}.{function}({str(json.dumps(given))[:200]})"
        if not answer["success"]:
            check(False, f"{what}: {answer['error']}")
        elif found := difference(expected, answer["output"]):
            check(False, f"{what}: {found}")
    return len(cases)


def evaluation(number, module, function, given):
    return {"id": number, "kind": "evaluate", "module": module, "function": function, "input": given}


def test_protocol():
    answers, status, _ = serve([
        {"id": 0, "kind": "start", "eval": "hello", "config": {"a": [1]}},
        {"id": 1, "kind": "define", "module": "hello"},
        evaluation(2, "hello", "double", 1.5),
        {"id": 3, "kind": "analysis", "of": 2, "valid": False, "error": "no"},
        {"id": 4, "kind": "define", "module": "nothing"},
        {"id": 5, "kind": "something else"},
        {"id": 6, "kind": "end"},
    ])
    timing = answers[2].pop("timings")
    check(len(timing) == 1 and timing[0]["name"] == "evaluate" and isinstance(timing[0]["nanoseconds"], int), "timings of one run")
    check(isinstance(answers[4].pop("error"), str), "an unknown module has an error")
    check(answers == [{"id": 0, "tool": "reel"}, {"id": 1, "success": True}, {"id": 2, "success": True, "output": 3.0},
                      {"id": 3}, {"id": 4, "success": False}, {"id": 5}] and status == 0, f"a session: {answers}")


def test_failures():
    bad = [("nothing", "primal", {}), ("lse", "nothing", {}), ("llsq", "primal", {"x": [1.0], "n": 10**15}),
           *((module, function, given) for module, function, given, _ in refused.cases())]
    answers, status, _ = serve([evaluation(i, *case) for i, case in enumerate(bad)] + [evaluation(99, "hello", "square", 3)])
    check(status == 0 and len(answers) == len(bad) + 1, f"the program survives bad input: {status}, {len(answers)} of {len(bad) + 1}")
    for case, answer in zip(bad, answers):
        check(answer["success"] is False and answer["error"] and "output" not in answer, f"{case}: {answer}")
    check(answers[-1]["output"] == 9, "a good message after bad ones")


def test_errors():
    """What is wrong is said in the words of the program: module, function, field, what was found and what is wanted."""
    cases = list(refused.cases())
    answers, _, _ = serve([evaluation(i, *case[:3]) for i, case in enumerate(cases)])
    for (module, function, given, error), answer in zip(cases, answers):
        wanted = f"{module}.{function}: {error}"
        check(answer.get("error") == wanted, f"{str(given)[:200]}: {wanted!r} expected, {answer} found")


def test_bad_messages():
    """What has an id is answered, and the next message as well."""
    good = evaluation(9, "hello", "square", 3)
    for line, error in (
            ({"id": 1}, "the message has no field 'kind'"), ({"id": 1, "kind": 2}, "'kind' is 2; it must be a string"),
            ({"id": 1, "kind": "evaluate"}, "the message has no field 'module'"),
            ({"id": 1, "kind": "evaluate", "module": "hello"}, "the message has no field 'function'"),
            ({"id": 1, "kind": "evaluate", "module": "hello", "function": "square"}, "hello.square: the message has no field 'input'"),
            ({"id": 1, "kind": "define"}, "the message has no field 'module'"),
            ({"id": 1, "kind": "define", "module": None}, "'module' is null; it must be a string"),
            ('{"id":1,"kind":"evaluate","module":"hello","function":"square","input":1e400}', "1e400 is too large for float64"),
            ('{"text":"1e400 \\"1e400","input":[2,-1e999,1e-400],"kind":"evaluate","id":1}', "-1e999 is too large for float64"),
            ('{"id":1,"input":[1' + "0" * 400 + "]}", "1" + "0" * 39 + " is too large for float64")):
        answers, status, errors = serve([line, good])
        check(answers[:1] == [{"id": 1, "success": False, "error": error}], f"{str(line)[:100]}: {answers[:1]}")
        check(status == 0 and not errors and answers[1:] and answers[1]["output"] == 9, f"{str(line)[:100]}: {status} {errors}")


def test_malformed():
    good = {"id": 0, "kind": "start"}
    for line in ["{", "[]", "3", "null", '{"kind": "start"}', '{"id": "x", "kind": "start"}', "\xff\xfe",
                 "[" * 100000, '{"id": 1, "kind": "start"} x', '{"id": 1e400, "kind": "start"}', '{"id": 1, "input": 1e400 x}']:
        answers, status, errors = serve([good, line, good])
        check(status == 1 and errors and answers == [{"id": 0, "tool": "reel"}], f"{line[:40]!r}: {status} {answers} {errors}")


def test_runs():
    def times(**runs):
        [answer], _, _ = serve([evaluation(0, "lse", "gradient", {"x": [1.0, 2.0, 3.0], **runs})])
        return [timing["nanoseconds"] for timing in answer["timings"]]

    check(len(times()) == 1, "one run by default")
    check(len(times(min_runs=0)) == 1, "at least one run")
    check(len(times(min_runs=7, min_seconds=0)) == 7, "min_runs")
    long = times(min_runs=1, min_seconds=0.05)
    check(sum(long) >= 5e7 > sum(long[:-1]), "min_seconds")


def test_long_lines():
    x = [math.sin(i) for i in range(200000)]
    [answer], _, _ = serve([evaluation(0, "lse", "gradient", {"x": x})])
    total = math.fsum(map(math.exp, x))
    check(difference([math.exp(t) / total for t in x], answer["output"]) is None, "a line of megabytes")
    check(len(answer["output"]) == len(x), "its length")


count = test_values()
for test in (test_protocol, test_failures, test_errors, test_bad_messages, test_malformed, test_runs, test_long_lines):
    test()
print(*failures, sep="\n")
print(f"{count} values compared, {len(failures)} failures")
sys.exit(bool(failures))
