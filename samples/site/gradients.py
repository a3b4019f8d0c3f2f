"""The page of gradients: what the comments of the public headers say about the gradient of each op of the op table.

A comment (/// lines, or ///< at the end of a line) holds for the functions down to the next blank line or comment, as
filter.py has it. Where it says nothing of a gradient, the comment of its section (// lines) is asked, then the comment
at the beginning of the header, which may state that its ops are linear.
"""
import re

import headers

OWN = re.compile(r"[Gg]radient|\bDerivatives?\b|Differentiable|\bLinear in\b")
SHARED = re.compile(r"[Gg]radients?\b(?! are in)|[Dd]erivatives\b|\blinear\b|[Dd]ifferentia|cotangents\b")
CONTINUES = re.compile(r"(?:To|By) ")  # what begins like this belongs to the sentence before
SENTENCE = re.compile(r"(?:(?<=\.)|(?<=\.\))) +(?=[A-Z(<-])|\s*\n\s*")
LINE = re.compile(r"\s*(///|//)(?!<) ?(.*)")
FUNCTION = re.compile(r"[A-Za-z].*?\b([a-z]\w*)\(")  # at the beginning of a line: members are indented
OPS = re.compile(r"<!-- op table: begin -->\n(.*?)<!-- op table: end -->", re.DOTALL)


def said(lines, words):
    """The sentences about gradients of a comment."""
    result, previous = [], ""
    for sentence in SENTENCE.split(" ".join(line or "\n" for line in lines).replace("et al. ", "et al.\0").strip()):
        if words.search(sentence) or result and result[-1] == previous and CONTINUES.match(sentence):
            result.append(sentence)
        previous = sentence
    return " ".join(result).replace("\0", " ")


def statements(header):
    """(function, what is said of its gradient) of each declaration."""
    lines = header.read_text().splitlines()
    head = [line[2:].strip() for line in lines[:next(i for i, line in enumerate(lines) if not line.startswith("//"))]]
    comment, section, before = [], [], None
    for line in lines[len(head):]:
        if match := LINE.match(line):
            kind, text = match.groups()
            if kind != before:
                comment = []
                section = [] if kind == "//" else section
            (comment if kind == "///" else section).append(text)
            before = kind
            continue
        before = None
        if not line.strip():
            comment = []
        declaration, _, behind = line.partition("///<")
        if name := FUNCTION.match(declaration):
            yield name[1], said([behind] if behind else comment, OWN) or said(section, SHARED) or said(head, SHARED)
        if behind:
            comment = []


def of_headers(folder):
    """What each header says of the gradient of each of its functions; of overloads the first one that says something."""
    result = {}
    for header in sorted(folder.rglob("*.hpp")):
        found = result[headers.name(header)] = {}
        for function, text in statements(header):
            found[function] = found.get(function) or text
    return result


def of_ops(folder, guide):
    """(family, op, what is said of its gradient) of each op that has one. guide: the text of the page with the op table."""
    known = of_headers(folder)
    for line in OPS.search(guide)[1].splitlines()[2:]:
        family, ops = (cell.strip() for cell in line.strip("|").split("|"))
        stems = tuple(re.findall(r"<(reel/[\w/]+)\.hpp>", family)) or ("reel/ops/",)
        nearest = sorted(known, key=lambda name: not name.startswith(stems))
        for op in ops.split():
            if not op.endswith("'"):
                op = op.rstrip("*")
                yield family, op, next((known[name][op] for name in nearest if op in known[name]), "")


def unstated(folder, guide):
    """Ops of whose gradient nothing is said."""
    return [op for _, op, text in of_ops(folder, guide) if not text]


def page(folder, guide):
    """The Markdown of the page. Ops in a row say the same."""
    families = {}
    for family, op, text in of_ops(folder, guide):
        families.setdefault(family, {}).setdefault(text, []).append(op)
    result = ("# Gradients of the ops {#gradients}\n\nWhat the headers say of each op's gradient: g is the cotangent, z the result. "
              "Ops of one row share a statement, of their comment, their section or their header.\n")
    for family, rows in families.items():
        title = (family[0].upper() + family[1:]).replace("<", "&lt;").replace(">", "&gt;").replace("`", "")
        result += f"\n## {title}\n\n| op | gradient |\n|---|---|\n"
        for text, ops in rows.items():
            cell = headers.escaped(text).replace("|", "\\|")
            result += f"| {' '.join(map(headers.link, ops))} | {cell} |\n"
    return result
