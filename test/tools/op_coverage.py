"""Fails when an exported op has no row in the table of op cases.

Usage: op_coverage.py NM ROOT LIBRARY. An op is a function that a header in include/reel/ops declares with `Tensor name(`
and the shared library exports from namespace reel; its row is any line of test/op_cases* with the name as a string.
"""
import pathlib
import re
import subprocess
import sys

# Functions in those headers that have no derivative to test: they make tensors or hand them on as they are.
EXEMPT = set()

nm, root, library = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3]
symbols = subprocess.run([nm, "-DC", "--defined-only", library], capture_output=True, text=True, check=True).stdout
exported = set(re.findall(r" T reel::([a-z]\w*)(?:\[abi:\w+\])?\(", symbols))
declared = {}
for header in sorted((root / "include/reel/ops").glob("*.hpp")):
    for name in re.findall(r"^\s*(?:\[\[.*?\]\]\s*)*Tensor ([a-z]\w*)\(", header.read_text(), re.MULTILINE):
        declared.setdefault(name, header.name)
rows = set()
for path in (root / "test").glob("op_cases*"):
    for file in [path] if path.is_file() else path.rglob("*.[ch]pp"):
        rows |= set(re.findall(r'"([a-z]\w*)"', file.read_text()))

ops = {name for name in declared if name in exported} - EXEMPT
bad = [f"{declared[name]}: {name} has no row" for name in sorted(ops - rows)]
print("\n".join(bad) or f"{len(ops)} ops, each with its row")
sys.exit(bool(bad) or not ops)
