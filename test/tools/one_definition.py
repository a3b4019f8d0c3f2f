"""Fails when two files define different types of one name in one namespace: an ODR violation, and confusing if not. In the
library also when a file has a name of its own, in an unnamed namespace, that another file defines in the same namespace: a
unity build, in which all are one translation unit, does not compile then, or calls another function.

Usage: one_definition.py ROOT. Read are lib, include, bench/ours and the test program, each set on its own. Types in unnamed
namespaces count for the library alone; those in classes and in functions do not, nor do specialisations.
"""
import collections
import pathlib
import re
import sys

TOKEN = re.compile(r"""
    //[^\n]* | /\*.*?\*/ | R"(\w*)\(.*?\)\1" | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])+'
  | ^[ \t]*\#(?:[^\n]*\\\n)*[^\n]*
  | (?P<token>\[\[.*?\]\] | \w+ | :: | [][{}();<>=:,&*] )
""", re.VERBOSE | re.DOTALL | re.MULTILINE)
DIGITS = re.compile(r"(?<=\d)'(?=\d)")


def definitions(text):
    """The qualified names of the types that a file defines at namespace scope, templates included."""
    tokens = [m["token"] for m in TOKEN.finditer(DIGITS.sub("", text)) if m["token"] and m["token"] != "REEL_API" and not m["token"].startswith("[[")]
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


# ---- names of unnamed namespaces

CLOSING = {"(": ")", "{": "}", "[": "]"}
TYPES = {"struct", "class", "union", "enum"}
WORDS = {"const", "constexpr", "static", "inline", "thread_local", "consteval", "noexcept", "requires", "typename"}


def after(tokens, at):
    """Behind the bracket that opens here, or the end: < may be a comparison."""
    opened, closed, depth = tokens[at], CLOSING.get(tokens[at], ">"), 0
    for i in range(at, len(tokens)):
        depth += (tokens[i] == opened) - (tokens[i] == closed)
        if depth == 0:
            return i + 1
    return len(tokens)


def types_of(parameters):
    """The spelling of the types of parameters, without their names and defaults."""
    found, one, at = [], [], 0
    while at <= len(parameters):
        t = parameters[at] if at < len(parameters) else ","
        if t == ",":
            if "=" in one:
                one = one[:one.index("=")]
            named = len(one) > 1 and re.match(r"\w", one[-1]) and one[-2] != "::" and one[-2] not in WORDS
            found.append(" ".join(one[:-1] if named else one))
            one = []
        elif t in CLOSING or t == "<":
            end = after(parameters, at)
            one += parameters[at:end]
            at = end - 1
        else:
            one.append(t)
        at += 1
    return tuple(found)


def declared(statement):
    """What a declaration at namespace scope names: its name, with the types of its parameters if it is a function, or with
    "using" before it and the type behind it if it is an alias, which may be declared again."""
    at, head = 0, ()
    while at < len(statement):
        t = statement[at]
        if t == "using" and statement[at + 2:at + 3] == ["="]:
            return "using", statement[at + 1], " ".join(statement[at + 3:])
        if t in ("static_assert", "friend", "extern", "requires", "typedef", "using", "operator"):
            return None
        if t == "template":
            head = types_of(statement[at + 2:after(statement, at + 1) - 1])
            at = after(statement, at + 1) - 1
        elif t in TYPES:
            at += statement[at + 1:at + 2] in (["class"], ["struct"])
            at = after(statement, at + 2) - 1 if statement[at + 1:at + 2] == ["alignas"] else at
            named = re.match(r"[A-Za-z_]", "".join(statement[at + 1:at + 2])) and statement[at + 2:at + 3] not in (["<"], ["::"])
            return statement[at + 1] if named else None
        elif t == "(" and at > 0 and statement[at - 1] in ("alignas", "decltype", "noexcept"):
            at = after(statement, at) - 1
        elif t == "(" and at > 0 and re.match(r"[A-Za-z_]", statement[at - 1]):
            if statement[at - 2:at - 1] == ["::"] or statement[at - 1].isupper():
                return None  # a member, or a macro
            return statement[at - 1], head, types_of(statement[at + 1:after(statement, at) - 1])
        elif t in ("=", "[") or at + 1 == len(statement):
            name = statement[at - 1] if t in ("=", "[") else t
            name_at = at - 1 if t in ("=", "[") else at
            return name if name_at > 0 and re.match(r"[A-Za-z_]", name) and statement[name_at - 1] != "::" else None
        elif t == "<":
            at = after(statement, at) - 1
        at += 1
    return None


