"""Runs test/mpi/ranks.cpp under mpirun: on 1 to 4 ranks, the sums over shards on 8, and on 3 of
which the last fails in each way.

Usage: run.py PROGRAM MPIRUN [OPTION...]: the program, and the command that starts ranks but for their number.
"""
import os
import pathlib
import subprocess
import sys
import tempfile

program, *launch = sys.argv[1:]
version = subprocess.run([launch[0], "--version"], stdout=subprocess.PIPE, text=True).stdout
# A killed rank must not make mpirun end the others, which are to end by themselves. MPICH's also ends them where the
# process that died is one that it started itself, and tells them by a signal: a shell lies between.
open_mpi = "Open MPI" in version
survive = ["--enable-recovery"] if open_mpi else ["-disable-auto-cleanup"]
shell = [] if open_mpi else ["sh", "-c", 'trap "" USR1; "$@"; true', "sh"]


def run(ranks, *arguments, options=(), through=()):
    """The exit status, what was printed, and the answers of ranks that leave after a failure."""
    with tempfile.TemporaryDirectory() as marks:
        done = subprocess.run([*launch, *options, "-n", str(ranks), *through, program, *arguments], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=600,
                              env=os.environ | {"REEL_TEST_RANKS": str(ranks), "REEL_TEST_MARKS": marks})
        answers = [mark.read_text() for mark in sorted(pathlib.Path(marks).glob("left*"))]
        return done.returncode, done.stdout, answers


bad = []
for ranks, *arguments in ((1,), (2,), (3,), (4,), (2, "funneled"), (8, "shards")):
    status, printed, _ = run(ranks, *arguments)
    if status:
        bad.append(f"{ranks} ranks {arguments}:\n{printed}")
for failure, survivors in (("throw", 3), ("number", 3), ("mismatch", 3), ("reduction", 3), ("shapes", 3), ("silence", 3),
                           ("late", 3), ("truncated", 3), ("finalised", 3), ("rule", 3), ("buckets", 3), ("die", 2)):
    _, printed, answers = run(3, failure, **({"options": survive, "through": shell} if failure == "die" else {}))
    if answers != ["right"] * survivors:
        bad.append(f"{failure} on the last of 3 ranks: {answers}\n{printed}")
print("\n".join(bad) or "all ranks passed")
sys.exit(bool(bad))
