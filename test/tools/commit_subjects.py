"""Fails when the subject of a commit has not the form `area: Fix what changed`: an area or several, then an imperative with a capital
letter, at most 72 characters, no full stop. Checked are the commits since this check exists, as far as the clone has them.

Usage: commit_subjects.py ROOT.
"""
import re
import subprocess
import sys

SUBJECT = re.compile(r"[\w./+-]+(?:, [\w./+-]+)*: [A-Z].*[^.]")
NOT_IMPERATIVE = re.compile(r": (?!(?:Need|Feed|Embed|Seed|Speed|Exceed|Proceed|Bring) )(?:\w+(?:ed|ing)|Fixes|Adds|Makes|Moves|Removes|Changes) ")
LONGEST = 72


def git(*arguments):
    result = subprocess.run(["git", "-C", sys.argv[1], *arguments], capture_output=True, text=True)
    return result.stdout.split("\n")[:-1] if result.returncode == 0 else []


added = git("log", "--diff-filter=A", "--format=%H", "--", "test/tools/commit_subjects.py")
if not added:
    print("skipped: no history")
    sys.exit(77)
bad = []
for subject in git("log", "--no-merges", "--format=%s", f"{added[0]}..HEAD"):
    if len(subject) > LONGEST:
        bad.append(f"{subject}: longer than {LONGEST} characters")
    elif not SUBJECT.fullmatch(subject):
        bad.append(f"{subject}: not of the form `area: Fix what changed`")
    elif NOT_IMPERATIVE.search(subject):
        bad.append(f"{subject}: not an imperative")
print("\n".join(bad) or "all subjects have the form")
sys.exit(bool(bad))
