"""Writes test/golden/*.txt: what PyTorch, SciPy and mpmath compute, with derivatives, for the rows of test/golden/golden.cpp.

Usage: golden.py FOLDER, with PyTorch 1.13, SciPy 1.10 and mpmath 1.2 (Debian 12). The tests read the stored files alone.
"""
import importlib
import pathlib
import sys

import record

FAMILIES = sys.argv[2:] or ["elements", "linear_algebra", "networks", "functions", "grids", "distributions", "delicate", "beyond"]
folder = pathlib.Path(sys.argv[1])
for family in FAMILIES:
    record.lines.clear()
    record.names.clear()
    importlib.import_module(family).add()
    (folder / f"{family}.txt").write_text("\n".join(record.lines) + "\n")
