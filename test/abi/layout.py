"""Members, bases and enumerators of the types in the public headers against those of a revision of the repository, by
abidiff. Both headers are compiled here by one compiler into a library of its own with debug information, which has a
function for each type. Sizes alone do not see two members that change places.

Usage: layout.py ROOT REVISION COMPILER...
"""
import pathlib
import subprocess
import sys
import tempfile

import abi


def library(include, names, folder, compiler):
    """A library whose debug information has the types of these names."""
    found = list(abi.types(include))
    headers = sorted({str(header) for _, _, header, _ in found})
    source = folder / "types.cpp"
    source.write_text("".join(f"#include <{h}>\n" for h in headers) +
                      "".join(f"void use(const reel::{name}*) {{}}\n" for name in names))
    made = folder / "types.so"
    subprocess.run([*compiler, "-std=c++20", "-O0", "-g", "-fPIC", "-shared", f"-I{include}", source, "-o", made], check=True)
    return made


def main():
    root, revision, *compiler = sys.argv[1:]
    now = pathlib.Path(root).resolve() / "include"
    with tempfile.TemporaryDirectory() as folder:
        before = pathlib.Path(folder) / "before"
        (before / "now").mkdir(parents=True)
        archive = subprocess.run(["git", "-C", root, "archive", revision, "include"], check=True, capture_output=True)
        subprocess.run(["tar", "x", "-C", before], check=True, input=archive.stdout)
        old = {name for _, name, _, _ in abi.types(before / "include")}
        # What is gone or new is said by abi.py.
        names = sorted(old & {name for _, name, _, _ in abi.types(now)})
        print(f"abidiff: {len(names)} types of {revision} and of the headers here")
        if len(names) < 100:
            return "too few: the headers were not read"
        libraries = library(before / "include", names, before, compiler), library(now, names, before / "now", compiler)
        return subprocess.run(["abidiff", "--headers-dir1", before / "include", "--headers-dir2", now, *libraries]).returncode


if __name__ == "__main__":
    sys.exit(main())
