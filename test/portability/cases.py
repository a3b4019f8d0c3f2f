"""Runs the test program; its failures must be the test cases that a list names, each after its reason.

Usage: cases.py LIST COMMAND...

A line of the list that begins with # is the reason of those that follow. A listed case that passes is reported.
"""
import pathlib
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree


def main():
    listed = [line for line in pathlib.Path(sys.argv[1]).read_text().splitlines() if line and not line.startswith("#")]
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder) / "report.xml"
        with report.open("wb") as out:
            status = subprocess.run([*sys.argv[2:], "--reporter", "xml"], stdout=out).returncode
        try:
            cases = [(case.get("name"), case.find("OverallResult").get("success") == "true")
                     for case in ElementTree.parse(report).iter("TestCase")]
        except ElementTree.ParseError as error:
            return f"the program ended with status {status} before its report did: {error}"
    failed = {name for name, success in cases if not success}
    for name in sorted(failed - set(listed)):
        print(f"failed: {name}")
    for name in sorted(set(listed) - failed):
        print(f"passed, or is no longer there, but is listed: {name}")
    print(f"{len(cases) - len(failed)} test cases passed, {len(failed & set(listed))} failed as listed, {len(failed - set(listed))} failed")
    return bool(failed - set(listed)) or not cases


if __name__ == "__main__":
    sys.exit(main())
