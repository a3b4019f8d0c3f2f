"""Runs test/mpi/ranks.cpp under mpirun: on 1 to 4 ranks, and on 3 of which the last fails in each way.

Usage: run.py PROGRAM MPIRUN [OPTION...]: the program, and the command that starts ranks but for their number.
"""
import os
import subprocess
import sys

program, *launch = sys.argv[1:]


def run(ranks, *arguments):
    return subprocess.run([*launch, "-n", str(ranks), program, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, timeout=600, env=os.environ | {"REEL_TEST_RANKS": str(ranks)})


bad = []
for ranks in (1, 2, 3, 4):
    result = run(ranks)
    if result.returncode:
        bad.append(f"{ranks} ranks:\n{result.stdout}")
for failure, answers in (("throw", 3), ("number", 3), ("mismatch", 3), ("reduction", 3), ("shapes", 3), ("silence", 2),
                         ("late", 3), ("truncated", 3), ("finalised", 3), ("die", 0)):
    result = run(3, failure)
    # mpirun itself ends the ranks that are left when one dies.
    if result.stdout.count(": right") < answers or ": wrong" in result.stdout or (failure == "die" and not result.returncode):
        bad.append(f"{failure} on the last of 3 ranks:\n{result.stdout}")
print("\n".join(bad) or "all ranks passed")
sys.exit(bool(bad))
