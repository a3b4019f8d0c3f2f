"""What the tests run of the library, from gcovr's JSON report: shares of lines and branches by folder, what is not
covered by file and line. Fails below the thresholds.

Usage: coverage.py REPORT.json
"""
import collections
import json
import sys

# (lines, branches) in percent; a folder below lib that is not named counts among the rest.
CORE = {"tape", "gradient", "compile"}
THRESHOLDS = {"tape, gradient, compile": (95, 90), "the rest": (92, 80)}


class Count:
    def __init__(self):
        self.lines = self.lines_run = self.branches = self.branches_taken = 0

    def add(self, line):
        self.lines += 1
        self.lines_run += line["count"] > 0
        self.branches += len(line["branches"])
        self.branches_taken += sum(b["count"] > 0 for b in line["branches"])

    def shares(self):
        return (100 * self.lines_run / max(1, self.lines), 100 * self.branches_taken / max(1, self.branches))

    def row(self, name):
        lines, branches = self.shares()
        return (f"{name:32} {self.lines_run:6} of {self.lines:6} lines {lines:6.2f} %   "
                f"{self.branches_taken:6} of {self.branches:6} branches {branches:6.2f} %")


def ranges(numbers):
    """[1, 2, 3, 7] as "1-3, 7"."""
    parts, numbers = [], sorted(numbers)
    for n in numbers:
        if parts and n == parts[-1][1] + 1:
            parts[-1][1] = n
        else:
            parts.append([n, n])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in parts)


def main():
    files = json.load(open(sys.argv[1]))["files"]
    folders, groups = collections.defaultdict(Count), collections.defaultdict(Count)
    left = []  # (lines not run, file, those lines, lines with a branch that is not taken)
    for file in sorted(files, key=lambda f: f["file"]):
        parts = file["file"].split("/")
        folder = "/".join(parts[:2])
        group = "tape, gradient, compile" if parts[0] == "lib" and parts[1] in CORE else "the rest"
        missed, half = [], []
        for line in file["lines"]:
            if line.get("gcovr/noncode") or line.get("gcovr/excluded"):
                continue
            folders[folder].add(line)
            groups[group].add(line)
            if line["count"] == 0:
                missed.append(line["line_number"])
            elif any(b["count"] == 0 for b in line["branches"]):
                half.append(line["line_number"])
        if missed or half:
            left.append((len(missed), file["file"], missed, half))
    if not groups:
        sys.exit("no lines in the report")
    for missing, file, missed, half in sorted(left, key=lambda entry: (-entry[0], -len(entry[3]), entry[1])):
        print(file)
        if missed:
            print(f"  not run: {ranges(missed)}")
        if half:
            print(f"  a branch not taken: {ranges(half)}")
    for name in sorted(folders):
        print(folders[name].row(name))
    bad = False
    for name, (lines, branches) in THRESHOLDS.items():
        got = groups[name].shares()
        low = got[0] < lines or got[1] < branches
        bad = bad or low
        print(groups[name].row(name) + f"   wanted {lines} and {branches} %{': too few' if low else ''}")
    return bad


if __name__ == "__main__":
    sys.exit(main())
