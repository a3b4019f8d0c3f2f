"""Fails unless a program compiled for an older standard than C++20 is told so, and told nothing else.

Usage: language_standard.py COMPILER INCLUDE_DIR
"""
import subprocess
import sys

compiler, include = sys.argv[1:]
run = subprocess.run([*compiler.split(), "-std=c++17", "-fsyntax-only", "-x", "c++", "-I", include, "-"],
                     input="#include <reel/reel.hpp>\nint main() {}\n", capture_output=True, text=True)
errors = [line for line in run.stderr.splitlines() if "error" in line.split(": ", 1)[-1]]
print(run.stderr)
if run.returncode == 0 or "reel needs C++20" not in run.stderr:
    sys.exit("C++17 is not refused")
if sum("error:" in line for line in errors) != 1:
    sys.exit("there are other errors beside the one that says what is needed")
