"""Fails when the stripped shared library is larger than its budget.

Usage: library_size.py STRIP LIBRARY MEGABYTES
"""
import os
import subprocess
import sys
import tempfile

strip, library, budget = sys.argv[1:]
with tempfile.NamedTemporaryFile() as stripped:
    subprocess.run([strip, "-o", stripped.name, library], check=True)
    size = os.path.getsize(stripped.name) / 1e6
print(f"{size:.2f} MB of {budget}")
sys.exit(size > float(budget))
