"""A program with -D_GLIBCXX_DEBUG, whose std::vector is not the library's, does not compile, and is told what to do.

Usage: debug_containers.py COMPILER INCLUDE_DIRECTORY. -D_GLIBCXX_ASSERTIONS changes no layout and is fine.
"""
import subprocess
import sys

compiler, include = sys.argv[1].split(), sys.argv[2]


def run(header, *options):
    """What the compiler says of a file that includes the header; None if it compiles."""
    done = subprocess.run(compiler + ["-std=c++20", "-x", "c++", "-I", include, *options, "-"], input=f"#include <{header}>\n",
                          capture_output=True, text=True)
    return done.stderr or "failed" if done.returncode else None


wrong = []
for header in ("reel/reel.hpp", "reel/compile.hpp", "reel/elementwise.hpp", "reel/optim.hpp", "reel/testing.hpp", "reel/tree.hpp"):
    said = run(header, "-E", "-D_GLIBCXX_DEBUG")
    if not said or "-D_GLIBCXX_ASSERTIONS instead" not in said:
        wrong.append(f"{header} with -D_GLIBCXX_DEBUG: {said or 'compiles'}")
for options in (["-D_GLIBCXX_ASSERTIONS"], ["-D_GLIBCXX_DEBUG", "-DREEL_GLIBCXX_DEBUG"]):
    if said := run("reel/reel.hpp", "-fsyntax-only", *options):
        wrong.append(f"reel.hpp with {options}: {said}")
print("\n".join(wrong) or "as it should be")
sys.exit(bool(wrong))
