"""Runs the tests against mutants. Every unit of tests is run once without a mutant to see which sites it reaches and how
long it takes; a mutant then meets the units that reach it, those first that killed its neighbours, then the fastest and
those that reach little else.
"""
import collections
import concurrent.futures
import json
import os
import pathlib
import random
import re
import resource
import signal
import subprocess
import tempfile
import threading
import time

TABLES = "[#op_derivatives],[#op_edges],[#op_values]"  # tests that go over the op cases, of one op at a time
ROWS = ["test/op_cases/*.cpp", "test/*/rows.cpp", "test/*/rows/*.cpp"]
OTHERS = "~[#op_derivatives]~[#op_edges]~[#op_values]"
ALONE = 10  # units of each kind that run by themselves; the others run together
MEMORY = 8 << 30
JOBS = 2
UNDECIDED = "undecided"  # not killed by its first units, not yet at the others


def limits():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def escaped(name):
    """As a file of names has it for Catch2, to which a comma is the end of one."""
    return name.replace("\\", "\\\\").replace(",", "\\,")


class Runs:
    def __init__(self, root, folder, tests=""):
        self.root, self.folder, self.tests = root, folder, tests or OTHERS
        self.program = folder / "reel_test"
        self.numbers = {int(n): key for n, key in json.loads((folder / "mutants.json").read_text()).items()}
        self.results_file = folder / "results.json"
        self.results = json.loads(self.results_file.read_text()) if self.results_file.exists() else {}
        self.kills = collections.defaultdict(collections.Counter)
        self.lock = threading.Lock()

    def call(self, names, op, mutant, timeout, reached=None):
        """Exit status of the test program, or None after the timeout. Names are test cases, or a string of tags."""
        environment = os.environ | {"REEL_MUTANT": str(mutant), "OPENBLAS_NUM_THREADS": "1"}
        if (self.folder / "kernels.o").exists():
            environment["REEL_ISA"] = "scalar"
        environment.pop("REEL_OP_CASES", None)
        if op:
            environment["REEL_OP_CASES"] = op
        if reached:
            environment["REEL_MUTANT_REACHED"] = reached
        command = [str(self.program), "--filenames-as-tags", "--warn", "NoTests"] + (["--abort"] if mutant > 0 else [])
        with tempfile.NamedTemporaryFile("w", suffix=".tests") as list_:
            if isinstance(names, str):
                command.append(names)
            else:
                list_.write("".join(escaped(name) + "\n" for name in names))
                list_.flush()
                command += ["--input-file", list_.name]
            process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                       stdin=subprocess.DEVNULL, preexec_fn=limits, start_new_session=True,
                                       cwd=self.folder)
            try:
                return process.wait(timeout)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                return None

    # ---- which unit reaches which site

    def units(self):
        listed = subprocess.run([self.program, "--list-test-names-only", "--filenames-as-tags", self.tests], text=True,
                                capture_output=True).stdout
        names = [line for line in listed.splitlines() if line.strip()]
        ops = set()
        for file in (file for place in ROWS for file in self.root.glob(place)):
            ops |= set(re.findall(r'^\s*(?:\w+\()?\{?"(\w+)",', file.read_text(), re.M))
        return [{"names": TABLES, "op": op} for op in sorted(ops)] + [{"names": [n], "op": None} for n in names]

    def trace(self):
        file = self.folder / "units.json"
        if file.exists() and file.stat().st_mtime > self.program.stat().st_mtime:
            self.known = json.loads(file.read_text())
        else:
            with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
                self.known = [u for u in pool.map(self.trace_unit, self.units()) if u]
            file.write_text(json.dumps(self.known))
        self.reaching = collections.defaultdict(list)
        for i, unit in enumerate(self.known):
            unit["number"] = i
            for site in unit["sites"]:
                self.reaching[site].append(unit)
        print(f"{len(self.known)} units of tests, {sum(u['seconds'] for u in self.known):.0f} s; "
              f"{len(self.reaching)} of {len(self.numbers)} mutants are reached", flush=True)

    def trace_unit(self, unit):
        with tempfile.NamedTemporaryFile("r") as reached:
            begin = time.monotonic()
            status = self.call(unit["names"], unit["op"], -1, 600, reached.name)
            unit["seconds"] = time.monotonic() - begin
            unit["sites"] = sorted({int(n) for n in reached.read().split()})
        if status != 0:
            print(f"left out, it fails without a mutant ({status}): {unit['op'] or unit['names']}", flush=True)
            return None
        return unit

    # ---- one mutant

    def near(self, key):
        return ":".join(key.split(":")[:2])  # file and function

    def judge(self, number, whole):
        """What becomes of a mutant, and by which test: at the units that are likely to kill it, or at all others."""
        key = self.numbers[number]
        with self.lock:
            kills = self.kills[self.near(key)].copy()
        units = sorted(self.reaching[number], key=lambda u: (-kills[u["number"]], len(u["sites"]) * u["seconds"]))
        by_op = [u for u in units if u["op"]]
        by_name = [u for u in units if not u["op"]]
        if not units:
            return "not reached", None
        if whole and by_name[ALONE:]:
            rest, seconds = [u["names"][0] for u in by_name[ALONE:]], sum(u["seconds"] for u in by_name[ALONE:])
            status = self.call(rest, None, number, 60 + 10 * seconds)
            if status != 0:
                return "timeout" if status is None else "killed", "many"
        first = {u["number"] for u in by_op[:ALONE] + by_name[:ALONE]}
        for unit in by_op[ALONE:] if whole else [u for u in units if u["number"] in first]:
            status = self.call(unit["names"], unit["op"], number, 30 + 20 * unit["seconds"])
            if status != 0:
                with self.lock:
                    self.kills[self.near(key)][unit["number"]] += 1
                return "timeout" if status is None else "killed", unit["op"] or unit["names"][0]
        return "survived" if whole or len(first) == len(units) else UNDECIDED, None

    def run(self, chosen, minutes=None):
        """Judges these mutants, in this order, for so many minutes; then those that got through their first units."""
        end = time.monotonic() + 60 * minutes if minutes else float("inf")
        done = 0

        def one(number, whole):
            if time.monotonic() > end:
                return
            begin = time.monotonic()
            status, by = self.judge(number, whole)
            with self.lock:
                self.results[self.numbers[number]] = {"status": status, "by": by,
                                                      "seconds": round(time.monotonic() - begin, 2)}
                nonlocal done
                done += 1
                if done % 20 == 0:
                    self.save()
                if done % 100 == 0:
                    print(f"{done} of {len(chosen)}{' at all tests' if whole else ''}", flush=True)

        try:
            with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
                status = lambda n: self.results.get(self.numbers[n], {}).get("status")
                list(pool.map(lambda n: one(n, False), [n for n in chosen if status(n) != UNDECIDED]))
                chosen = [n for n in chosen if status(n) == UNDECIDED]
                done = 0
                list(pool.map(lambda n: one(n, True), chosen))
        finally:
            self.save()

    def save(self):
        temporary = self.results_file.with_suffix(".new")
        temporary.write_text(json.dumps(self.results, indent=0))
        temporary.rename(self.results_file)

    def sample(self, numbers, seed):
        numbers = sorted(numbers)
        random.Random(seed).shuffle(numbers)
        return numbers
