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
ALONE = 10  # units of each kind that run by themselves; the others run together
MEMORY = 8 << 30
JOBS = 2


def limits():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


class Runs:
    def __init__(self, root, folder):
        self.root, self.folder = root, folder
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
        command = ["nice", str(self.program), "--filenames-as-tags"] + (["--abort"] if mutant > 0 else [])
        with tempfile.NamedTemporaryFile("w", suffix=".tests") as list_:
            if isinstance(names, str):
                command.append(names)
            else:
                list_.write("\n".join(names) + "\n")
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
        listed = subprocess.run([self.program, "--list-test-names-only"], text=True, capture_output=True).stdout
        names = [line for line in listed.splitlines() if line.strip()]
        ops = set()
        for file in (self.root / "test/op_cases").glob("*.cpp"):
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

    def judge(self, number):
        key = self.numbers[number]
        with self.lock:
            kills = self.kills[self.near(key)].copy()
        units = sorted(self.reaching[number], key=lambda u: (-kills[u["number"]], len(u["sites"]) * u["seconds"]))
        by_op = [u for u in units if u["op"]]
        by_name = [u for u in units if not u["op"]]
        if not units:
            return "not reached", None
        first = [u for u in units if u in by_op[:ALONE] or u in by_name[:ALONE]]
        for unit in first:
            status = self.call(unit["names"], unit["op"], number, 10 + 20 * unit["seconds"])
            if status != 0:
                with self.lock:
                    self.kills[self.near(key)][unit["number"]] += 1
                return "timeout" if status is None else "killed", unit["op"] or unit["names"][0]
        rest = by_name[ALONE:]
        if rest:
            status = self.call([u["names"][0] for u in rest], None, number, 60 + 10 * sum(u["seconds"] for u in rest))
            if status != 0:
                return "timeout" if status is None else "killed", "many"
        return "survived", None

    def run(self, chosen, minutes=None):
        """Judges these mutants, in this order, for so many minutes."""
        end = time.monotonic() + 60 * minutes if minutes else float("inf")
        done = 0

        def one(number):
            if time.monotonic() > end:
                return
            begin = time.monotonic()
            status, by = self.judge(number)
            with self.lock:
                self.results[self.numbers[number]] = {"status": status, "by": by,
                                                      "seconds": round(time.monotonic() - begin, 2)}
                nonlocal done
                done += 1
                if done % 20 == 0:
                    self.save()
                if done % 100 == 0:
                    print(f"{done} of {len(chosen)}", flush=True)

        try:
            with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
                for future in [pool.submit(one, n) for n in chosen]:
                    future.result()
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
