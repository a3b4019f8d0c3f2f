"""Fails when a file includes what it may not know, or a third party that is not its own.

Usage: layers.py ROOT. The engine is built of floors, which include lower ones only. A subject is one folder: its front
ends, rules, loops and kernels. It uses the engine and the subjects that are listed for it; the engine uses no subject.
Within a subject the floor of a file is that of its namespace, reel::kernels or reel::loops; all others are above the
engine. Public headers include the standard library and each other; what needs a third party has a header of its own
that <reel/reel.hpp> does not include. Ops are primitives: outside lib/ops/apply they do not record, call no kernel,
start no thread and read no element; rules and replay read none either.
"""
import pathlib
import re
import sys

ENGINE = {  # floor: (the other floors it may include, third parties it may include)
    "core": (set(), {"fmt"}),
    "kernels": (set(), {"xsimd", "sleef.h"}),
    "loops": ({"core", "kernels"}, {"tbb", "oneapi"}),
    "tape": ({"core"}, set()),
    "csource": ({"core"}, {"fmt"}),
    "ops": ({"core", "kernels", "loops", "tape", "csource"}, set()),
    "program": ({"core", "loops", "tape", "ops"}, set()),
    "codegen": ({"core", "kernels", "loops", "tape", "csource", "ops", "program"}, {"fmt"}),
    "gradient": ({"core", "kernels", "loops", "tape", "csource", "ops", "program", "codegen"}, set()),
    "compile": ({"core", "loops", "tape", "ops", "program", "gradient"}, set()),
}
SYSTEM = {"core/system/math.hpp", "core/system/system.hpp"}  # what the operating system gives: below all floors
SUBJECTS = {  # subject: (the other subjects it may include, third parties it may include)
    "linalg": (set(), set()),
    "special": (set(), set()),
    "fft": ({"linalg"}, set()),
    "interpolate": ({"linalg"}, set()),
    "image": ({"interpolate"}, set()),
    "geometry": ({"interpolate", "linalg"}, set()),
    "nn": ({"linalg"}, set()),
    "stats": ({"linalg", "special"}, set()),
    "solve": ({"interpolate", "linalg", "special"}, set()),
    "ode": ({"interpolate", "solve"}, set()),
    "sparse": ({"linalg"}, set()),
    "optim": ({"linalg", "sparse"}, set()),
    "io": ({"optim"}, {"fmt", "nlohmann", "zlib.h"}),
    "mpi": (set(), {"mpi.h"}),  # a library of its own, on the public headers
}
# They call functions and read numbers, between ops.
DRIVERS = {"solve", "ode", "sparse", "optim", "io", "linalg/krylov.cpp", "linalg/linear_solve.cpp"}
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


def floor(name):
    """The floor of a file of lib: its folder in the engine; in a subject kernels or loops by its namespace, or top."""
    folder = name.split("/")[0]
    if folder in ENGINE:
        return folder
    inside = re.search(r"^namespace reel::(kernels|loops)\b", (root / "lib" / name).read_text(), re.MULTILINE)
    return inside[1] if inside else "top"


def check(name):
    """The includes of a file of lib."""
    folder, level = name.split("/")[0], floor(name)
    below, third = ENGINE.get(level, (set(ENGINE), set()))
    subjects, own = SUBJECTS.get(folder, (set(), set()))
    for include in includes(root / "lib" / name):
        head = include.split("/")[0]
        if include.startswith(".."):
            bad.append(f"lib/{name}: write {include} relative to lib")
        elif head in THIRD - third - own:
            bad.append(f"lib/{name}: {level} of {folder} may not include {include}")
        elif level == "kernels" and head == "reel" and include != "reel/dtype.hpp":
            bad.append(f"lib/{name}: kernels see pointers, strides and counts, not {include}")
        elif head == "reel" and not (root / "include" / include).exists():
            bad.append(f"lib/{name}: there is no {include}")
        elif head in ENGINE and head not in below | {level} and include not in SYSTEM:
            bad.append(f"lib/{name}: {level} may not include {include}")
        elif head in SUBJECTS and head not in subjects | {folder}:
            bad.append(f"lib/{name}: {folder} may not include {include}")
        elif head in SUBJECTS and level in ENGINE and folder in SUBJECTS and floor(include) not in below | {level}:
            bad.append(f"lib/{name}: {level} may not include {include}, which is above it")


def check_primitives(name):
    """What ops, rules and replay do through lib/ops/apply only."""
    folder = name.split("/")[0]
    code = re.sub(r"//.*", "", (root / "lib" / name).read_text())
    for pattern, why in PRIMITIVES_ONLY.items():
        if pathlib.Path(name).name in TABLE_USERS and "kernels" in why or folder == "gradient" and "elements" not in why:
            continue
        for match in pattern.finditer(code):
            line = code.count("\n", 0, match.start()) + 1
            bad.append(f"lib/{name}:{line}: {match[0]}: {why}")


for path in sorted((root / "lib").rglob("*.[ch]pp")):
    name = str(path.relative_to(root / "lib"))
    folder = name.split("/")[0]
    if folder not in ENGINE and folder not in SUBJECTS:
        bad.append(f"lib/{name}: neither a floor of the engine nor a subject is named {folder}")
        continue
    check(name)
    subject = folder in SUBJECTS and folder != "mpi" and floor(name) == "top" and not DRIVERS & {folder, name}
    if (subject or folder in {"ops", "gradient"}) and not name.startswith("ops/apply/"):
        check_primitives(name)

for path in sorted((root / "include").rglob("*.hpp")):
    name = path.relative_to(root)
    for include in includes(path):
        head = include.split("/")[0]
        if head in THIRD - OPTIONAL.get(path.name, set()):
            bad.append(f"{name}: may not include {include}")
        elif head in ENGINE or head in SUBJECTS:
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
