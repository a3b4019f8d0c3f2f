"""Writes test/io/data, files that NumPy made: numpy_files.py FOLDER, with any NumPy. The tests read them.

Arrays are 0 .. 5 of shape [2, 3] in every dtype and byte order; imaginary parts are the negatives.
"""
import io
import pathlib
import sys

import numpy as np

folder = pathlib.Path(sys.argv[1])
numbers = np.arange(6.0).reshape(2, 3)
arrays = {}
for name, code in {"boolean": "b1", "uint8": "u1", "int32": "i4", "int64": "i8", "float16": "f2", "float32": "f4",
                   "float64": "f8", "complex64": "c8", "complex128": "c16"}.items():
    values = numbers - 1j * numbers if code[0] == "c" else numbers
    arrays[f"{name}.little"] = values.astype("<" + code)
    arrays[f"{name}.big"] = values.astype(">" + code)
arrays["bfloat16.little"] = (numbers.astype("<f4").view("<u4") >> 16).astype("<u2").view("V2")
arrays["fortran"] = np.asfortranarray(numbers)
arrays["rank 0"] = np.array(5.0)
arrays["rank 1"] = numbers[1]
arrays["empty"] = np.zeros((0, 2))
arrays["größe"] = numbers[1]
np.savez(folder / "numpy.npz", **arrays)
np.savez_compressed(folder / "numpy_compressed.npz", **arrays)
for version in (1, 2, 3):
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, numbers, (version, 0))
    (folder / f"numpy_version_{version}.npy").write_bytes(buffer.getvalue())
np.save(folder / "numpy_int16.npy", numbers.astype("<i2"))
np.save(folder / "numpy_record.npy", np.zeros(2, [("a", "<f4"), ("b", "<i8")]))
