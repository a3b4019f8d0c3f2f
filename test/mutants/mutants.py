"""Mutants of derivative code, all in one build, chosen at run time by REEL_MUTANT=n.

Usage: mutants.py ROOT list [FILE]          every mutant of the tree, or of files whose name contains FILE
       mutants.py ROOT check                what the suite asks of this script and of equivalent.txt
       mutants.py ROOT build FOLDER         mutated sources and the test program with them
       mutants.py ROOT run FOLDER [options] runs the tests against them; --help says more

What is mutated: the derivatives of the pointwise table; in lib/ops the functions that take a tape's record, what they
call in their file, and what an op gives to the tape; lib/gradient and lib/tape where they replay, follow and keep;
equations; control flow, traces, programs, their passes and runs, and compile.
equivalent.txt lists mutants that no test can tell from the original, each with the reason.
"""
import argparse
import collections
import pathlib
import random
import re
import sys

import sites

# Derivatives; derivatives; what derivatives share with values; what replays, follows and keeps. In the order of a run.
RULES, TABLE, SHARED, ENGINE = PARTS = "rules", "table", "shared", "engine"
ENGINE_FILES = ["lib/gradient/reverse/*.cpp", "lib/gradient/forward/*.cpp", "lib/gradient/functions/*.cpp",
                "lib/gradient/control/*.cpp", "lib/gradient/programs/*.cpp", "lib/gradient/gradient_tape.cpp",
                "lib/program/*.cpp", "lib/program/passes/*.cpp", "lib/program/run/*.cpp", "lib/compile/*.cpp", "lib/ops/elementwise/derive.cpp", "lib/tape/recording.cpp",
                "lib/tape/forward.cpp", "lib/tape/sweep.cpp", "lib/solve/*.cpp", "lib/ode/*.cpp",
                "lib/linalg/linear_solve.cpp", "lib/linalg/symmetric_function.cpp"]
RULE_FOLDERS = ("lib/ops/", "lib/linalg/", "lib/special/", "lib/fft/", "lib/interpolate/", "lib/image/", "lib/geometry/", "lib/nn/", "lib/stats/")
UNRECORDED = re.compile(r"^namespace reel::(kernels|loops)\b", re.MULTILINE)  # below all rules
EQUIVALENT = "test/mutants/equivalent.txt"
LEAST = {TABLE: 350, RULES: 2000, SHARED: 400, ENGINE: 2000}  # about two thirds of what there was when this was written


def part_of(file):
    """What a file of the library is to this script, or None."""
    path = pathlib.PurePath(file)
    if any(path.match(p) for p in ENGINE_FILES):
        return ENGINE
    if file.startswith("lib/kernels/") and path.suffix == ".hpp" and 'op<"' in (pathlib.Path(root_of[0]) / file).read_text():
        return TABLE
    if not file.startswith(RULE_FOLDERS) or file == "lib/linalg/krylov.cpp":
        return None
    return None if UNRECORDED.search((pathlib.Path(root_of[0]) / file).read_text()) else RULES


root_of = [pathlib.Path(".")]


def table_regions(code):
    """The lambdas inside d<...>(...), and the lambdas that they share."""
    t = code.tokens
    for i in range(len(t) - 2):
        if t[i].text == "op" and t[i + 1].text == "<":
            name = t[i + 2].text.strip('"')
        if t[i].text == "d" and t[i + 1].text == "<" and i + 1 in code.match:
            opener = code.match[i + 1] + 1
            if t[opener].text == "(":
                body = next((j for j in range(opener, code.match[opener]) if t[j].text == "{"), None)
                if body:
                    yield TABLE, name, body + 1, code.match[body]
        if t[i].text == "auto" and t[i + 2].text == "=" and t[i + 3].text == "[":
            body = next(j for j in range(i, len(t)) if t[j].text == "{")
            yield TABLE, t[i + 1].text, body + 1, code.match[body]


def rule_regions(code):
    """Functions that take a record, functions of the same file that these call, and what is given to the tape."""
    t = code.tokens
    by_name = collections.defaultdict(list)
    for f in code.functions:
        by_name[f.name].append(f)
    calls = lambda f: {t[i].text for i in range(*f.body) if t[i].kind == "name" and t[i].text in by_name}
    takes_record = lambda f: any(t[i].text == "Record" for i in range(*f.header))
    records = lambda f: any(t[i].text == "record" and t[i + 1].text == "(" for i in range(*f.body))
    public = lambda f: any(t[i].text in ("Operand", "OpScope") for i in range(f.header[0], f.body[1]))
    reached = [f for f in code.functions if takes_record(f)]
    at = 0
    while at < len(reached):
        for name in sorted(calls(reached[at])):
            reached += [f for f in by_name[name] if f not in reached and not records(f) and not public(f)]
        at += 1
    of_values = {name for f in code.functions if f not in reached for name in calls(f)}
    for f in code.functions:
        if f in reached:
            yield SHARED if f.name in of_values and not takes_record(f) else RULES, f.name, *f.body
            continue
        for i in range(*f.body):  # the block around a call of record(), or the statement
            if t[i].text == "record" and t[i + 1].text == "(" and t[i - 1].text != ".":
                block = code.parent[i]
                while block is not None and t[block].text != "{":
                    block = code.parent[block]
                if block is not None and block + 1 > f.body[0]:
                    yield RULES, f.name, block + 1, code.match[block]
                else:
                    first = i
                    while t[first - 1].text not in (";", "{", "}"):
                        first -= 1
                    yield RULES, f.name, first, code.match[i + 1] + 2


