"""Fails when a page of the tree names what is not there, or when a list of the instruction sets is not that of
lib/kernels/meson.build. Says how long the README is.

Usage: pages.py ROOT. Read are README.md, the README.md of lib, test, bench and samples, lib/HACKING.md, and samples/cookbook.md,
samples/python.md, samples/names.md, test/peers.md, test/rules.md and the pages of .github. Checked are relative links with their anchors, and paths: the first word of a span in backticks, or of a line in
a block of shell commands, that has a slash or ends like a file. A path starts at the root or at the page's folder; `*` and
`{a,b}` stand for several files, <...> for a header in include. A word that stands for something else is no path: see NOT_PATHS.
"""
import itertools
import pathlib
import re
import sys

PAGES = ["README.md", "lib/README.md", "lib/HACKING.md", "test/README.md", "test/peers.md", "test/rules.md", "bench/README.md", "samples/README.md",
         "samples/cookbook.md", "samples/python.md", "samples/names.md",
         ".github/SECURITY.md", ".github/CONTRIBUTING.md"]
SET_LISTS = ["meson_options.txt", "include/reel/runtime.hpp", "lib/kernels/set.hpp", "samples/README.md"]  # name all instruction sets
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SPAN = re.compile(r"`([^`\n]+(?:\n[^`\n]+)?)`")
PATH = re.compile(r"(?:\./)?[\w.*{},+-]*(?:/[\w.*{},+-]+)+/?|[\w*{},.-]+\.(?:cpp|hpp|py|md|txt|sh|map|build|wrap)")
NOT_PATHS = re.compile(r"build/|/")  # the build folder, absolute paths


def anchors(page):
    """The anchors that GitHub gives the page's headings."""
    headings = re.findall(r"^#+ (.*)$", FENCE.sub("", page.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def alternatives(pattern):
    """a{b,c} as ab and ac."""
    parts = [part.split(",") if i % 2 else [part] for i, part in enumerate(re.split(r"\{([^{}]*)\}", pattern))]
    return ["".join(choice) for choice in itertools.product(*parts)]


def exists(path, folders):
    path = path.removeprefix("./").rstrip("/")
    return any(next(folder.glob(path), None) if "*" in path else (folder / path).exists() for folder in folders)


def paths(text):
    """(path, folders it may start from besides the usual ones) of a page without its links."""
    for language, block in FENCE.findall(text):
        if language == "sh":
            yield from (line.split()[0] for line in block.splitlines() if line.strip() and not line.startswith("#"))
    for span in SPAN.findall(FENCE.sub("", text)):
        yield span.split()[0] if span.strip() else ""


def check(root, name):
    page, bad = root / name, []
    if not page.exists():
        return [f"{name}: there is no such page"]
    text = page.read_text()
    for link in LINK.findall(FENCE.sub("", text)):
        if "://" in link:
            continue
        file, _, anchor = link.partition("#")
        target = page.parent / file if file else page
        if not target.exists():
            bad.append(f"{name}: links to {link}, which is not there")
        elif anchor and anchor not in anchors(target):
            bad.append(f"{name}: {target.relative_to(root)} has no heading for #{anchor}")
    for word in paths(text):
        if word.startswith("<") and word.endswith(">"):
            if word.endswith(".hpp>") and not (root / "include" / word[1:-1]).exists():
                bad.append(f"{name}: names {word}, which include does not have")
        elif PATH.fullmatch(word) and not NOT_PATHS.match(word):
            bad += [f"{name}: names {path}, which is not there"
                    for path in alternatives(word) if not exists(path, (root, page.parent))]
    return bad


def check_instruction_sets(root):
    """Whether each of SET_LISTS has one list, in quotes or backticks, of the sets that the build knows."""
    known = re.search(r"known_instruction_sets = \[(.*)\]", (root / "lib/kernels/meson.build").read_text())[1]
    known = set(re.findall(r"\w+", known))
    for name in SET_LISTS:
        lists = re.findall(r"(?:[\"'`]\w+[\"'`](?:, |,\n\s*| or )){3,}[\"'`]\w+[\"'`]", (root / name).read_text())
        named = [set(re.findall(r"\w+", words)) - {"or", "auto"} for words in lists]
        if not any(words == known for words in named):
            yield f"{name}: no list of instruction sets there is that of lib/kernels/meson.build"


root = pathlib.Path(sys.argv[1])
bad = [problem for name in PAGES for problem in check(root, name)]
lines = (root / "README.md").read_text().count("\n")
bad += check_instruction_sets(root)
print("\n".join(bad) or f"{len(PAGES)} pages name what is there; README.md has {lines} lines")
sys.exit(bool(bad))
