"""Fails when a public header grows past its budget of preprocessed lines or lets a third party in.

Usage: header_weight.py COMPILER INCLUDE_DIR HEADER BUDGET
"""
import subprocess
import sys

compiler, include, header, budget = sys.argv[1:]
out = subprocess.run([*compiler.split(), "-std=c++20", "-E", "-P", "-x", "c++", f"-I{include}", "-"],
                     input=f"#include <{header}>\n", capture_output=True, text=True, check=True).stdout
lines = sum(1 for line in out.splitlines() if line.strip())
guests = [third for third in ("xt", "xsimd", "tbb", "fmt") if f"namespace {third}" in out]
print(f"{header}: {lines} lines of {budget}", *(f"includes {third}" for third in guests), sep="\n")
sys.exit(lines > int(budget) or bool(guests))
