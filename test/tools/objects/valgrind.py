"""Runs each program under valgrind: no invalid access, no read of what was never written, nothing definitely or possibly
lost at exit.

Usage: valgrind.py PROGRAM[,ARGUMENT...]... Kernels are those that every x86-64 machine has, which valgrind knows. Skipped
(exit status 77) without valgrind and on other processors.
"""
import os
import platform
import shutil
import subprocess
import sys

OPTIONS = ["--quiet", "--leak-check=full", "--show-leak-kinds=definite,possible",
           "--errors-for-leak-kinds=definite,possible", "--error-exitcode=99"]
# OpenBLAS of the oldest kernels, with one thread: its others use instructions that valgrind may lack. No worker of oneTBB:
# one that waits at exit still has its thread-local memory, which is "possibly lost".
PINNED = {"REEL_ISA": "sse2", "REEL_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "OPENBLAS_CORETYPE": "Prescott"}

if not shutil.which("valgrind") or platform.machine() != "x86_64":
    print("skipped: valgrind on x86-64 is needed")
    sys.exit(77)
bad = 0
for program in sys.argv[1:]:
    run = subprocess.run(["valgrind", *OPTIONS, *program.split(",")], env={**os.environ, **PINNED}, capture_output=True,
                         text=True)
    if run.returncode:
        bad += 1
        print(f"{program}: exit status {run.returncode}", run.stderr[-6000:], sep="\n")
print(f"{len(sys.argv) - 1} programs, {bad} with errors")
sys.exit(bad != 0 or len(sys.argv) == 1)
