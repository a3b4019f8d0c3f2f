"""Fails when a family of test/supersets.txt is covered by no function, or by one that the public headers do not declare. Prints
which families are missing. sparse:sum is the sum of sparse.hpp.

Usage: supersets.py ROOT
"""
import pathlib
import re
import sys

FAMILIES = {"H": 61, "M": 47, "T": 76}  # as counted in November 2026
PEERS = {"H": "HIPS autograd", "M": "MLX C++", "T": "TensorFlow's gradient registry"}
DECLARED = re.compile(r"^(?:template <.*> |requires.*\) )*(?:inline )?(?:std::vector<Tensor>|[A-Za-z_]\w*) (\w+)\(", re.MULTILINE)

root = pathlib.Path(sys.argv[1])
declared = set()
for path in (root / "include/reel").rglob("*.hpp"):
    for name in DECLARED.findall(path.read_text()):
        declared |= {name, f"{path.stem}:{name}"}
counts, missing, refused, bad = dict.fromkeys(FAMILIES, 0), {}, {}, []
for number, line in enumerate((root / "test/supersets.txt").read_text().splitlines(), 1):
    if line.startswith("#"):
        continue
    peers, family, names = (part.strip() for part in line.split("|"))
    for peer in peers:
        counts[peer] += 1
    if names.startswith("- "):
        refused[family] = names[2:]
        continue
    there, _, to_come = (part.split() for part in names.partition("+"))
    if not there and not to_come:
        bad.append(f"test/supersets.txt:{number}: {family}: no function")
    bad += [f"test/supersets.txt:{number}: {name} is not declared in include/reel" for name in there if name not in declared]
    absent = [name for name in to_come if name not in declared]
    if absent:
        missing[family] = absent
    elif to_come:
        print(f"{family}: complete; remove the + of test/supersets.txt:{number}")
bad += [f"{counts[peer]} families of {PEERS[peer]}, there are {count}" for peer, count in FAMILIES.items() if counts[peer] != count]
for family, absent in missing.items():
    print(f"missing: {family}: {' '.join(absent)}")
print("\n".join(bad) or f"{sum(counts.values())} families of peers: {len(missing)} missing, {len(refused)} not worth having")
sys.exit(bool(bad))
