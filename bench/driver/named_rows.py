"""Fails when a comment of lib names a row of bench/run that does not exist.

Usage: named_rows.py ROOT PROGRAM; PROGRAM is bench_reel. A comment names rows by `Row: "text"` or `Rows: "text", "text"`; a
row has the name if its own contains the text.
"""
import pathlib
import re
import sys

from program import Program

NAMED = re.compile(r'\bRows?(?: of bench/run)?:((?:[^.\n"]|\n\s*//|"[^"\n]*")*)')

root, program = pathlib.Path(sys.argv[1]), Program('reel', [sys.argv[2]], 1)
program.stop()
bad, count = [], 0
for path in sorted((root / 'lib').rglob('*.?pp')):
    for comment in NAMED.finditer(path.read_text()):
        for text in re.findall(r'"([^"]*)"', comment[1]):
            count += 1
            if not any(text in name for name in program.cases):
                bad.append(f'{path.relative_to(root)}: no row is named {text}')
print('\n'.join(bad) or f'{count} names of rows, each with a row')
sys.exit(bool(bad) or count < 20)
