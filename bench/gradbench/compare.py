"""Measures reel's GradBench tool beside the benchmark's hand-written derivatives, one thread each, in alternation.

  compare.py TOOL CLONE [--filter REGEX] [--rounds N] [--json FILE] [--readme]

TOOL is build/bench/gradbench/gradbench. CLONE is a clone of github.com/gradbench/gradbench in which tools/manual has been
built: make -C cpp; make -C tools/manual bin/gmm ... Every round takes 50 ms of runs of either; the table has the medians
over the rounds, and how far the lowest and the highest round are apart. The outputs have to agree to 1e-10.
--readme writes the table into bench/README.md.
"""
import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
BENCH = pathlib.Path(__file__).resolve().parent.parent
sys.path.append(str(BENCH / "driver"))
import inputs  # noqa: E402
import report  # noqa: E402
from inputs import uniform  # noqa: E402

TOLERANCE = 1e-10
SAMPLE_SECONDS = 0.05


def rows(clone):
    """(eval, function, name, what makes the input)."""
    for d, k in ((2, 5), (10, 5), (10, 25), (20, 50), (32, 25), (64, 100)):
        yield "gmm", "jacobian", f"d={d} k={k} n=1000", lambda: inputs.gmm(d, k, 1000)
    for n in (16, 128, 1024, 16392):
        yield "llsq", "gradient", f"n={n} m=128", lambda: {"n": n, "x": uniform(128)}
    for n in (2500, 10000, 160000, 1280000):
        yield "lse", "gradient", f"n={n}", lambda: {"x": uniform(n)}
    for k, n, d in ((10, 1000, 8), (10, 10000, 16), (100, 10000, 16), (1000, 10000, 16)):
        yield "kmeans", "dir", f"k={k} n={n} d={d}", lambda: inputs.kmeans(k, n, d)
    for n in (1000, 100000):
        yield "ode", "primal", f"n={n} s=10", lambda: {"x": uniform(n), "s": 10}
        # The hand-written gradient is the solution's closed form, which Runge-Kutta's steps only approach.
        yield "ode", "gradient", f"n={n} s=10", lambda: {"x": uniform(n), "s": 10}
    yield "lstm", "jacobian", "l=2 c=1024", lambda: inputs.lstm(2, 1024)
    yield "ba", "jacobian", "1", lambda: inputs.ba(clone, 1)
    for variant in ("simple_small", "complicated_small"):
        yield "ht", "jacobian", f"{variant} 1", lambda: inputs.ht(clone, variant, 1)
    for ell in (5, 7):
        yield "det", "gradient", f"l={ell}", lambda: {"ell": ell, "A": uniform(ell * ell)}


class Tool:
    """A program that speaks the protocol."""

    def __init__(self, program):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env={**os.environ, "REEL_NUM_THREADS": "1"})

    def run(self, module, function, line):
        message = f'{{"id": 0, "kind": "evaluate", "module": "{module}", "function": "{function}", "input": {line}}}\n'
        self.process.stdin.write(message)
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        if not answer["success"]:
            raise ValueError(answer["error"])
        return answer["output"], [timing["nanoseconds"] for timing in answer["timings"]]


def run_by_hand(clone, module, function, file):
    program = clone / "tools/manual/bin" / module
    done = subprocess.run([program, file, function], capture_output=True, text=True, check=True,
                          env={**os.environ, "OMP_NUM_THREADS": "1"})
    output, _, *timings = map(json.loads, done.stdout.splitlines())
    return output, [timing["nanoseconds"] for timing in timings]


def numbers(value):
    if isinstance(value, dict):
        for key in sorted(value):
            yield from numbers(value[key])
    elif isinstance(value, list):
        for item in value:
            yield from numbers(item)
    else:
        yield value


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tool")
    parser.add_argument("clone", type=pathlib.Path)
    parser.add_argument("--filter", default="")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--json")
    parser.add_argument("--readme", action="store_true")
    arguments = parser.parse_args()
    tool, results, wrong = Tool(arguments.tool), [], 0
    print(f"{'':36}{'reel':>12}{'by hand':>12}{'ratio':>8}{'spread':>14}{'error':>10}   (microseconds)")
    for module, function, name, make in rows(arguments.clone):
        name = f"{module} {function} {name}"
        if not re.search(arguments.filter, name):
            continue
        ours, peer = [], []
        try:
            line = json.dumps({**make(), "min_runs": 1, "min_seconds": SAMPLE_SECONDS})
            with tempfile.NamedTemporaryFile("w") as file:
                file.write(line)
                file.flush()
                tool.run(module, function, line)  # warms up
                for _ in range(arguments.rounds):
                    output, times = tool.run(module, function, line)
                    ours.append(statistics.mean(times))
                    expected, times = run_by_hand(arguments.clone, module, function, file.name)
                    peer.append(statistics.mean(times))
        except (OSError, ValueError, subprocess.CalledProcessError) as problem:  # no data, no program, no such module
            print(f"{name:36}skipped: {problem}", flush=True)
            continue
        pairs = list(zip(numbers(output), numbers(expected), strict=True))
        largest = min(1, max(abs(b) for _, b in pairs)) or 1
        error = max(abs(a - b) / max(largest, abs(a), abs(b)) for a, b in pairs)
        wrong += error > TOLERANCE
        here, there = statistics.median(ours), statistics.median(peer)
        spread = [(max(times) - min(times)) / statistics.median(times) for times in (ours, peer)]
        print(f"{name:36}{here / 1e3:12.1f}{there / 1e3:12.1f}{there / here:8.2f}{spread[0]:7.0%}{spread[1]:7.0%}{error:10.0e}",
              flush=True)
        results.append({"name": name, "threads": 1, "ours_ns": here, "peer": "hand-written C++", "peer_ns": there,
                        "ratio": there / here, "unit_count": 1})
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(results, indent=1))
    if arguments.readme:
        report.write_between(BENCH / "README.md", "gradbench table", report.gradbench_markdown(results))
    return wrong > 0


sys.exit(main())
