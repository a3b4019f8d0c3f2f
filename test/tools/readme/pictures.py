"""Fails unless a sample passes and draws the picture of samples/gallery that samples/README.md shows.

Usage: pictures.py [--write] README PICTURE DRAWN PROGRAM [ARGUMENT...]. What PROGRAM ARGUMENT... --svg DRAWN draws must have the
titles, notes, labels, curves and fields of PICTURE. Coordinates may differ by 15 units, a twentieth of a panel, and colours by 25
of 255: rounding errors of other instruction sets move them, and ticks. --write records what is drawn.
"""
import pathlib
import re
import shutil
import subprocess
import sys

TEXT = re.compile(r'class="(?!tick)[^>]*>([^<]+)</text>')
SHAPE = re.compile(r'<path class="curve"[^>]* d="([^"]*)"|<circle (cx="[^"]*" cy="[^"]*")')
FIELD = re.compile(r'<g shape-rendering="crispEdges"[^>]*>\n(.*?)</g>', re.DOTALL)
CELLS = re.compile(r'<path fill="#(\w{6})" d="([^"]*)"')
CELL = re.compile(r"M(\d+) (\d+)")
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
MOST, MOST_COLOUR = 15.0, 25  # units, of 255


def contents(picture):
    """The texts but for those of ticks, and the coordinates of each curve and point."""
    text = picture.read_text()
    shapes = [curve or point for curve, point in SHAPE.findall(text)]
    return TEXT.findall(text), [[float(number) for number in NUMBER.findall(shape)] for shape in shapes]


def fields(picture):
    """The colour of each cell of each field."""
    for field in FIELD.findall(picture.read_text()):
        yield {cell: bytes.fromhex(colour) for colour, path in CELLS.findall(field) for cell in CELL.findall(path)}


def faults_of_fields(picture, drawn):
    before, now = list(fields(picture)), list(fields(drawn))
    if [field.keys() for field in before] != [field.keys() for field in now]:
        yield "has other fields than are drawn"
    else:
        far = max((abs(a - b) for field, other in zip(before, now) for cell in field for a, b in zip(field[cell], other[cell])), default=0)
        if far > MOST_COLOUR:
            yield f"has colours that differ by {far} of 255 from those drawn, {MOST_COLOUR} at most"


def faults(picture, drawn):
    (texts, shapes), (now_texts, now_shapes) = contents(picture), contents(drawn)
    if not texts or not shapes and not any(fields(picture)):
        yield "has no text, or nothing else"
    if texts != now_texts:
        yield f"has the texts {texts}, drawn are {now_texts}"
    if [len(shape) for shape in shapes] != [len(shape) for shape in now_shapes]:
        yield "has other curves than are drawn"
    else:
        far = max((abs(a - b) for one, other in zip(shapes, now_shapes) for a, b in zip(one, other)), default=0)
        if far > MOST:
            yield f"differs by {far} units from what is drawn, {MOST} at most"


def main(*arguments):
    write = arguments[0] == "--write"
    readme, picture, drawn = (pathlib.Path(path) for path in arguments[write:write + 3])
    drawn.unlink(missing_ok=True)
    status = subprocess.run([*arguments[write + 3:], "--svg", drawn]).returncode
    if status != 0:
        return status
    if write:
        shutil.copy(drawn, picture)
    bad = [*faults(picture, drawn), *faults_of_fields(picture, drawn)]
    if f"({picture.relative_to(readme.parent)})" not in readme.read_text():
        bad.append(f"is not shown by {readme}")
    print("\n".join(f"{picture} {fault}" for fault in bad), end="\n" if bad else "")
    return bool(bad)


sys.exit(main(*sys.argv[1:]))
