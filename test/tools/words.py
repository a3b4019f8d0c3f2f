"""Fails when a retired word is used: a regular expression of words.txt that matches a line of a source or page.

Usage: words.py ROOT. Read are lib, include, test, bench and samples, text files all, and README.md.
"""
import pathlib
import re
import sys

FOLDERS = ("lib", "include", "test", "bench", "samples")
LINE = re.compile(r"(.+?) => (.+)")

root = pathlib.Path(sys.argv[1])
words = root / "test/tools/words.txt"
retired, bad = [], []
for number, line in enumerate(words.read_text().splitlines(), 1):
    if not line or line.startswith("#"):
        continue
    match = LINE.fullmatch(line)
    if match:
        retired.append((re.compile(match[1]), match[2]))
    else:
        bad.append(f"test/tools/words.txt:{number}: no ' => ' and term in use: {line}")

files = [root / "README.md"] + [path for folder in FOLDERS for path in sorted((root / folder).rglob("*")) if path.is_file()]
read = 0
for path in files:
    if path == words or "__pycache__" in path.parts:
        continue
    try:
        text = path.read_text()
    except UnicodeDecodeError:  # a test's data
        continue
    read += 1
    for number, line in enumerate(text.splitlines(), 1):
        bad += [f"{path.relative_to(root)}:{number}: {found[0]!r} is retired; in use: {term}"
                for pattern, term in retired if (found := pattern.search(line))]

if read < 200:
    bad.append(f"only {read} files read: is {root} the root?")
print("\n".join(bad) or f"{len(retired)} retired words, none in {read} files")
sys.exit(bool(bad))
