"""Fails when two files define different types of one name in one namespace: an ODR violation, and confusing if not.

Usage: one_definition.py ROOT. Read are lib, include, bench/ours and the test program, each set on its own. Types in unnamed
namespaces, in classes and in functions do not count; nor do specialisations.
"""
import pathlib
import re
import sys

TOKEN = re.compile(r"""
    //[^\n]* | /\*.*?\*/ | R"(\w*)\(.*?\)\1" | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])+'
  | ^[ \t]*\#(?:[^\n]*\\\n)*[^\n]*
  | (?P<token>\[\[.*?\]\] | [A-Za-z_]\w* | :: | [{}();<>=:,] )
""", re.VERBOSE | re.DOTALL | re.MULTILINE)
DIGITS = re.compile(r"(?<=\d)'(?=\d)")


def definitions(text):
    """The qualified names of the types that a file defines at namespace scope, templates included."""
    tokens = [m["token"] for m in TOKEN.finditer(DIGITS.sub("", text)) if m["token"] and not m["token"].startswith("[[")]
    scopes, found, at = [], [], 0
    while at < len(tokens):
        t = tokens[at]
        if t == "namespace":
            names = []
            at += 1
            while tokens[at] not in ("{", ";", "="):
                names += [tokens[at]] if tokens[at] not in ("::", "inline") else []
                at += 1
            if tokens[at] == "{":
                scopes.append(names or [None])
            else:
                while tokens[at] != ";":
                    at += 1
        elif t in ("struct", "class", "union", "enum") and all(s is not False for s in scopes) and tokens[at - 1] not in ("<", ",", "friend"):
            kind_at, name, end = at, None, at + 1
            while tokens[end] not in ("{", ";", "(", ")", "=", ",", ">"):
                if name is None and tokens[end] not in ("class", "struct", "final"):
                    name = tokens[end]
                if tokens[end] == "<" or (tokens[end] == "::" and name):
                    name = ""  # a specialisation, or a member defined outside its class
                if tokens[end] == ":":
                    while tokens[end] not in ("{", ";"):
                        end += 1
                    break
                end += 1
            if tokens[end] == "{":
                parts = [part for scope in scopes for part in scope]
                if name and None not in parts:
                    found.append("::".join(parts + [name]))
                scopes.append(False)
                at = end
        elif t == "{":
            scopes.append(False if tokens[at - 1] != '"C"' else [])
        elif t == "}" and scopes:
            scopes.pop()
        at += 1
    return found


def main():
    root = pathlib.Path(sys.argv[1])
    # Programs that are never linked into one: their types may share names.
    programs = {"the library": ["lib", "include"], "the test program": ["test/core", "test/gradient", "test/kernels", "test/loops",
                "test/op_cases", "test/ops", "test/optim", "test/support", "test/tape", "test/tensorflow"],
                "the benchmarks": ["bench/ours", "bench/common"]}
    bad = total = 0
    for program, folders in programs.items():
        where = {}
        for folder in folders:
            for path in sorted((root / folder).rglob("*.[hc]pp")):
                for name in definitions(path.read_text()):
                    total += 1
                    where.setdefault(name, []).append(path.relative_to(root))
        for name, paths in where.items():
            if len(paths) > 1:
                bad += 1
                print(f"{program}: {name} is defined in {', '.join(map(str, paths))}")
    assert definitions("namespace a { struct X { struct Y {}; }; template <class T> class Z {}; namespace { enum E {}; } }"
                       "namespace a::b { enum class E : int { one }; struct X; void f() { struct L {}; } }"
                       ) == ["a::X", "a::Z", "a::b::E"]
    print(f"{total} types, {bad} names defined twice")
    sys.exit(bad > 0 or total < 200)


main()
