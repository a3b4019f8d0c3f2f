"""Fails when a file includes a layer that it may not know, or a third party that is not its own.

Usage: layers.py ROOT. The layers are those of the architecture: arrows go down. Public headers include the standard
library and each other; what needs a third party has a header of its own that <reel/reel.hpp> does not include. Ops are
primitives: outside lib/ops/apply they do not record, call no kernel, start no thread and read no
element; rules and replay read none either.
"""
import pathlib
import re
import sys

LAYERS = {  # layer: (other layers it may include, third parties it may include)
    "core": (set(), {"fmt"}),
    "kernels": (set(), {"xsimd", "sleef.h"}),
    "loops": ({"core", "kernels"}, {"tbb", "oneapi"}),
    "tape": ({"core"}, set()),
    "ops": ({"core", "kernels", "loops", "tape"}, set()),
    "program": ({"core", "loops", "tape", "ops"}, set()),
    "gradient": ({"core", "kernels", "loops", "tape", "ops", "program"}, set()),
    "optim": ({"core", "kernels", "loops", "tape", "ops", "program", "gradient"}, set()),
    "compile": ({"core", "loops", "tape", "ops", "program", "gradient"}, set()),
    "io": ({"core", "tape", "ops", "optim"}, {"fmt", "nlohmann", "zlib.h"}),
    "mpi": (set(), {"mpi.h"}),  # a library of its own, on the public headers
}
THIRD = {"fmt", "xsimd", "tbb", "oneapi", "xtensor", "xtl", "Eigen", "sleef.h", "cblas.h", "lapacke.h", "nlohmann", "catch2", "zlib.h", "mpi.h"}
OPTIONAL = {"xtensor.hpp": {"xtensor", "xtl"}, "eigen.hpp": {"Eigen"}, "fmt.hpp": {"fmt"}}  # public headers of their own
LEAN = {  # what <reel/reel.hpp> may include of the standard library
    "array", "cstddef", "cstdint", "initializer_list", "iosfwd", "map", "span", "stdexcept", "string", "tuple",
    "type_traits", "utility", "vector",
    "compare", "concepts", "iterator", "limits", "new", "string_view",  # free: the others include them
}
# What lib/ops may not name outside lib/ops/apply, and who else may.
PRIMITIVES_ONLY = {
    re.compile(r"\btape::(active|record|note_unrecorded)\b"): "ops are recorded by apply()",
    re.compile(r"\bkernels::|\"kernels/"): "kernels are called by lib/loops",
    re.compile(r"\bparallel_for\b|\btbb\b"): "threads are started by lib/loops",
    re.compile(r"\.item\b|\bmutable_data\b|->data\b|\.data<"): "elements are read by lib/loops",
}
TABLE_USERS = {"pointwise.cpp", "recorded_derivatives.cpp", "trace.cpp", "derive.cpp"}  # they name definitions of the pointwise table
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)

root = pathlib.Path(sys.argv[1])
bad = []


def includes(path):
    return INCLUDE.findall(path.read_text())


for path in sorted((root / "lib").rglob("*.[ch]pp")):
    name = path.relative_to(root)
    layer = name.parts[1]
    if layer not in LAYERS:
        bad.append(f"{name}: no layer is named {layer}")
        continue
    below, third = LAYERS[layer]
    for include in includes(path):
        head = include.split("/")[0]
        if include.startswith(".."):
            bad.append(f"{name}: write {include} relative to lib")
        elif head in LAYERS and head not in below | {layer}:
            bad.append(f"{name}: {layer} may not include {include}")
        elif head in THIRD - third:
            bad.append(f"{name}: {layer} may not include {include}")
        elif layer == "kernels" and head == "reel" and include != "reel/dtype.hpp":
            bad.append(f"{name}: kernels see pointers, strides and counts, not {include}")
        elif head == "reel" and not (root / "include" / include).exists():
            bad.append(f"{name}: there is no {include}")

    if layer in ("ops", "gradient") and name.parts[2] != "apply":
        code = re.sub(r"//.*", "", path.read_text())
        for pattern, why in PRIMITIVES_ONLY.items():
            if path.name in TABLE_USERS and "kernels" in why or layer == "gradient" and "elements" not in why:
                continue
            for match in pattern.finditer(code):
                line = code.count("\n", 0, match.start()) + 1
                bad.append(f"{name}:{line}: {match[0]}: {why}")

for path in sorted((root / "include").rglob("*.hpp")):
    name = path.relative_to(root)
    for include in includes(path):
        head = include.split("/")[0]
        if head in THIRD - OPTIONAL.get(path.name, set()):
            bad.append(f"{name}: may not include {include}")
        elif head in LAYERS:
            bad.append(f"{name}: a public header may not include {include}")

# What the main header reaches.
reached, queue = set(), ["reel/reel.hpp"]
while queue:
    header = queue.pop()
    path = root / "include" / header
    if header in reached or not path.exists():
        continue
    reached.add(header)
    for include in includes(path):
        if include.startswith("reel/"):
            queue.append(include)
        elif (root / "include" / "reel" / include).exists() or (path.parent / include).exists():
            bad.append(f"include/{header}: write {include} as <reel/...>")
        elif include not in LEAN:
            bad.append(f"include/{header}: reel.hpp may not include <{include}>")

print("\n".join(bad) or "every include goes down")
sys.exit(bool(bad))
