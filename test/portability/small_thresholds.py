"""Lowers the sizes at which the library changes strategy, in a copy of the tree: small_thresholds.py ROOT. With
--check it changes nothing and only says whether it finds them all.

Random programs have few elements. With low thresholds they run what only large tensors run otherwise: loops in several
tasks, cotangents added in place, sums fused with their terms, packed operands, products in parts.
"""
import pathlib
import re
import sys

# The value of each constant, by file.
LOW = {
    "lib/loops/tuning.hpp": {
        "parallel_threshold": "2", "copy_grain": "2", "cast_grain": "2", "fill_grain": "2", "pointwise_grain_min": "1",
        "pointwise_grain_max": "3", "program_grain": "3", "program_row_bytes": "8", "special_grain": "1",
        "along_chunk": "2", "along_columns": "1", "factor_grain": "10", "rows_grain": "1", "short_run": "3",
        "packed_run": "4", "packed_elements": "4", "transposed_copy_elements": "2", "product_split": "1",
        "product_large": "64"},
    "lib/loops/elementwise/complex.cpp": {"elementary_grain": "2"},
    "lib/loops/product/matmul.cpp": {"least_elements": "1"},
    "lib/loops/product/symmetric.hpp": {"least_rows": "2"},
    "lib/loops/reduce/reduce.cpp": {"fused_elements_min": "1", "least_length": "1"},
    "lib/nn/correlation.cpp": {"least_elements": "2"},
    "lib/nn/convolution_filters.cpp": {"least_elements": "2"},
    "lib/nn/planes.hpp": {"window_grain": "4"},
    "lib/nn/pooling_loops.cpp": {"grain_elements": "2", "grain_windows": "1"},
    "lib/ops/apply/pointwise.hpp": {"view_elements_min": "1"},
    "lib/program/passes/fuse.cpp": {"least_bytes": "1"},
    "lib/program/passes/passes.hpp": {"most_folded_elements": "0"},
}


def lowered(text, name, value):
    """The text with another value of the constant; an error unless it is defined there once."""
    found = list(re.finditer(rf"\b(constexpr [^;]*?\b{name} = )([^,;]+)", text))
    if len(found) != 1:
        sys.exit(f"small_thresholds.py: {name} is defined {len(found)} times")
    return text[:found[0].start(2)] + value + text[found[0].end(2):]


def main():
    root = pathlib.Path(sys.argv[1])
    for file, constants in LOW.items():
        text = (root / file).read_text()
        for name, value in constants.items():
            text = lowered(text, name, value)
        if "--check" not in sys.argv:
            (root / file).write_text(text)


main()
