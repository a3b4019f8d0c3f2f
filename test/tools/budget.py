"""Fails when a case of test/budget/cases.cpp costs over 2 % more than test/budget/budget.txt allows, or when the
instructions of a hundred calls of a compiled function differ by more than 2 %.

Usage: budget.py [--update] [PROGRAM]; PROGRAM is build/test/tools/budget_cases unless given. Instructions are counted by
callgrind, on the kernels that every x86-64 machine has, so that they depend on the compiler alone. With --update the
table is written anew from what is measured. Skipped (exit status 77) where that cannot be told: without valgrind, on
another processor, in another build than the table's.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SLACK = 0.02
GROWTH = 1.05  # of what an op of a chain costs to trace, if the chain is eight times as long: logarithms
ROOT = pathlib.Path(__file__).resolve().parents[2]
TABLE = ROOT / "test/budget/budget.txt"
COUNTED = ROOT / "test/budget/cases.cpp"
HEAD = """\
# What small programs may cost, checked by test/tools/budget.py; 2 % more fails. After a change that is worth its
# cost, or that saves some: python3 test/tools/budget.py --update
# build: {build}
#
# {what:<26} {budget:>10}  unit
"""


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(77)


def counted(program, out, *arguments):
    """Runs the program under callgrind, which writes the counts of each call of measured(); what the program prints."""
    pinned = {"REEL_ISA": "sse2", "REEL_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "OPENBLAS_CORETYPE": "Prescott",
              "MALLOC_PERTURB_": "0",  # Meson sets it to have malloc overwrite memory
              "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-AVX2_Usable,-AVX512F,-AVX512VL,-ERMS,-FSRM"}
    run = subprocess.run(
        ["valgrind", "--tool=callgrind", "--collect-atstart=no", "--toggle-collect=measured", "--dump-after=measured",
         f"--callgrind-out-file={out}", program, *arguments],
        env={**os.environ, **pinned}, capture_output=True, text=True)
    if run.returncode:
        print(run.stdout, run.stderr, sep="\n")
        sys.exit("the program failed under valgrind")
    return run.stdout.splitlines()


def total(out, part):
    """The instructions of the call of that number, from 1."""
    return int(re.search(r"^(?:summary|totals): (\d+)", pathlib.Path(f"{out}.{part}").read_text(), re.MULTILINE)[1])


def unequal_calls(program):
    """The compiled functions whose calls differ."""
    unequal, part = [], 0
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder, "counts")
        for _, name, times in (line.split() for line in counted(program, out, "--calls")):
            calls = [total(out, part + i + 1) for i in range(int(times))]
            part += len(calls)
            print(f"{name:<26} {min(calls)} to {max(calls)} instructions in {len(calls)} calls")
            if max(calls) > min(calls) * (1 + SLACK):
                unequal.append(f"{name}: calls of {min(calls)} to {max(calls)} instructions")
    return unequal if part else ["no compiled function was called"]


def measure(program):
    """(build, {(case, unit): cost})."""
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder, "counts")
        output = counted(program, out)
        lines = [line.split(maxsplit=1) for line in output]
        said = dict(lines)
        if said["isa"] != "sse2":
            skip(f"there are no sse2 kernels on this machine, only {said['isa']}")
        costs, part = {}, 0
        for kind, rest in lines:
            if kind == "bytes":
                name, size = rest.split()
                costs[name, "bytes"] = float(size)
            if kind != "case":
                continue
            name, units, allocations = rest.split()
            few, many = (total(out, part + i) for i in (1, 2))
            part += 2
            costs[name, "instructions"] = (many - few) / int(units)
            costs[name, "allocations"] = float(allocations)
        return said["build"], costs


def read():
    """The same from the table."""
    text = TABLE.read_text()
    rows = (line.split() for line in text.splitlines() if line and not line.startswith("#"))
    return re.search(r"^# build: (.*)$", text, re.MULTILINE)[1], {(name, unit): float(cost) for name, cost, unit in rows}


arguments = sys.argv[1:]
update = "--update" in arguments
programs = [a for a in arguments if a != "--update"]
program = pathlib.Path(programs[0]) if programs else ROOT / "build/test/tools/budget_cases"
if not shutil.which("valgrind"):
    skip("there is no valgrind on this machine; subprojects/setup test installs it")
if not program.exists():
    sys.exit(f"budget.py: there is no {program}; build it first: ninja -C build test/tools/budget_cases")
if not update:
    ours = subprocess.run([program, "--build"], capture_output=True, text=True, check=True).stdout.strip()
    budgeted, budgets = read()
    if ours != budgeted:
        skip(f"the budgets are for {budgeted}, this build is {ours}")
build, costs = measure(program)
if update:
    rows = [f"{name:<28} {cost:>10.{0 if cost >= 100 or cost == int(cost) else 1}f}  {unit}\n" for (name, unit), cost in costs.items()]
    TABLE.write_text(HEAD.format(build=build, what="case", budget="budget") + "".join(rows))
    print(f"{TABLE.relative_to(ROOT)}: {len(rows)} budgets")
    sys.exit()

over = []
for key in sorted(budgets.keys() | costs.keys()):
    name, unit = key
    if key not in budgets or key not in costs:
        over.append(f"{name} ({unit}) is {'not in the table' if key in costs else 'measured no more'}")
        continue
    cost, budget = costs[key], budgets[key]
    note = ""
    if cost > budget * (1 + SLACK) + 0.005:
        note = f"OVER by {100 * (cost / budget - 1):.0f} %" if budget else "OVER"
        over.append(f"{name}: measured {cost:.1f} {unit}, budget {budget:.1f}")
    elif cost < budget * (1 - SLACK) - 0.005:
        note = "the budget can be lowered"
    print(f"{name:<26} {cost:>10.1f} of {budget:>10.1f} {unit:<12} {note}")
few, many = (costs[f"tracing_{n}_ops", "instructions"] for n in ("few", "many"))
if many > few * GROWTH:
    over.append(f"tracing: an op costs {few:.0f} instructions in a short chain and {many:.0f} in a long one")
unequal = unequal_calls(program)
if unequal:
    print("\ncalls differ by more than 2 %:", *unequal, sep="\n  ")
if over:
    print("\nover budget:", *over, sep="\n  ")
    print("make it cheaper, or, if the cost is worth it, write the table anew: python3 test/tools/budget.py --update")
sys.exit(bool(over or unequal))
