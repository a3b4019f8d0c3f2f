"""Reads what the library wrote, by Python's own zipfile and json and by the formats' definitions: read_files.py PROGRAM.

PROGRAM FOLDER writes the files. Where NumPy is installed it has to agree.
"""
import ast
import io
import json
import pathlib
import struct
import subprocess
import sys
import tempfile
import zipfile

try:
    import numpy
except ImportError:
    numpy = None

ROWS = [[0, 1, 2], [3, 4, 5]]
WANTED = {  # name: npy code, safetensors code, shape, elements
    "matrix": ("<f8", "F64", (2, 3), [float(x) for row in ROWS for x in row]),
    "transposed": ("<f8", "F64", (3, 2), [0.0, 3.0, 1.0, 4.0, 2.0, 5.0]),
    "float32": ("<f4", "F32", (2, 3), [float(x) for row in ROWS for x in row]),
    "flags": ("|b1", "BOOL", (2, 3), [False, False, False, True, True, True]),
    "bytes": ("|u1", "U8", (2, 3), [0, 1, 2, 3, 4, 5]),
    "number": ("<i8", "I64", (), [7]),
    "empty": ("<f8", "F64", (0, 3), []),
    "größe": ("<f8", "F64", (), [1.5]),
}
LETTERS = {"F64": "d", "F32": "f", "BOOL": "?", "U8": "B", "I64": "q"}
faults = []


def expect(what, found, wanted):
    if found != wanted:
        faults.append(f"{what}: {found}, wanted {wanted}")


def elements(raw, code):
    return list(struct.unpack(f"<{len(raw) // struct.calcsize(LETTERS[code])}{LETTERS[code]}", raw))


def check_npy(what, raw, name):
    code, letter, shape, values = WANTED[name]
    expect(f"{what}: magic and version", raw[:8], b"\x93NUMPY\1\0")
    length = struct.unpack("<H", raw[8:10])[0]
    header = ast.literal_eval(raw[10:10 + length].decode())
    expect(f"{what}: header", header, {"descr": code, "fortran_order": False, "shape": shape})
    expect(f"{what}: alignment", (10 + length) % 64, 0)
    expect(f"{what}: elements", elements(raw[10 + length:], letter), values)
    if numpy:
        expect(f"{what}: NumPy", numpy.load(io.BytesIO(raw)).ravel().tolist(), values)


def check_local(what, raw, member):
    """What a reader sees that meets the archive as a stream, before its directory."""
    _, checksum, size32, compressed32, name, extra = struct.unpack("<14sIIIHH", raw[:30])
    expect(f"{what}: checksum", checksum, member.CRC)
    expect(f"{what}: sizes", (size32, compressed32), (0xffffffff, 0xffffffff))
    expect(f"{what}: zip64 field", struct.unpack("<HHQQ", raw[30 + name:30 + name + extra]),
           (1, 16, member.file_size, member.compress_size))


with tempfile.TemporaryDirectory() as folder:
    folder = pathlib.Path(folder)
    subprocess.run([sys.argv[1], folder], check=True)
    for name in WANTED:
        check_npy(f"{name}.npy", (folder / f"{name}.npy").read_bytes(), name)
    for file, method in (("stored.npz", zipfile.ZIP_STORED), ("deflated.npz", zipfile.ZIP_DEFLATED)):
        with zipfile.ZipFile(folder / file) as archive:
            expect(f"{file}: damaged member", archive.testzip(), None)
            expect(f"{file}: names", sorted(archive.namelist()), sorted(f"{name}.npy" for name in WANTED))
            for member in archive.infolist():
                expect(f"{file}: method", member.compress_type, method)
                check_local(f"{file}: {member.filename}", (folder / file).read_bytes()[member.header_offset:], member)
                check_npy(f"{file}: {member.filename}", archive.read(member), member.filename.removesuffix(".npy"))
        if numpy:
            expect(f"{file}: NumPy", sorted(numpy.load(folder / file).files), sorted(WANTED))
    raw = (folder / "all.safetensors").read_bytes()
    length = struct.unpack("<Q", raw[:8])[0]
    header = json.loads(raw[8:8 + length])
    expect("safetensors: metadata", header.pop("__metadata__"), {"maker": "reel"})
    expect("safetensors: names", sorted(header), sorted(WANTED))
    for name, entry in header.items():
        _, code, shape, values = WANTED[name]
        begin, end = entry["data_offsets"]
        expect(f"safetensors: {name}", (entry["dtype"], tuple(entry["shape"])), (code, shape))
        expect(f"safetensors: {name}", elements(raw[8 + length + begin:8 + length + end], code), values)

print("\n".join(faults) or f"{len(WANTED)} arrays in four forms are right" + ("" if numpy else "; NumPy is not installed"))
sys.exit(bool(faults))