def of_code(code, part):
    regions = table_regions(code) if part == TABLE else rule_regions(code) if part == RULES else \
        [(ENGINE, f.name, *f.body) for f in code.functions]
    found, last_end = [], 0
    for kind, name, first, last in sorted(set(regions), key=lambda r: (r[2], -r[3])):
        if first >= last_end:
            more = sites.Operators(code, name, first, last).apply()
            for m in more:
                m.part = kind
            found += more
            last_end = last
    return sites.nested(found)


def all_mutants(root):
    root_of[0] = root
    found = []
    for path in sorted((root / "lib").rglob("*.?pp")):
        file = str(path.relative_to(root))
        if part_of(file):
            found += of_code(sites.Code(file, path.read_text()), part_of(file))
    return found


def equivalents(root):
    """Reasons by key. A line with text in its first column is a mutant; the indented lines after it are the reason."""
    reasons, key = {}, None
    for line in (root / EQUIVALENT).read_text().splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        if line[0].isspace():
            reasons[key] = (reasons[key] + " " + line.strip()).strip()
        else:
            key = line.strip()
            reasons[key] = ""
    return reasons


# ---- the short form: the script itself

SNIPPET = """
void rule_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  const int axis = r.batch_rank() + 1;
  if (r.wanted(0)) dx[0] = -g[0] * swapped(r.saved(1));
  for (int i = 0; i < 3; ++i)
    if (i == 2 && axis > 0) dx[1] = axis ? shift(g[0], axis, true) : subtract(a / b, c);
}
"""
EXPECTED = {"r.batch_rank() + 1 -> r.batch_rank() - 1": "sign", "r.batch_rank() + 1 -> 1": "term", "r.batch_rank() -> 0": "batch",
            "r.wanted(0) -> !r.wanted(0)": "wanted", "dx[0] = -g[0] * swapped(r.saved(1)); -> nothing": "statement",
            "-g[0] * swapped(r.saved(1)) -> swapped(r.saved(1))": "factor", "-g[0] -> g[0]": "sign",
            "swapped(r.saved(1)) -> r.saved(1)": "call", "i < 3 -> i <= 3": "comparison", "2 -> 3": "constant",
            "i == 2 && axis > 0 -> bool(i == 2)": "logic", "true -> false": "logic", "a / b -> b / (a)": "swap",
            "subtract(a / b, c) -> subtract(c, a / b)": "swap", "axis -> (axis != 0 ? axis - 1 : axis + 1)": "axis",
            "axis ? shift(g[0], axis, true) : subtract(a / b, c) -> "
            "(axis) ? (subtract(a / b, c)) : (shift(g[0], axis, true))": "choice"}
RENDERED = """void f() {
  { if (!reel_mutants::on(1)) x = (reel_mutants::on(2) ? (a - b) : reel_mutants::on(3) ? (a) : reel_mutants::on(4) ? (b) : (a + b)); }
}"""


def self_test():
    """What is wrong with the script on a small piece of code."""
    found = {m.change: m.operator for m in of_code(sites.Code("lib/ops/snippet.cpp", SNIPPET), RULES)}
    wrong = [f"the self-test has no mutant {change!r} ({operator})" for change, operator in EXPECTED.items()
             if found.get(change) != operator]
    text = "void f() {\n  x = a + b;\n}"
    code = sites.Code("f.cpp", text)
    mutants = sites.nested(sites.Operators(code, "f", *code.functions[0].body).apply())
    rendered = sites.rendered(text, mutants, lambda m: mutants.index(m) + 1)
    return wrong + ([] if rendered == RENDERED else [f"the self-test renders {rendered}"])


def check(root, mutants):
    wrong = self_test()
    parts, operators = (collections.Counter(map(f, mutants)) for f in (lambda m: m.part, lambda m: m.operator))
    wrong += [f"{parts[p]} mutants of {p}, at least {n} are expected" for p, n in LEAST.items() if parts[p] < n]
    wrong += [f"no site for {o!r}" for o in sites.OPERATORS if not operators[o]]
    keys = {m.key for m in mutants}
    if len(keys) < len(mutants):
        wrong.append("two mutants read the same")
    for key, reason in equivalents(root).items():
        if key not in keys:
            wrong.append(f"{EQUIVALENT}: no such mutant any more: {key}")
        if len(reason) < 20:
            wrong.append(f"{EQUIVALENT}: without a reason: {key}")
    print("\n".join(wrong) or f"{len(mutants)} mutants, {len(equivalents(root))} of them equivalent for a reason")
    return bool(wrong)


