"""Fails unless samples that take long show on a terminal how far they are. Usage: progress.py PROGRAM...

Each is started with stderr on a terminal, and ended as soon as it has drawn a line there that begins with a carriage return.
Exit status 77: the system gives no terminal, as a root without /dev/pts.
"""
import os
import pathlib
import pty
import select
import signal
import subprocess
import sys
import tempfile
import time

LONGEST = 120  # seconds until the first line


def draws(program, folder):
    try:
        mine, its = pty.openpty()
    except OSError as error:
        print(error)
        sys.exit(77)
    process = subprocess.Popen([program], stderr=its, stdout=subprocess.DEVNULL, cwd=folder)
    os.close(its)
    seen, end = b"", time.monotonic() + LONGEST
    while b"\r" not in seen and time.monotonic() < end:
        if select.select([mine], [], [], 1)[0]:
            try:
                seen += os.read(mine, 4096)
            except OSError:  # the program has ended
                break
    process.send_signal(signal.SIGKILL)
    process.wait()
    os.close(mine)
    return b"\r" in seen


with tempfile.TemporaryDirectory() as folder:
    silent = [pathlib.Path(program).name for program in sys.argv[1:] if not draws(pathlib.Path(program).resolve(), folder)]
if silent or len(sys.argv) == 1:
    print("no progress is shown by", " ".join(silent) or "any: no program is named")
    sys.exit(1)
print(f"{len(sys.argv) - 1} programs show their progress")
