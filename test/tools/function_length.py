"""Reports the functions of lib whose body is longer than 50 lines, a screen; with "list N" behind ROOT the N longest. A reader
decides whether such a function is one thing.

Usage: function_length.py ROOT [list N]. A body is a pair of braces behind a parameter list, in a namespace or class. Comments,
strings and preprocessor lines are taken out first. What a variable is initialised with is no function: tables are long.
"""
import pathlib
import re
import sys

LINES = 50
NOISE = re.compile(r'//[^\n]*|/\*.*?\*/|R"\((.*?)\)"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'|^[ \t]*#(?:[^\n]*\\\n)*[^\n]*', re.S | re.M)
GROUP = re.compile(r"\([^()]*\)|<[^<>]*>|\[[^\[\]]*\]")
SCOPE = re.compile(r"\b(namespace|class|struct|union|enum|extern)\b")


def plain(head):
    """What stands before an opening brace, with @ for each parameter list and without what other brackets enclose."""
    while GROUP.search(head):
        head = GROUP.sub(lambda m: "@" if m[0][0] == "(" else " ", head)
    return head


def functions(text):
    """(first line, lines, name) of each function."""
    text = NOISE.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), text)
    stack = []  # (kind, line, head) of each open brace
    head_at = 0
    for m in re.finditer(r"[{};]", text):
        at, line = m.start(), text.count("\n", 0, m.start()) + 1
        inner = any(kind != "scope" for kind, _, _ in stack)
        if m[0] == "{":
            head = text[head_at:at]
            short = plain(head)
            if inner:
                kind = "inner"
            elif SCOPE.search(short) and "@" not in short or not short.strip():
                kind = "scope"
            else:
                kind = "function" if "@" in short and "=" not in short.replace("operator", "") else "value"
            stack.append((kind, line, head))
        elif m[0] == "}" and stack:
            kind, first, head = stack.pop()
            if kind == "function":
                names = re.findall(r"([\w:~]+)\s*\(", head)
                yield first, line - first + 1, names[0] if names else "?"
        head_at = at + 1


root = pathlib.Path(sys.argv[1])
found = []
for path in sorted((root / "lib").rglob("*.?pp")):
    found += [(lines, f"{path.relative_to(root)}:{first}: {name}") for first, lines, name in functions(path.read_text())]
found.sort(reverse=True)
if sys.argv[2:3] == ["list"]:
    print(*(f"{lines:4} {what}" for lines, what in found[:int(sys.argv[3])]), sep="\n")
    sys.exit()
print("\n".join(f"{what} has {lines} lines" for lines, what in found if lines > LINES) or "none")