def borrowed(statement):
    """What a using-declaration names, as aliases of what has the last two parts of each name."""
    if statement[0] != "using" or "=" in statement or "namespace" in statement:
        return []
    qualified = [name.split("::") for name in "".join(statement[1:]).split(",")]
    return [("using", parts[-1], "::".join(parts[-2:])) for parts in qualified]


def names(text):
    """(namespace, name, whether in an unnamed namespace within it) of what a file declares at namespace scope."""
    tokens = [m["token"] for m in TOKEN.finditer(DIGITS.sub("", text)) if m["token"] and m["token"] != "REEL_API" and not m["token"].startswith("[[")]
    scopes, found, statement, at, initialised = [], [], [], 0, False

    def declare():
        new = borrowed(statement) or [declared(statement)] if statement else []
        found.extend(("::".join(s for scope in scopes for s in scope if s), name, [None] in scopes) for name in new if name)
        statement.clear()

    while at < len(tokens):
        t = tokens[at]
        if t == "namespace" and statement in ([], ["inline"]):
            end = next(i for i in range(at, len(tokens)) if tokens[i] in ("{", "=", ";"))
            if tokens[end] == "{":
                scopes.append([w for w in tokens[at + 1:end] if w not in ("::", "inline")] or [None])
                statement.clear()
                at = end
            else:
                statement.append(t)
        elif t in ("(", "[") or (t == "<" and statement[-1:] == ["template"]):
            end = after(tokens, at)
            statement += tokens[at:end]
            at = end - 1
        elif t == "{":  # of a body, or of an initialiser, behind which the statement goes on
            if not initialised or "operator" in statement:
                initialised = ")" not in statement and not TYPES & set(statement)
                declare()
                statement += ["="] if initialised else []
            at = after(tokens, at) - 1
        elif t == "}":
            scopes = scopes[:-1]
            statement.clear()
        elif t == "," and initialised and "=" in statement[1:] and statement[0] != "using":  # another of the same type
            type_of = statement[:statement.index("=") - 1]
            declare()
            statement += type_of
            initialised = False
        elif t == ";":
            declare()
            initialised = False
        else:
            statement.append(t)
            initialised = initialised or t == "="
        at += 1
    return found


def included(root, sources):
    """The sources and the library's headers that they include at any depth."""
    seen, new = set(), set(sources)
    while new:
        seen |= new
        found = {name for path in new for name in re.findall(r'#include ["<]([^">]+)', path.read_text())}
        new = {root / folder / name for name in found for folder in ("lib", "include") if (root / folder / name).exists()} - seen
    return sorted(seen)


def collisions(root):
    """What a unity build would make of names of one file's own that another file of the library declares, too."""
    per_isa = set((root / "lib/kernels/per_isa").glob("*.cpp")) | set((root / "lib").rglob("*_per_isa.cpp"))
    systems = set((root / "lib/core/system").glob("*.cpp"))  # a build has one
    rest = set((root / "lib").rglob("*.cpp")) - per_isa - systems
    for sources in per_isa, *(rest | {system} for system in systems):
        where = collections.defaultdict(lambda: (set(), set()))
        for path in included(root, sources):
            for scope, name, own in names(path.read_text()):
                where[scope, name][own].add(str(path.relative_to(root)))
        for (scope, name), (named, own) in sorted(where.items(), key=str):
            if name[0] == "using" and (scope, name[1]) in where:  # a type or a variable of an alias's name
                own, named = (a | b for a, b in zip((own, named), reversed(where[scope, name[1]])))
            elif name[0] == "using":
                continue
            if own and len(own | named) > 1:
                yield f"a unity build defines twice {scope}::{name if isinstance(name, str) else name[name[0] == 'using']}: {', '.join(sorted(own | named))}"
        yield from of_two_types(where)
        yield from hidden(root, where)
        yield from of_two_kinds(where)


