"""The ABI of the shared library against the recorded one: exported symbols, whose names hold the types of parameters, and
sizes, alignments and enumerators of the types in the public headers. What is gone or has changed fails while the series
of the version, which the SONAME carries, is the recorded one; what is new is reported.

Usage: abi.py ROOT LIBRARY VERSION COMPILER... [--update]
"""
import pathlib
import re
import subprocess
import sys
import tempfile

TYPE = re.compile(r"^(struct|class|enum class) (?:\[\[[^\]]*\]\] )?(\w+)(?: final)?(?: : [^{;]*)? \{(.*)$")


def series(version):
    """The part of a version that the SONAME carries."""
    return ".".join(version.split(".")[:2 if version.startswith("0.") else 1])


def symbols(library):
    """Exported functions and objects, but those that every user of a header makes too (weak ones), without their version."""
    listed = subprocess.run(["nm", "-D", "-P", "--defined-only", library], check=True, capture_output=True, text=True)
    for line in listed.stdout.splitlines():
        name, kind, *_ = line.split()
        if kind not in "AWwVv":  # A: the version itself
            yield f"symbol {name.split('@')[0]} {kind}"


def types(headers):
    """(kind, name, header, text) of what namespace reel itself defines. The formatter indents nothing in namespaces."""
    for path in sorted(headers.rglob("*.hpp")):
        inside, depth, template = [], 0, False  # the namespaces around a line, and how many braces
        lines = path.read_text().splitlines()
        for i, line in enumerate(lines):
            depth += line.count("{") - line.count("}")
            while len(inside) > depth:
                inside.pop()
            if opened := re.match(r"^(?:inline )?namespace (?:REEL_API |\[\[.*\]\] )?([\w:]*) ?\{$", line):
                inside.append(opened[1])
            found = TYPE.match(line)
            if found and inside == ["reel"] and not template:
                text = found[3]
                while found[1] == "enum class" and "}" not in text:
                    i += 1
                    text += re.sub(r"//.*", "", lines[i])
                yield found[1], found[2], path.relative_to(headers), text.split("}")[0]
            if line and not line.startswith("//"):
                template = line.startswith(("template", "requires", "    requires"))


def sizes(root, compiler):
    found = list(types(root / "include"))
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "sizes.cpp"
        headers = sorted({str(header) for _, _, header, _ in found})
        source.write_text("#include <cstdio>\n" + "".join(f"#include <{h}>\n" for h in headers) + "int main() {\n" + "".join(
            f'  std::printf("type {name} %zu %zu\\n", sizeof(reel::{name}), alignof(reel::{name}));\n'
            for _, name, _, _ in found) + "}\n")
        program = source.with_suffix("")
        # Nothing of the library is called.
        subprocess.run([*compiler, "-std=c++20", "-O0", f"-I{root / 'include'}", "-c", source, "-o", f"{program}.o"], check=True)
        subprocess.run([*compiler, f"{program}.o", "-Wl,--unresolved-symbols=ignore-all", "-o", program], check=True)
        yield from subprocess.run([program], check=True, capture_output=True, text=True).stdout.splitlines()
    for kind, name, _, text in found:
        if kind == "enum class":
            yield f"enumerators {name} " + re.sub(r"\s+", "", text).rstrip(",")


def main():
    arguments = [a for a in sys.argv[1:] if a != "--update"]
    root, library, version, compiler = pathlib.Path(arguments[0]), arguments[1], arguments[2], arguments[3:]
    recorded_file = root / "test/abi/recorded.txt"
    now = sorted(set(symbols(library)) | set(sizes(root, compiler)))
    kinds = {kind: sum(line.startswith(kind) for line in now) for kind in ("symbol", "type", "enumerators")}
    print(", ".join(f"{n} of {kind}" for kind, n in kinds.items()))
    if kinds["symbol"] < 300 or kinds["type"] < 30 or kinds["enumerators"] < 5:
        return "too few: the library or the headers were not read"
    if "--update" in sys.argv:
        recorded_file.write_text("\n".join([f"version {version}", *now]) + "\n")
        return 0
    first, *recorded = recorded_file.read_text().splitlines()
    for line in sorted(set(now) - set(recorded)):
        print(f"new: {line}")
    gone = sorted(set(recorded) - set(now))
    for line in gone:
        print(f"gone or changed: {line}")
    if gone and series(version) == series(first.split()[1]):
        return f"{len(gone)} of the ABI of {first.split()[1]} are not what they were; move the version, then record it anew (--update)"
    return 0


if __name__ == "__main__":
    sys.exit(main())
