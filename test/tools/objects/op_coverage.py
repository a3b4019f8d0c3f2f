"""Fails when an exported op has no row in the table of op cases.

Usage: op_coverage.py NM ROOT LIBRARY. An op is a function of tensors that HEADERS or a header of FOLDERS declares and the
shared library exports from namespace reel; its row begins with {"name" or add("name" in a file of PLACES. A row
REEL_ROWS(name, ...) stands for the functions of a distribution.
"""
import pathlib
import re
import subprocess
import sys

DECLARATION = re.compile(r"^\s*(?:\[\[.*?\]\]\s*)*(?:[\w:]+(?:<\w+>)?) ([a-z]\w*)\(([^;]*?(?:Operand|Tensor)[^;]*)\)", re.MULTILINE)
EXEMPT = {"full", "random_categorical", "random_choice", "random_shuffle",  # made of numbers, or drawn: not functions of a tensor
          "odeint_events"}  # several results and a list of functions: test/ode/events.cpp
FOLDERS = ["fft", "linalg", "nn", "ops", "solve", "stats"]
PLACES = ["test/op_cases/**/*.?pp", "test/*/rows.?pp", "test/*/rows/*.?pp", "test/*/references/*.?pp"]
HEADERS = ["geometry.hpp", "image.hpp", "interpolate.hpp", "ode.hpp", "special.hpp"]
nm, root, library = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3]
symbols = subprocess.run([nm, "-DC", "--defined-only", library], capture_output=True, text=True, check=True).stdout
exported = set(re.findall(r" T reel::([a-z]\w*)(?:\[abi:\w+\])?\(", symbols))
declared = {}
in_folders = [header for folder in FOLDERS for header in sorted((root / "include/reel" / folder).glob("*.hpp"))]
for header in [*in_folders, *(root / "include/reel" / name for name in HEADERS)]:
    for name, _ in DECLARATION.findall(header.read_text()):
        declared.setdefault(name, header.name)
rows = set()
for file in (file for pattern in PLACES for file in root.glob(pattern)):
    text = file.read_text()
    rows |= set(re.findall(r'(?:\{\s*|add\()"([a-z]\w*)"', text))
    kinds = re.findall(r"REEL_ROW\(name, \w+, (\w+)", text)
    rows |= {f"{name}_{kind}" for name in re.findall(r"REEL_ROWS\(([a-z]\w*), [A-Z]", text) for kind in kinds}

ops = (declared.keys() & exported) - EXEMPT
ops = {name for name in ops if not name.endswith("_rvs")}
bad = [f"{declared[name]}: {name} has no row" for name in sorted(ops - rows)]
bad += [f"{declared[name]}: {name} is declared, but not exported" for name in sorted(declared.keys() & rows - exported)]
print("\n".join(bad) or f"{len(ops)} ops, each with its row")
sys.exit(bool(bad) or not ops)
