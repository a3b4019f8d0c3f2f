"""Fails when a retired word is used: a regular expression of words.txt that matches a line of a source or page. And when a
name of a file, an identifier of C++ or a name of a test has a word that says nothing there: NAMES.

Usage: words.py ROOT. Read are lib, include, test, bench and samples, text files all, and README.md.
"""
import pathlib
import re
import sys

FOLDERS = ("lib", "include", "test", "bench", "samples")
LINE = re.compile(r"(.+?) => (.+)")
NAMES = {  # as a part of a name: the word in use
    re.compile(r"further", re.IGNORECASE): "what it holds",
    re.compile(r"(?<![a-z])[Ll]aws?(?![a-z])|(?<![A-Z])LAWS?(?![A-Z])"): "distribution",
}
NO_NAME = re.compile(r'R"(\w*)\((?:.|\n)*?\)\1"|"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*(?:.|\n)*?\*/')
TEST_NAME = re.compile(r'\bTEST_CASE\(\s*"((?:\\.|[^"\\])*)"')


def names_of(path, text):
    """The name of the file; of a C++ source also what stands outside of comments and strings, and the names of tests."""
    yield path.name
    if path.suffix in {".cpp", ".hpp"} and any(pattern.search(text) for pattern in NAMES):
        yield NO_NAME.sub(" ", text)
        yield from TEST_NAME.findall(text)


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
    bad += [f"{path.relative_to(root)}: {found[0]!r} in a name; in use: {term}"
            for name in names_of(path, text) for pattern, term in NAMES.items() if (found := pattern.search(name))]
    for number, line in enumerate(text.splitlines(), 1):
        bad += [f"{path.relative_to(root)}:{number}: {found[0]!r} is retired; in use: {term}"
                for pattern, term in retired if (found := pattern.search(line))]

if read < 200:
    bad.append(f"only {read} files read: is {root} the root?")
print("\n".join(bad) or f"{len(retired)} retired words, none in {read} files")
sys.exit(bool(bad))
