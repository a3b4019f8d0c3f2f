"""Fails when a source file is longer than 600 lines or a folder holds more than fourteen of them (include/ may: its names
are the public interface).

Usage: file_length.py ROOT
"""
import collections
import pathlib
import sys

LINES, FILES = 600, 14
root = pathlib.Path(sys.argv[1])
bad = []
folders = collections.Counter()
for top in ("include", "lib", "test", "samples", "bench"):
    for path in sorted((root / top).rglob("*")):
        if path.suffix in (".hpp", ".cpp", ".py"):
            folders[path.parent.relative_to(root)] += top != "include"
            lines = path.read_text().count("\n")
            if lines > LINES:
                bad.append(f"{path.relative_to(root)}: {lines} lines")
bad += [f"{folder}: {files} files" for folder, files in folders.items() if files > FILES]
print("\n".join(bad) or "all of readable length")
sys.exit(bool(bad))
