"""Fails when an object of the engine needs a symbol that only objects of subjects define: the engine alone would not link.

Usage: engine_alone.py NM ROOT ARCHIVE...; the library's archive, then those of the kernels. In an archive of kernels, entry.cpp
may name the families of subjects: it is made from the list of families. Prints the bytes of the engine's functions and data.
"""
import collections
import pathlib
import re
import subprocess
import sys

nm, root, *archives = sys.argv[1:]
text = (pathlib.Path(root) / "test/tools/layers.py").read_text()
engine = re.findall(r'^    "(\w+)": \(', text[text.index("ENGINE = {"):text.index("SUBJECTS = {")], re.MULTILINE)
bad = []
total = count = 0


def is_engine(member):
    """Objects are named after their sources, relative to the folder of their target."""
    name = re.sub(r"^meson-generated_(\.\._)*", "", pathlib.Path(member).name)
    return (not name.startswith(".._")) if "reel_kernels" in member else name.split("_")[0] in engine


for archive in archives:
    listed = subprocess.run([nm, "-A", "-P", "-g", archive], capture_output=True, text=True, check=True).stdout
    defined, needed = collections.defaultdict(set), collections.defaultdict(set)
    members = set()
    for line in listed.splitlines():
        place, symbol, kind, *value = re.sub(r"^.*\[(.*)\]: ", r"\1 ", line).split()
        if place.endswith(".o") and pathlib.Path(place).name.startswith("reel_kernels"):
            continue  # linked kernels: they have an archive of their own
        members.add(place)
        (needed if kind in "Uwv" else defined)[symbol].add(place)
        if kind not in "Uwv" and is_engine(place) and len(value) > 1:
            total += int(value[1], 16)
    count += sum(map(is_engine, members))
    if not any(map(is_engine, members)) or all(map(is_engine, members)):
        bad.append(f"{archive}: no objects of the engine and of subjects beside each other")
    for symbol, places in needed.items():
        if symbol in defined and not any(map(is_engine, defined[symbol])):
            for place in filter(is_engine, places):
                if pathlib.Path(place).name != "entry.cpp.o":
                    bad.append(f"{place} needs {symbol} of {min(defined[symbol])}")
print("\n".join(sorted(bad)) or f"the engine alone: {count} objects, {total} bytes of functions and data")
sys.exit(bool(bad))