def of_two_types(where):
    """Aliases that are one file's own, and another type in another file."""
    types = collections.defaultdict(dict)
    for (scope, name), (named, own) in where.items():
        if name[0] == "using":
            types[scope, name[1]][name[2]] = named, own
    for (scope, name), found in sorted(types.items()):
        paths = set().union(*(named | own for named, own in found.values()))
        if len(found) > 1 and len(paths) > 1 and any(own for _, own in found.values()):
            yield f"a unity build defines as two types {scope}::{name}: {', '.join(sorted(paths))}"


def hidden(root, where):
    """Functions of one file's own that it calls by a qualified name which another declares, with other parameters: where both are
    seen, as in a unity build, a qualified name finds what is in a named namespace alone."""
    others = collections.defaultdict(set)
    for (scope, name), (named, _) in where.items():
        if not isinstance(name, str) and name[0] != "using":
            others[scope, name[0]] |= named
    for (scope, name), (_, own) in sorted(where.items(), key=str):
        for path in own if not isinstance(name, str) and name[0] != "using" else ():
            call = re.compile(rf"\b{scope.split('::')[-1]}::{name[0]}[(<]")
            if others[scope, name[0]] - {path} and call.search((root / path).read_text()):
                yield f"{path} calls {scope}::{name[0]} of its own, which {', '.join(sorted(others[scope, name[0]] - {path}))} would hide"


def of_two_kinds(where):
    """Names that are a function's in one file and a variable's or a type's in another, either in an unnamed namespace."""
    functions = collections.defaultdict(lambda: (set(), set()))
    for (scope, name), files in where.items():
        if not isinstance(name, str) and name[0] != "using":
            for all_files, some in zip(functions[scope, name[0]], files):
                all_files |= some
    for (scope, name), (named, own) in sorted(functions.items()):
        if (scope, name) in where:
            others_named, others_own = where[scope, name]
            everywhere = named | own | others_named | others_own
            if (own or others_own) and len(everywhere) > 1:
                yield f"{scope}::{name} is a function and something else: {', '.join(sorted(everywhere))}"


def main():
    root = pathlib.Path(sys.argv[1])
    # Programs that are never linked into one: their types may share names.
    programs = {"the library": ["lib", "include"], "the test program": [
                "test/core", "test/fft", "test/geometry", "test/gradient", "test/interpolate", "test/kernels", "test/linalg", "test/loops", "test/nn",
                "test/op_cases", "test/ops", "test/optim", "test/solve", "test/special", "test/stats", "test/support", "test/tape", "test/tensorflow"],
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
    for text in dict.fromkeys(collisions(root)):
        bad += 1
        print(text)
    assert names("namespace a { namespace { constexpr int x[] = {1, 2}; int v = 1, w = 2; using U = int; template <class T> T f(const B& b, int n = g(1)) "
                 "{ return {b}; } struct S : B { int y; }; using b::c::V, w::W; } void S::m() {} namespace b { inline const T<int> z{1}; int f(const B&, int); } }"
                 ) == [("a", "x", True), ("a", "v", True), ("a", "w", True), ("a", ("using", "U", "int"), True), ("a", ("f", ("class",), ("const B &", "int")), True), ("a", "S", True), ("a", ("using", "V", "c::V"), True),
                       ("a", ("using", "W", "w::W"), True), ("a::b", "z", False),
                       ("a::b", ("f", (), ("const B &", "int")), False)]
    print(f"{total} types, {bad} names defined twice")
    sys.exit(bad > 0 or total < 200)


main()
