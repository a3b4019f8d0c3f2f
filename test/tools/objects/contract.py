"""What a user's build relies on: every exported symbol is reel's own and has the version of the series that the ABI belongs to, as has
the SONAME, and the library needs nothing that its pkg-config file does not name.

Usage: contract.py NM READELF LIBRARY VERSION
"""
import re
import subprocess
import sys

nm, readelf, library, version = sys.argv[1:]


def lines(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()


bad = []
# Type information and virtual tables of reel's own classes, and what the tree's C++ exports.
OWN = re.compile(r"^(?:(?:vtable|typeinfo|typeinfo name|guard variable|VTT) for )?(?:[\w:<>,&* ]+ )?reel::|"
                 r"^(?:non-)?virtual thunk to reel::")
series = ".".join(version.split(".")[:2 if version.startswith("0.") else 1])
exported = [line.split(maxsplit=2)[2] for line in lines(nm, "-D", "-C", "--defined-only", library)]
bad += [f"exported, but not in namespace reel: {name}" for name in exported
        if not OWN.match(name) and not name.startswith("REEL_")]
bad += [f"exported without the version REEL_{series}: {name}" for name in exported if not name.endswith(f"REEL_{series}")]
if len(exported) < 300:
    bad.append(f"only {len(exported)} exported symbols: is this the library?")

dynamic = "\n".join(lines(readelf, "-d", library))
soname = re.search(r"SONAME.*\[(.*)\]", dynamic)
wanted = f"libreel.so.{series}"
if not soname or soname[1] != wanted:
    bad.append(f"SONAME is {soname and soname[1]}, not {wanted}")
ALLOWED = re.compile(r"lib(?:stdc\+\+|m|gcc_s|c|tbb|fmt|openblas|sleef|z|asan|ubsan|pthread)(?:\.|$)|ld-linux")
bad += [f"needs {name}" for name in re.findall(r"NEEDED.*\[(.*)\]", dynamic) if not ALLOWED.match(name)]

print(*bad, sep="\n")
print(f"{len(exported)} exported symbols")
sys.exit(bool(bad))