# ---- the long form

KILLED = ("killed", "timeout")


def report(root, build, mutants, results):
    """Counts by operator, survivors with file and line; whether the criterion holds for what has run."""
    reasons = equivalents(root)
    counts = collections.defaultdict(collections.Counter)
    left = collections.defaultdict(list)
    for m in mutants:
        if m.key in build.dropped:
            status = "not compiled"
        else:
            status = results.get(m.key, {}).get("status", "not run")
        if status in ("survived", "not reached"):
            if m.key in reasons:
                status = "equivalent"
            else:
                left[m.part].append(m)
        elif status in KILLED and m.key in reasons:
            print(f"listed as equivalent, but killed by {results[m.key]['by']}: {m.key}")
        counts[m.part][status] += 1
        counts[f"  {m.operator}"][status] += 1
    columns = ["killed", "timeout", "survived", "not reached", "undecided", "equivalent", "not compiled", "not run"]
    print(f"{'':14}" + "".join(f"{c:>14}" for c in columns))
    for name in [*PARTS] + [f"  {o}" for o in sites.OPERATORS]:
        print(f"{name:14}" + "".join(f"{counts[name][c]:>14}" for c in columns))
    for part in PARTS:
        for m in left[part]:
            print(f"{results[m.key]['status']}: {m.file}:{m.line}: {m.operator}: {m.key}")
    killed = sum(counts[part][status] for part in (SHARED, ENGINE) for status in KILLED)
    share = killed / max(1, killed + len(left[SHARED]) + len(left[ENGINE]))
    rules = len(left[TABLE]) + len(left[RULES])
    print(f"{rules} survivors in derivative rules that are not listed; {100 * share:.1f} % of the rest killed")
    return rules > 0 or share < 0.95


def run(options, mutants):
    from building import Build
    from runs import UNDECIDED, Runs
    folder = pathlib.Path(options.rest[0]).resolve()
    build = Build(options.root.resolve(), folder, mutants)
    runs = Runs(options.root.resolve(), folder, options.tests)
    by_key = {m.key: m for m in mutants}
    chosen = [n for n, key in runs.numbers.items() if key in by_key and options.only in key and
              (not options.part or by_key[key].part in options.part.split(","))]
    if options.again:
        again = ("survived", "not reached", UNDECIDED)
        chosen = [n for n in chosen if runs.results.get(runs.numbers[n], {}).get("status") in again]
    else:
        chosen = [n for n in chosen if runs.results.get(runs.numbers[n], {}).get("status") in (None, UNDECIDED)]
    if not options.report:
        for n in chosen if options.again else []:
            del runs.results[runs.numbers[n]]
        runs.trace()
        reasons = equivalents(options.root)
        chosen = [n for n in chosen if runs.numbers[n] not in reasons]
        if options.minutes:
            seed = options.seed if options.seed is not None else random.randrange(2**31)
            print(f"{options.minutes} minutes of a random sample, seed {seed}")
            chosen = runs.sample(chosen, seed)
        parts = options.part.split(",") if options.part else PARTS
        chosen.sort(key=lambda n: parts.index(by_key[runs.numbers[n]].part))
        runs.run(chosen, options.minutes)
    return report(options.root, build, [m for m in mutants if options.only in m.key], runs.results)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", type=pathlib.Path)
    parser.add_argument("command", choices=["list", "check", "build", "run"])
    parser.add_argument("rest", nargs="*")
    parser.add_argument("--base", type=pathlib.Path, help="build: folder with the objects of the rest; ROOT/build")
    parser.add_argument("--as-is", action="store_true", help="build: with the objects of tests that are there")
    parser.add_argument("--minutes", type=float, help="run: a random sample for so long; all mutants that have no result")
    parser.add_argument("--seed", type=int, help="run: of the sample")
    parser.add_argument("--part", help="table, rules, shared, engine, with commas between; all")
    parser.add_argument("--only", default="", help="run: mutants whose file or text contains this")
    parser.add_argument("--tests", default="", help="run: beside the op cases, test cases of these tags alone; all")
    parser.add_argument("--again", action="store_true", help="run: survivors alone")
    parser.add_argument("--report", action="store_true", help="run: nothing, report the results that are there")
    options = parser.parse_args()
    mutants = all_mutants(options.root)
    if options.command == "list":
        for m in mutants:
            if not options.rest or options.rest[0] in m.file:
                print(f"{m.line}: {m.operator}: {m.key}")
    elif options.command == "check":
        return check(options.root, mutants)
    elif options.command == "build":
        from building import Build
        left_out = {m.key for m in mutants if options.part and m.part not in options.part.split(",")}
        Build(options.root.resolve(), pathlib.Path(options.rest[0]).resolve(), mutants, left_out,
              (options.base or options.root / "build").resolve()).make(options.as_is)
    else:
        return run(options, mutants)
    return 0


if __name__ == "__main__":
    sys.exit(main())
