"""Static analysis of what reads untrusted bytes: cppcheck, and gcc's -fanalyzer where the compiler is gcc 12 or newer.

Usage: analyze.py BUILD [COMPILER]. BUILD is a build folder, for the headers that Meson makes. Read are lib/io,
lib/core/system/posix.cpp and <reel/dlpack.hpp>, the interface to C. Fails on a finding that FALSE does not list with its
reason, and on one that it lists and that is no more. Exit status 77: cppcheck is not installed.
"""
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

root = pathlib.Path(__file__).resolve().parent.parent
FALSE = {  # (file, finding of cppcheck 2.10): why it is none
    ("include/reel/compile.hpp", "uninitMemberVar"): "the member of a class is taken for that of its specialisation",
    ("include/reel/shape.hpp", "uninitMemberVar"): "the extents behind the rank are never read",
    ("lib/io/csv.cpp", "missingReturn"): "refuse() does not return",
    ("lib/io/safetensors.cpp", "missingReturn"): "refuse() does not return",
    ("lib/io/trees.cpp", "derefInvalidIteratorRedundantCheck"): "fail() does not return",
}
CHECKS = ["--quiet", "--std=c++20", "--language=c++", "--enable=warning,performance,portability", "--suppress=missingInclude",
          "--suppress=unknownMacro", "--suppress=passedByValue", "--template={file}\t{line}\t{id}\t{message}"]
KINDS = {  # of gcc's findings: why they are no use in C++ yet (gcc 12 to 14)
    "use-of-uninitialized-value": "a class that a function returns in memory of the caller is taken for uninitialised",
    "possible-null-argument": "operator new throws instead of returning null",
    "possible-null-dereference": "operator new throws instead of returning null",
}
DLPACK = """#include <reel/dlpack.hpp>
#include <reel/reel.hpp>
reel::Tensor there_and_back(const reel::Tensor& x) { return reel::from_dlpack(reel::to_dlpack(x)); }
"""


def include_path(top, build):
    return [f"-I{folder}" for folder in (top / "include", top / "lib", build.resolve() / "lib")]


def copy_for_cppcheck(folder):
    """Copies the sources without the template parameters of lambdas: cppcheck gives a file up at the first of them."""
    for source in [*(root / "include").rglob("*.hpp"), *(root / "lib").rglob("*.[ch]pp")]:
        copy = folder / source.relative_to(root)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(re.sub(r"\]<[^<>]*>\(", "](", source.read_text()))


def cppcheck(build, places):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name).resolve()
        copy_for_cppcheck(folder)
        done = subprocess.run(["cppcheck", *CHECKS, *include_path(folder, build), *places], cwd=folder, capture_output=True, text=True)
        for line in done.stderr.splitlines():
            parts = line.split("\t")
            if len(parts) == 4:
                file = os.path.relpath(folder / parts[0], folder)
                yield file, parts[2], f"{file}:{parts[1]}: {parts[3]} [{parts[2]}]"
            else:
                yield "", "", line


def analyzer(build, compiler, source):
    without = [f"-Wno-analyzer-{kind}" for kind in KINDS]
    command = [compiler, "-std=c++20", "-O1", "-fanalyzer", *without, "-c", "-o", os.devnull, *include_path(root, build), str(source)]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"})
    return [line for line in done.stderr.splitlines() if re.search(r"(warning|error):", line)]


def main():
    if not shutil.which("cppcheck"):
        print("skipped: cppcheck is not installed")
        sys.exit(77)
    build = pathlib.Path(sys.argv[1])
    compiler = sys.argv[2] if len(sys.argv) > 2 else "g++"
    bad, met = [], set()
    for file, finding, text in cppcheck(build, ["lib/io", "lib/core/system/posix.cpp"]):
        met.add((file, finding))
        if (file, finding) not in FALSE:
            bad.append(text)
    bad += [f"{file}: {finding} is not found any more: take it off the list" for file, finding in FALSE if (file, finding) not in met]
    sources = [*sorted((root / "lib/io").rglob("*.cpp")), root / "lib/core/system/posix.cpp"]
    version = subprocess.run([compiler, "--version"], capture_output=True, text=True).stdout
    if "Free Software Foundation" in version:
        with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            interface = pathlib.Path(folder) / "dlpack.cpp"
            interface.write_text(DLPACK)
            for found in pool.map(lambda source: analyzer(build, compiler, source), [*sources, interface]):
                bad += found
    print("\n".join(bad) or f"{len(sources)} sources and <reel/dlpack.hpp>: nothing found but {len(FALSE)} false findings")
    sys.exit(bool(bad))


main()
