"""Fails when an object of lib/ops, lib/gradient or a subject of ops reads elements of tensors as C++ values, but for those
whose result is one.

Usage: element_reads.py NM ARCHIVE. Rules and front ends of ops read no element: evaluate does, through lib/loops. Reads are item(),
to_vector(), data() and bool(tensor), which call the functions below. Exit status 77: the archive has no object for each source.
"""
import re
import subprocess
import sys

READS = re.compile(r" U reel::(detail::(?:copy_out|contiguous_data|strided_data)|Tensor::operator bool)\b")
HOST_VALUES = {  # what they return, or decide, is a C++ value
    "ops_compare": "array_equal and allclose return a bool",
    "ops_shape_numpy_shapes": "counts of repeat decide on the shape",
    "gradient_control_loop": "the condition of a while_loop that runs op by op",
    "gradient_inspect_check": "the gradient checker compares numbers",
    "linalg_csr_rows": "loops over the rows of sparse patterns",
    "linalg_krylov": "Krylov methods end by norms",
}
FOLDERS = "ops|gradient|linalg|special|fft|interpolate|image|geometry|nn|stats"  # solve, ode, sparse, optim and io read numbers

nm, archive = sys.argv[1:]
done = subprocess.run([nm, "-AC", "--undefined-only", archive], capture_output=True, text=True, check=True)
reads = {}
objects = set()
for line in done.stdout.splitlines():
    if found := re.search(rf"[:/ ]((?:{FOLDERS})_\w+)\.cpp\.o:", line):
        objects.add(found[1])
        if call := READS.search(line):
            reads.setdefault(found[1], set()).add(call[1])
if "ops_compare" not in objects or "gradient_reverse_pass" not in objects:
    print("skipped: the archive has no object for each source")
    sys.exit(77)
bad = [f"{name} calls {', '.join(sorted(calls))}" for name, calls in sorted(reads.items()) if name not in HOST_VALUES]
bad += [f"{name} reads no element any more: take it out of this list" for name in sorted(HOST_VALUES.keys() - reads.keys())]
print("\n".join(bad) or f"{len(objects)} objects, {len(reads)} of which read elements for a C++ value")
sys.exit(bool(bad))
