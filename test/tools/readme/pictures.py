"""Fails unless a sample passes and draws the picture of samples/gallery that samples/README.md shows.

Usage: pictures.py README PICTURE DRAWN PROGRAM [--write]. PROGRAM --svg DRAWN must have the titles, notes, labels and curves of
PICTURE. Coordinates may differ by 15 units, a twentieth of a panel: rounding errors of other instruction sets move them, and ticks.
--write records what is drawn.
"""
import pathlib
import re
import shutil
import subprocess
import sys

TEXT = re.compile(r'class="(?!tick)[^>]*>([^<]+)</text>')
SHAPE = re.compile(r'<path class="curve"[^>]* d="([^"]*)"|<circle (cx="[^"]*" cy="[^"]*")')
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
MOST = 15.0  # units


def contents(picture):
    """The texts but for those of ticks, and the coordinates of each curve and point."""
    text = picture.read_text()
    shapes = [curve or point for curve, point in SHAPE.findall(text)]
    return TEXT.findall(text), [[float(number) for number in NUMBER.findall(shape)] for shape in shapes]


def faults(picture, drawn):
    (texts, shapes), (now_texts, now_shapes) = contents(picture), contents(drawn)
    if not texts or not shapes:
        yield "has no text or no curve"
    if texts != now_texts:
        yield f"has the texts {texts}, drawn are {now_texts}"
    if [len(shape) for shape in shapes] != [len(shape) for shape in now_shapes]:
        yield "has other curves than are drawn"
    else:
        far = max((abs(a - b) for one, other in zip(shapes, now_shapes) for a, b in zip(one, other)), default=0)
        if far > MOST:
            yield f"differs by {far} units from what is drawn, {MOST} at most"


def main(readme, picture, drawn, program, *options):
    readme, picture, drawn = (pathlib.Path(path) for path in (readme, picture, drawn))
    status = subprocess.run([program, "--svg", drawn]).returncode
    if status != 0:
        return status
    if "--write" in options:
        shutil.copy(drawn, picture)
    bad = list(faults(picture, drawn))
    if f"({picture.relative_to(readme.parent)})" not in readme.read_text():
        bad.append(f"is not shown by {readme}")
    print("\n".join(f"{picture} {fault}" for fault in bad), end="\n" if bad else "")
    return bool(bad)


sys.exit(main(*sys.argv[1:]))
