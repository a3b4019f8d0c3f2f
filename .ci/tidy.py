"""Runs clang-tidy on what a change touches in lib and include; says what is not clean.

Usage: tidy.py BUILD [all]. BUILD holds the compile_commands.json of a build by clang. A change is what differs from the merge base
with the branch or commit REEL_LANDED, origin/main where that is not set. Where there is no such base, or nothing lies between it and
HEAD, it is what the last commit changed. With "all" every file is checked.
A header is checked by way of the first source that includes it, a public one by the file of test/consumers that includes it alone.
What is checked depends on the tree and its history alone, not on a clock. Exit status 77: there is no clang-tidy 14 (versions differ),
or no earlier commit to compare with.
"""
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SOURCES = 30  # of one run, about four seconds each; the rest is named and left out
FOLDERS = ("lib", "include")


def git(*arguments):
    """What git prints, or None where it fails."""
    done = subprocess.run(["git", *arguments], capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else None


def base():
    """The commit to compare with, or None."""
    landed = git("merge-base", "HEAD", os.environ.get("REEL_LANDED", "origin/main"))
    if landed and landed != git("rev-parse", "HEAD"):
        return landed
    return git("rev-parse", "--verify", "--quiet", "HEAD~1")


def changed(commit):
    """The C++ files of FOLDERS that differ from a commit in the work tree, new ones too; all for None."""
    if commit is None:
        names = git("ls-files", "--cached", "--others", "--exclude-standard", *FOLDERS)
    else:
        names = git("diff", "--name-only", "--diff-filter=d", commit, "--", *FOLDERS) + "\n" + git(
            "ls-files", "--others", "--exclude-standard", *FOLDERS)
    return sorted({name for name in names.split("\n") if re.search(r"\.[ch]pp$", name)})


def reader(header, sources):
    """The source to check a header by: None where no source includes it."""
    if header.startswith("include/"):
        alone = re.sub(r"[/.]", "_", header.removeprefix("include/")) + ".cpp"
        return next((s for s in sources if pathlib.Path(s).name == alone), None)
    line = re.compile(rf'^#include "{re.escape(header.removeprefix("lib/"))}"', re.M)
    return next((s for s in sorted(sources) if s.startswith("lib/") and line.search(pathlib.Path(s).read_text())), None)


def main(build, everything):
    tidy = next((name for name in ("clang-tidy-14", "clang-tidy") if shutil.which(name)), None)
    version = tidy and subprocess.run([tidy, "--version"], capture_output=True, text=True).stdout
    if not version or "version 14." not in version:
        print("skipped: there is no clang-tidy 14")
        return 77
    # One command of each source: kernels are compiled once per instruction set.
    commands = {}
    for command in json.loads((build / "compile_commands.json").read_text()):
        path = (pathlib.Path(command["directory"]) / command["file"]).resolve()
        commands[os.path.relpath(path)] = command
    commit = None if everything else base()
    if commit is None and not everything:
        print("skipped: there is no earlier commit to compare with")
        return 77
    files = changed(commit)
    wanted = {f if f.endswith(".cpp") else reader(f, commands) for f in files} & set(commands)
    wanted = sorted(wanted)
    print(f"{len(files)} files {'in all' if commit is None else f'differ from {commit}'}: {len(wanted)} sources")
    if not everything and len(wanted) > SOURCES:
        print("left out: " + " ".join(wanted[SOURCES:]))
        wanted = wanted[:SOURCES]
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "compile_commands.json").write_text(json.dumps([commands[name] for name in wanted]))

        def check(name):
            return subprocess.run([tidy, "-p", folder, "--quiet", "--warnings-as-errors=*", name], capture_output=True, text=True)

        findings = set()  # a header's come once for each source
        with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            for name, done in zip(wanted, pool.map(check, wanted)):
                if done.returncode:
                    found = re.findall(r"^.*(?:error|warning): .*$", done.stdout, re.M) or [f"{name}: {done.stderr.strip()}"]
                    lines = {re.sub(r"^/.*?/(?=(?:lib|include)/)|^(?:\.\./)+", "", line) for line in found} - findings
                    print(*sorted(lines), sep="\n", flush=True)
                    findings |= lines
    return bool(findings)


sys.exit(main(pathlib.Path(sys.argv[1]), sys.argv[2:] == ["all"]))
