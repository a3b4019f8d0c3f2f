"""The set-up script waits while another process holds a lock of the package manager; stubs stand for apt and dpkg.

Usage: setup_locks.py SOURCE_DIRECTORY
"""
import os
import subprocess
import sys
import tempfile

# Each command fails once, as apt 2.6 does where a lock is held that DPkg::Lock::Timeout does not concern.
APT = """#!/bin/sh
echo "$@" >> calls
[ -n "$REFUSED" ] && { echo "E: Unable to locate package $REFUSED"; exit 100; }
case "$*" in *update*) held=lists ;; *) held=archives ;; esac
[ -e $held ] && exit 0
touch $held
echo "E: Could not get lock /var/$held/lock. It is held by process 1 (apt)" >&2
exit 100
"""
STUBS = {"apt-get": APT, "dpkg-query": "#!/bin/sh\nexit 1\n", "sudo": '#!/bin/sh\nexec "$@"\n'}
script = os.path.abspath(os.path.join(sys.argv[1], "subprojects", "setup"))


def run(**environment):
    """The exit code of `setup tidy`, what it wrote, and the calls of apt-get."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in STUBS.items():
            path = os.path.join(folder, name)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            os.chmod(path, 0o755)
        path = folder + os.pathsep + os.environ["PATH"]
        done = subprocess.run([script, "tidy"], cwd=folder, env={**os.environ, **environment, "PATH": path},
                              capture_output=True, text=True, timeout=60)
        with open(os.path.join(folder, "calls"), encoding="utf-8") as file:
            return done.returncode, done.stderr, file.read().splitlines()


wrong = []
code, said, calls = run()
if code or [("update" in call, "install" in call) for call in calls] != [(True, False)] * 2 + [(False, True)] * 2:
    wrong.append(f"a held lock ends the script with {code} after the calls {calls}: {said}")
if not all("-o DPkg::Lock::Timeout=300" in call for call in calls):
    wrong.append(f"a call does not wait for the lock of dpkg: {calls}")
code, said, calls = run(REFUSED="clang-tidy")
if not code or len(calls) != 2:
    wrong.append(f"another failure ends the script with {code} after the calls {calls}: {said}")
print("\n".join(wrong) or "as it should be")
sys.exit(bool(wrong))
