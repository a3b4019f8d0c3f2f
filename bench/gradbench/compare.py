"""Measures reel's GradBench tool beside the benchmark's hand-written derivatives, one thread each, in alternation.

  compare.py TOOL CLONE [--filter REGEX] [--rounds N] [--json FILE]

TOOL is build/bench/gradbench/gradbench. CLONE is a clone of github.com/gradbench/gradbench in which tools/manual has been
built: make -C cpp; make -C tools/manual bin/gmm ... Every round takes 50 ms of runs of either; the table has the medians
over the rounds, and how far the lowest and the highest round are apart. The outputs have to agree to 1e-10.
"""
import argparse
import json
import os
import pathlib
import random
import re
import statistics
import subprocess
import sys
import tempfile

TOLERANCE = 1e-10
SAMPLE_SECONDS = 0.05
draw = random.Random(31337)


def uniform(*shape):
    return [uniform(*shape[1:]) for _ in range(shape[0])] if shape else draw.random()


def normal(*shape):
    return [normal(*shape[1:]) for _ in range(shape[0])] if shape else draw.gauss(0, 1)


def gmm(d, k, n):
    return {"d": d, "k": k, "n": n, "m": 0, "gamma": 1.0, "x": normal(n, d), "alpha": normal(k), "mu": uniform(k, d),
            "q": normal(k, d), "l": normal(k, d * (d - 1) // 2)}


def kmeans(k, n, d):
    points = uniform(n, d)
    return {"points": points, "centroids": points[-k:]}


# (eval, function, name, input), the inputs drawn as the benchmark's evals draw them.
def rows():
    for d, k in ((2, 5), (10, 5), (10, 25), (20, 50), (32, 25), (64, 100)):
        yield "gmm", "jacobian", f"d={d} k={k} n=1000", gmm, (d, k, 1000)
    for n in (16, 128, 1024, 16392):
        yield "llsq", "gradient", f"n={n} m=128", lambda n, m: {"n": n, "x": uniform(m)}, (n, 128)
    for n in (2500, 10000, 160000, 1280000):
        yield "lse", "gradient", f"n={n}", lambda n: {"x": uniform(n)}, (n,)
    for k, n, d in ((10, 1000, 8), (10, 10000, 16), (100, 10000, 16), (1000, 10000, 16)):
        yield "kmeans", "dir", f"k={k} n={n} d={d}", kmeans, (k, n, d)
    for n in (1000, 100000):
        yield "ode", "primal", f"n={n} s=10", lambda n, s: {"x": uniform(n), "s": s}, (n, 10)
        # The hand-written gradient is the solution's closed form, which Runge-Kutta's steps only approach.
        yield "ode", "gradient", f"n={n} s=10", lambda n, s: {"x": uniform(n), "s": s}, (n, 10)


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
            sys.exit(f"{module}.{function}: {answer['error']}")
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
    arguments = parser.parse_args()
    tool, results, wrong = Tool(arguments.tool), [], 0
    print(f"{'':36}{'reel':>12}{'by hand':>12}{'ratio':>8}{'spread':>14}{'error':>10}   (microseconds)")
    for module, function, name, make, extents in rows():
        name = f"{module} {function} {name}"
        if not re.search(arguments.filter, name):
            continue
        line = json.dumps({**make(*extents), "min_runs": 1, "min_seconds": SAMPLE_SECONDS})
        ours, peer = [], []
        with tempfile.NamedTemporaryFile("w") as file:
            file.write(line)
            file.flush()
            tool.run(module, function, line)  # warms up
            for _ in range(arguments.rounds):
                output, times = tool.run(module, function, line)
                ours.append(statistics.mean(times))
                expected, times = run_by_hand(arguments.clone, module, function, file.name)
                peer.append(statistics.mean(times))
        error = max(abs(a - b) / max(1, abs(a), abs(b)) for a, b in zip(numbers(output), numbers(expected), strict=True))
        wrong += error > TOLERANCE
        here, there = statistics.median(ours), statistics.median(peer)
        spread = [(max(times) - min(times)) / statistics.median(times) for times in (ours, peer)]
        print(f"{name:36}{here / 1e3:12.1f}{there / 1e3:12.1f}{there / here:8.2f}{spread[0]:7.0%}{spread[1]:7.0%}{error:10.0e}",
              flush=True)
        results.append({"name": name, "threads": 1, "ours_ns": here, "peer": "hand-written C++", "peer_ns": there,
                        "ratio": there / here, "unit_count": 1})
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(results, indent=1))
    return wrong > 0


sys.exit(main())
