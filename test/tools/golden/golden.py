"""Writes test/golden/*.txt and test/*/golden.txt: what PyTorch, SciPy and mpmath compute, with derivatives, for the rows of
test/golden/golden.cpp.

Usage: golden.py FOLDER [FAMILY...], where FOLDER is test or has folders of the same names, with PyTorch 1.13, SciPy 1.10 and
mpmath 1.2 (Debian 12). The tests read the stored files alone.
"""
import importlib
import pathlib
import sys

import record

FILES = {"elements": "golden/elements", "linear_algebra": "linalg/golden", "networks": "nn/golden", "functions": "special/golden",
         "grids": "interpolate/golden", "distributions": "stats/golden", "delicate": "golden/delicate", "beyond": "golden/beyond"}
folder = pathlib.Path(sys.argv[1])
for family in sys.argv[2:] or FILES:
    record.lines.clear()
    record.names.clear()
    importlib.import_module(family).add()
    (folder / f"{FILES[family]}.txt").write_text("\n".join(record.lines) + "\n")
