"""A program of MPI ends with the same bits on different numbers of ranks: each run prints the same "weights HEX".

Usage: same_bits.py RANKS MPIRUN [OPTION...] -- PROGRAM [ARGUMENT...], where RANKS is a list such as 1,2,4.
"""
import re
import subprocess
import sys

ranks, *rest = sys.argv[1:]
launch, command = rest[:rest.index("--")], rest[rest.index("--") + 1:]
seen, bad = {}, []
for number in ranks.split(","):
    run = subprocess.run([*launch, "-n", number, *command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                         timeout=600)
    # What mpirun has to say comes before it.
    printed = re.search(rf"^{number} ranks: .*weights ([0-9a-f]{{16}})\b", run.stdout, re.MULTILINE)
    if run.returncode or not printed:
        bad.append(f"{number} ranks: status {run.returncode}\n{run.stdout}")
    else:
        print(run.stdout, end="")
        seen[number] = printed[1]
if len(set(seen.values())) > 1:
    bad.append(f"the weights depend on the number of ranks: {seen}")
print("\n".join(bad) or "the same bits")
sys.exit(bool(bad))
