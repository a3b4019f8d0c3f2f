"""The shared library has one thread_local of 16 bytes, so that many copies of it fit into a process.

Usage: thread_local.py READELF LIBRARY. The loader's static TLS block leaves 1664 bytes to all libraries that dlopen loads.
"""
import re
import subprocess
import sys

LIMIT = 16

readelf, library = sys.argv[1:]
text = subprocess.run([readelf, "-W", "-l", library], capture_output=True, text=True, check=True).stdout
sizes = [int(found[1], 16) for found in re.finditer(r"^ +TLS +(?:0x\w+ +){4}(0x\w+)", text, re.MULTILINE)]
print(f"PT_TLS: {sizes} bytes, at most {LIMIT}")
sys.exit(0 if len(sizes) == 1 and sizes[0] <= LIMIT else 1)
