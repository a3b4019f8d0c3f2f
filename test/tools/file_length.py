"""Reports source files longer than 600 lines and folders with more than fourteen of them (include/ may have more: its
names are the public interface). A reader decides whether such a file is one thing and such a folder one subject.

Usage: file_length.py ROOT
"""
import collections
import pathlib
import sys

LINES, FILES = 600, 14
root = pathlib.Path(sys.argv[1])
long = []
folders = collections.Counter()
for top in ("include", "lib", "test", "samples", "bench"):
    for path in sorted((root / top).rglob("*")):
        if path.suffix in (".hpp", ".cpp", ".py"):
            folders[path.parent.relative_to(root)] += top != "include"
            lines = path.read_text().count("\n")
            if lines > LINES:
                long.append(f"{path.relative_to(root)}: {lines} lines")
long += [f"{folder}: {files} files" for folder, files in folders.items() if files > FILES]
print("\n".join(long) or "none")
