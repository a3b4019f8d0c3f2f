"""Checks samples/names.md, which names each op beside its counterparts in NumPy, TensorFlow, PyTorch and JAX.

Usage: names.py ROOT [--write]. It fails for

  - an op of the op table in samples/README.md without a row,
  - a name in a first column that no header of include/reel has,
  - a row whose columns are not those of HEAD, an op named twice in a section, or a peer's name that is malformed,
  - an op whose own row names a function of TensorFlow, PyTorch or JAX, though test/op_cases/peers.txt says that it has none,
  - lists from the peers' names to reel's, and to the optional headers that sections name, that do not follow from the
    rows; --write writes them.
"""
import pathlib
import re
import sys

PAGE = "samples/names.md"
HEAD = "| reel | NumPy, SciPy | TensorFlow | PyTorch | JAX | remark |"
PEERS = {  # the column of each peer, and what its names begin with
    "NumPy and SciPy": (1, ("np", "scipy")),
    "TensorFlow": (2, ("tf",)),
    "PyTorch": (3, ("torch",)),
    "JAX": (4, ("jax", "jnp")),
}
NOTHING = "-"  # in place of reel's name: reel has no such function
BEGIN, END = "<!-- peers' names: begin -->\n", "<!-- peers' names: end -->"
HEADER = re.compile(r"`<reel/([\w/]+)\.hpp>`")
SHARED = "as the next four sections"  # after a header: that of the sections that follow, too
COMMENT = re.compile(r"//.*")
SCOPE = r"\b(?:class|struct|enum class) {}\b"


def ops_of_table(readme):
    table = readme.split("<!-- op table: begin -->\n")[1].split("<!-- op table: end -->")[0]
    return [word.rstrip("*'") for line in table.splitlines()[2:] for word in line.split("|")[2].split()]


def rows_of(page):
    """(section, columns) of each row of the hand-written part."""
    section = ""
    for line in page.split(BEGIN)[0].splitlines():
        if line.startswith("#"):
            section = line.lstrip("# ")
        elif line.startswith("| ") and line != HEAD:
            yield section, [cell.strip() for cell in line.strip("|").split("|")]


def contradictions(root, rows):
    """What test/op_cases/peers.txt denies: it has a letter for each op in TensorFlow, PyTorch, JAX and others, "-" for none."""
    letters = {}
    for line in (root / "test/op_cases/peers.txt").read_text().splitlines():
        if line and line[0] != "#":
            peers, *ops = line.split()
            letters |= dict.fromkeys(ops, peers)
    for _, cells in rows:
        op = cells[0]
        peers = letters.pop(op, None)  # the first row of an op is its own
        for letter, column in zip(peers or "", (2, 3, 4)):
            if letter == "-" and cells[column]:
                yield f"{PAGE}: {op} is {cells[column]}, but test/op_cases/peers.txt says that there is none"


def code_of(path):
    return COMMENT.sub("", path.read_text())


def headers_of(root, page):
    """For each section the headers that it names before its table, as a map from X of <reel/X.hpp> to the code."""
    headers, shared = {}, []
    for part in re.split(r"^### ", page.split(BEGIN)[0], flags=re.M)[1:]:
        section, _, text = part.partition("\n")
        said = text.split("\n|")[0]
        headers[section] = {x: code_of(root / f"include/reel/{x}.hpp") for x in HEADER.findall(said)}
        if shared:
            headers[section] = shared.pop()
        if SHARED in said:
            shared = [headers[section]] * 4
    return headers


def header_of(names, headers):
    """Those of the headers that declare one of the names; the only one that is named declares all."""
    if len(headers) == 1 and not any("_rvs" in code for code in headers.values()):
        return set(headers)
    return {x for x, code in headers.items() for name in names if re.search(rf"\b{name.split('::')[0]}\b\(", code)}


def lists(root, page):
    """A table for each peer, from its names to reel's and their optional headers, by the alphabet."""
    headers, text = headers_of(root, page), ""
    for peer, (column, _) in PEERS.items():
        found, where = {}, {}
        for section, cells in rows_of(page):
            for name in cells[column].split() if len(cells) == 6 else ():
                found.setdefault(name, []).extend(op for op in cells[0].split() if op not in found.get(name, []))
                where.setdefault(name, set()).update(header_of(cells[0].split(), headers.get(section, {})))
        text += f"\n### From {peer}\n\n| {peer} | reel | header |\n|---|---|---|\n"
        for name in sorted(found, key=lambda n: (n.lower(), n)):
            text += f"| {name} | {' '.join(found[name])} | {''.join(x + ' ' for x in sorted(where[name]))}|\n"
    return text + "\n"


def faults(root, page):
    rows = list(rows_of(page))
    good = [row for row in rows if len(row[1]) == 6]
    yield from (f"{PAGE}: not {HEAD.count('|') - 1} columns: {' | '.join(cells)}" for _, cells in rows if len(cells) != 6)
    code = "\n".join(code_of(path) for path in (root / "include/reel").rglob("*.hpp"))
    seen = set()
    for section, cells in good:
        if (section, cells[0]) in seen and cells[0] != NOTHING:
            yield f"{PAGE}: {section} has two rows of {cells[0]}"
        seen.add((section, cells[0]))
        for name in cells[0].replace(NOTHING, "").split():
            scope, _, member = name.rpartition("::")
            if not re.search(rf"\b{member}\b", code) or scope and not re.search(SCOPE.format(scope), code):
                yield f"{PAGE}: names {name}, which no header of include/reel has"
        for peer, (column, roots) in PEERS.items():
            for name in cells[column].split():
                if not re.fullmatch(rf"(?:{'|'.join(roots)})(?:\.\w+)+", name):
                    yield f"{PAGE}: {name} is no name of {peer}"
    yield from contradictions(root, good)
    named = {name for _, cells in good for name in cells[0].split()}
    for op in ops_of_table((root / "samples/README.md").read_text()):
        if op not in named:
            yield f"{PAGE}: {op} has no row; samples/README.md lists it among the ops"
    if page != current(root, page):
        yield f"{PAGE}: the lists from the peers' names are not those of the rows; test/tools/readme/names.py . --write writes them"


def current(root, page):
    """The page with its lists written anew."""
    return page.split(BEGIN)[0] + BEGIN + lists(root, page) + END + page.split(END)[1]


def main(root, *options):
    root = pathlib.Path(root)
    page = (root / PAGE).read_text()
    if BEGIN not in page or END not in page:
        print(f"{PAGE}: no lines {BEGIN.strip()} and {END}")
        return 1
    if "--write" in options:
        page = current(root, page)
        (root / PAGE).write_text(page)
    bad = list(faults(root, page))
    names = page.split(BEGIN)[1].count("\n| ") - len(PEERS)
    print("\n".join(bad) or f"{sum(1 for _ in rows_of(page))} rows, {names} names of others")
    return bool(bad)


sys.exit(main(*sys.argv[1:]))
