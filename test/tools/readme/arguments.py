"""Samples that read their arguments: others than theirs, and a value that is missing, end them with usage and status 2.

Usage: arguments.py PROGRAM...
"""
import pathlib
import subprocess
import sys

wrong = []
for program in sys.argv[1:]:
    name = pathlib.Path(program).name
    listed = subprocess.run([program, "--wrong", "1"], capture_output=True, text=True).stderr
    own = [word.strip("[]") for word in listed.split() if word.startswith("[--")]
    if not own:
        wrong.append(f"{name} --wrong 1 does not print its arguments, but {listed!r}")
    for arguments in (["--wrong", "1"], ["--wrong"], ["1"], own[:1], [*own[:1], "a", "--wrong"]):
        run = subprocess.run([program, *arguments], capture_output=True, text=True)
        if run.returncode != 2 or not run.stderr.startswith(f"usage: {name} [--"):
            wrong.append(f"{name} {' '.join(arguments)}: status {run.returncode}, {run.stderr!r}")
if len(sys.argv) == 1:
    wrong.append("no program is named")
print("\n".join(wrong) or f"{len(sys.argv) - 1} programs")
sys.exit(bool(wrong))
