"""Fails unless the README's first program prints what the README says it prints. Usage: output.py README PROGRAM."""
import pathlib
import re
import subprocess
import sys

readme, program = sys.argv[1:]
expected = re.search(r"^```text\n(.*?)^```$", pathlib.Path(readme).read_text(), re.MULTILINE | re.DOTALL).group(1)
printed = subprocess.run([program], capture_output=True, text=True, check=True).stdout
print(printed, end="")
sys.exit(printed != expected and f"the README says: {expected}")
