"""Fails when the objects of two instruction sets define the same global or weak symbol: a linker may keep either.

Usage: no_shared_code.py NM OBJECT...; each object also has to export exactly its entry point, which has the object's name.
"""
import collections
import pathlib
import subprocess
import sys

owners = collections.defaultdict(list)
bad = []
for path in map(pathlib.Path, sys.argv[2:]):
    rows = subprocess.run([sys.argv[1], "--defined-only", "--extern-only", path], capture_output=True, text=True, check=True).stdout
    symbols = {row.split()[-1] for row in rows.splitlines()}
    for symbol in symbols:
        owners[symbol].append(path.name)
    if symbols != {path.stem}:
        bad.append(f"{path.name} has to export {path.stem} and nothing else, but exports {sorted(symbols) or 'nothing'}")
bad += [f"{symbol} is in {', '.join(paths)}" for symbol, paths in owners.items() if len(paths) > 1]
print("\n".join(sorted(bad)) or f"{len(owners)} entry points, nothing shared")
sys.exit(bool(bad) or not owners)
