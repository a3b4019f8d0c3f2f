#!/usr/bin/env python3
"""Reductions read memory in ascending order: load_order.py OBJDUMP OBJECT...

Prefetchers follow ascending addresses. Where a compiler unrolls a block of a reduction whole and groups its loads by
accumulator, they come 512 bytes apart, again and again from the start: on some processors that takes four times as
long. In the machine code of the functions below no vector is loaded that lies more than two groups of accumulators
behind one that was loaded before it, off the same base register, without a branch between. x86-64 only.
"""
import re
import subprocess
import sys

ACCUMULATORS = 8
FUNCTIONS = re.compile(r"Pairwise<.*>::run<|FloatReduction.*(?:Sum|Prod|Max|Min).*::run\(|sum_of_products|"
                       r"NormFunctions<.*>::row_(?:sum|squares|products)\(")
SYMBOL = re.compile(r"^[0-9a-f]+ <(.*)>:$")
INSTRUCTION = re.compile(r"^\s+[0-9a-f]+:\s+(\S+)\s*(.*)$")
MEMORY = re.compile(r"(-?0x[0-9a-f]+)?\((%\w+)(?:,(%\w+),\d)?\)")
REGISTER = re.compile(r"%(?:r\w+|e\w\w)$")
BYTES = {"x": 16, "y": 32, "z": 64}


def parts(operands):
    """Operands, split at the commas outside parentheses."""
    return re.split(r",(?![^(]*\))", operands.split("#")[0].split("<")[0].strip())


def jumps_back(code):
    """The worst step back, in vectors, and the number of vector loads."""
    worst, loads, furthest = 0, 0, {}
    for name, operands in code:
        operands = parts(operands)
        vector = re.search(r"%([xyz])mm", operands[-1])
        memory = next((m for m in map(MEMORY.fullmatch, operands[:-1]) if m), None)
        packed = re.search(r"(ps|pd|dqu\d*|dqa\d*)$", name)
        if vector and memory and packed and "%rsp" not in memory[0] and "%rbp" not in memory[0]:
            at = int(memory[1] or "0", 16)
            key = memory[2], memory[3]
            loads += 1
            size = BYTES[vector[1]]
            worst = max(worst, (furthest.get(key, at) - at) / size)
            furthest[key] = max(furthest.get(key, at), at)
        if name.startswith("j") or name.startswith("call"):
            furthest = {}
        elif REGISTER.match(operands[-1]) and not name.startswith(("cmp", "test")):
            furthest = {k: v for k, v in furthest.items() if operands[-1] not in k}
    return worst, loads


def functions(objdump, path):
    name, code = None, []
    text = subprocess.run([objdump, "-d", "-C", "--no-show-raw-insn", path], capture_output=True, text=True, check=True)
    for line in text.stdout.splitlines() + ["0 <>:"]:
        if symbol := SYMBOL.match(line):
            if name and FUNCTIONS.search(name):
                yield name, code
            name, code = symbol[1], []
        elif instruction := INSTRUCTION.match(line):
            code.append((instruction[1], instruction[2]))


def main():
    objdump, *objects = sys.argv[1:]
    failures, checked = [], 0
    for path in objects:
        if "_scalar" in path:
            continue  # the loads of plain numbers
        found = 0
        for name, code in functions(objdump, path):
            worst, loads = jumps_back(code)
            found += loads >= ACCUMULATORS
            if worst > 2 * ACCUMULATORS:
                failures.append(f"{path}: {name}: a load {worst:.0f} vectors behind another")
        if found < 8:
            failures.append(f"{path}: {found} reductions with vector loads found; this test looks for their names")
        checked += found
    if failures:
        sys.exit("\n".join(failures))
    print(f"{checked} functions read in ascending order")


main()
