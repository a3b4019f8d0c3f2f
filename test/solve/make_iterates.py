"""Writes iterates.hpp: where published methods evaluate a function, and the errors they estimate, in double precision.

Usage: make_iterates.py > iterates.hpp. The tests read the stored file alone. Each case is also computed with points and values
that differ by rounding errors: the counts of evaluations must be the same.
"""
import math
import random
import sys

EPS = sys.float_info.epsilon
NOISE = 0.0


def noisy(f):
    near = lambda x: x * (1 + NOISE * random.uniform(-1, 1))
    return lambda x: near(f(near(x)))


def sign(x):
    return (x > 0) - (x < 0)


def chandrupatla(f, a, b, fa, fb, tolerance):
    """The points after a and b; tolerance(best) is the length of a bracket that is short enough."""
    points, c, fc, t = [], None, None, 0.5
    while True:
        best, f_best = (a, fa) if abs(fa) < abs(fb) else (b, fb)
        limit = 0.5 * tolerance(best) / abs(b - a)
        if f_best == 0 or limit > 0.5:
            return best, points
        if c is not None:
            xi, phi = (a - b) / (c - b), (fa - fb) / (fc - fb)
            t = 0.5
            if 1 - math.sqrt(1 - xi) < phi < math.sqrt(xi):
                t = fa / (fb - fa) * fc / (fb - fc) + (c - a) / (b - a) * fa / (fc - fa) * fb / (fc - fb)
            t = min(max(t, limit), 1 - limit)
        x = a + t * (b - a)
        fx = f(x)
        points.append(x)
        if sign(fx) == sign(fa):
            c, fc = a, fa
        else:
            c, fc, b, fb = b, fb, a, fa
        a, fa = x, fx


def kowalik(x, xi=0.5):
    e = math.exp(-x)
    return 1628 / x - 1013 - 3062 * (1 - xi) * e / (xi + (1 - xi) * e)


# Examples of Chandrupatla 1997, some of them mirrored.
BRACKETS = {
    "cubic": (lambda x: x * x * x - 2 * x - 5, [(2, 3), (3, 2), (0, 40)]),
    "bent": (lambda x: (x - 2.05) * (3 + x), [(2, 3), (3, 2)]),
    "mirrored": (lambda x: x * x * x - 2 * x + 5, [(-3, -2), (-40, 0)]),
    "pole": (lambda x: 1 - 1 / (x * x), [(0.5, 51)]),
    "triple": (lambda x: (x - 3) * (x - 3) * (x - 3), [(0, 5.1)]),
    "kowalik": (kowalik, [(0.0002, 1.5)]),
    "exponential": (lambda x: math.exp(x) - 1e-3, [(-20, 4), (4, -20)]),
}


def brackets():
    for name, (f, ranges) in BRACKETS.items():
        for a, b in ranges:
            for tolerance in (0.2, 1e-2, 1e-8):
                g = noisy(f)
                root, points = chandrupatla(g, b, a, g(b), g(a), lambda x: tolerance * abs(x))
                yield [name, a, b, tolerance, root, [a, b] + points]


# Events of the time alone, in one step of these times. Quarters of the step by the interpolant, the same by steps, and
# Chandrupatla's points in the quarters with a change of signs.
EVENTS = {
    "line": (lambda t: t - 0.7, [(0, 4), (0.5, 4.5)]),
    "cubic": (lambda t: (t - 11.3) * ((t - 11.3) * (t - 11.3) + 0.5), [(10, 14), (14, 10)]),
    "flat": (lambda t: (t - 0.3) * (t - 0.3) * (t - 0.3) * (1 + t), [(0, 2), (1.25, -0.75)]),
    "exponential": (lambda t: math.exp(3 * t) - 20, [(0, 4), (-1, 3), (3, -1)]),
    "falling": (lambda t: 5 - math.exp(t), [(-3, 5), (1.5, 2)]),
    "two": (lambda t: (t - 0.6) * (t - 2.9), [(0, 4), (4.1, 0)]),
    "through zero": (lambda t: math.exp(t + 1e-3) - 1, [(-1, 3), (-3.2, 1)]),
    "positive": (lambda t: t * t + 1, [(0, 4)]),
    "from a root": (lambda t: t - 3.0, [(3, 7), (3, 1)]),
    "to a root": (lambda t: t - 3.0, [(2, 3), (5, 3)]),
    "at a quarter": (lambda t: 2.0 - t, [(0, 4), (4, 0), (1, 3)]),
    "at an eighth": (lambda t: t - 1.5, [(0, 4)]),
    "early jump": (lambda t: 1.0 if t > -101.1 else -1.0, [(-104, -100)]),
    "jump": (lambda t: 1.0 if t > 1.1 else -1.0, [(0, 4), (-2, 2), (4, 0), (-100, 156), (1, 1.5)]),
}


ROUNDED = ("line", "cubic", "flat", "exponential", "falling", "two", "through zero")
FREEDOM = 6  # evaluations more or less, of each case, by rounding errors near the root


def events():
    for name, (f, ranges) in EVENTS.items():
        for start, end in ranges:
            g, h = noisy(f), end - start
            cuts = [h * k / 4 for k in range(5)]
            points = [start + c for c in [cuts[0], cuts[4], *cuts[1:4], *cuts[1:4]]]
            values, roots = [f(start + c) for c in cuts], []
            for low, high, at_low, at_high in zip(cuts, cuts[1:], values, values[1:]):
                if at_low != 0 and at_high == 0:
                    roots.append(start + high)
                elif at_low * at_high < 0:
                    limit = lambda x: 2 * EPS * max(abs(x), abs(start + x))
                    root, inside = chandrupatla(lambda x: g(start + x), high, low, at_high, at_low, limit)
                    roots.append(start + root)
                    points += [start + x for x in inside]
            if all(sign(v) == sign(values[4]) for v in values[1:]) and not (values[0] and sign(values[0]) != sign(values[4])):
                points = points[:5]  # no change of signs: no quarters by steps
            near = [k for k, x in enumerate(points) if any(abs(x - r) <= 1e-6 for r in roots)]
            yield [name, start, end, len(points), FREEDOM if name in ROUNDED else 0, roots, points[:near[0]] if near else points]


NODES = [0.991455371120812639206854697526329, 0.949107912342758524526189684047851, 0.864864423359769072789712788640926,
         0.741531185599394439863864773280788, 0.586087235467691130294144691693283, 0.405845151377397166906606412076961,
         0.207784955007898467600689403773245, 0]
KRONROD = [0.022935322010529224963732008058970, 0.063092092629978553290700663189204, 0.104790010322250183839876322541518,
           0.140653259715525918745189590510238, 0.169004726639267902826583426598550, 0.190350578064785409913256402421014,
           0.204432940075298892414161999234649, 0.209482141084727828012999174891714]
GAUSS = [0.129484966168869693270611432679082, 0.279705391489276667901467771423780, 0.381830050505118944950369775488975,
         0.417959183673469387755102040816327]


def qk15(f, a, b):
    """QUADPACK's qk15: the integral and the estimate of its error, of which rounding errors are half of QUADPACK's."""
    half, middle = (b - a) / 2, (a + b) / 2
    at = [(f(middle - half * x), f(middle + half * x)) if x else (f(middle),) for x in NODES]
    kronrod = sum(w * sum(y) for w, y in zip(KRONROD, at))
    gauss = sum(w * sum(y) for w, y in zip(GAUSS, at[1::2]))
    absolute = sum(w * sum(map(abs, y)) for w, y in zip(KRONROD, at)) * abs(half)
    mean = kronrod / 2
    spread = sum(w * sum(abs(v - mean) for v in y) for w, y in zip(KRONROD, at)) * abs(half)
    error = abs((kronrod - gauss) * half)
    if spread != 0 and error != 0:
        error = spread * min(1, (200 * error / spread) ** 1.5)
    return kronrod * half, max(25 * EPS * absolute, error)


QUADS = {
    "log": (lambda x: math.log(x), 0.1, 3),
    "negative": (lambda x: -1 / (x - 0.8), 1, 4),
    "wave": (lambda x: math.sin(9 * x) - 0.2, -2, 3),
    "wave, wide": (lambda x: math.sin(9 * x) - 0.2, -20, 30),
    "root": (lambda x: math.sqrt(x) - 2, 0, 1),
    "exp": (lambda x: 2 - math.exp(x), 0, 2),
    "constant": (lambda x: -3.0, 0, 2),
}


def quads():
    for name, (f, a, b) in QUADS.items():
        yield [name, a, b, *qk15(noisy(f), a, b)]


# Dormand and Prince 1980, and the control of steps of Hairer, Norsett and Wanner 1993, as SciPy's RK45 has it.
C = [0, 1 / 5, 3 / 10, 4 / 5, 8 / 9, 1, 1]
A = [[], [1 / 5], [3 / 40, 9 / 40], [44 / 45, -56 / 15, 32 / 9], [19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729],
     [9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656], [35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84]]
E = [-71 / 57600, 0, 71 / 16695, -71 / 1920, 17253 / 339200, -22 / 525, 1 / 40]


def dormand_prince(f, y, t, h):
    k = []
    for c, row in zip(C, A):
        z = [v + h * sum(w * s[i] for w, s in zip(row, k)) for i, v in enumerate(y)]
        k.append(f(z, t + c * h))
    return z, [h * sum(w * s[i] for w, s in zip(E, k)) for i in range(len(y))]


def ode23s(f, y, t, h):
    """Of one equation, with the derivatives f.by_y and f.by_t."""
    d, e32, (y,) = 1 / (2 + math.sqrt(2)), 6 + math.sqrt(2), y
    w, drift = 1 - h * d * f.by_y(y, t), h * d * f.by_t(y, t)
    f0 = f([y], t)[0]
    k1 = (f0 + drift) / w
    f1 = f([y + h / 2 * k1], t + h / 2)[0]
    k2 = (f1 - k1) / w + k1
    z = y + h * k2
    f2 = f([z], t + h)[0]
    k3 = (f2 - e32 * (k2 - f1) - 2 * (k1 - f0) + drift) / w
    return [z], [h / 6 * (k1 - 2 * k2 + k3)]


def steps(f, y, start, end, rtol, atol, method):
    """The start of every step that is tried, behind the two evaluations that choose the first, and how many are rejected."""
    step, order = (dormand_prince, 5) if method == 0 else (ode23s, 3)
    norm = lambda x, a, b: math.sqrt(sum((v / (atol + rtol * max(abs(p), abs(q)))) ** 2 for v, p, q in zip(x, a, b)) / len(x))
    direction = 1 if end > start else -1
    f0 = f(y, start)
    d0, d1 = norm(y, y, y), norm(f0, y, y)
    h0 = min(abs(end - start), 1e-6 if d0 < 1e-5 or d1 < 1e-5 else 0.01 * d0 / d1)
    f1 = f([v + direction * h0 * s for v, s in zip(y, f0)], start + direction * h0)
    d2 = norm([p - q for p, q in zip(f1, f0)], y, y) / h0
    h1 = max(1e-6, h0 * 1e-3) if d1 <= 1e-15 and d2 <= 1e-15 else (0.01 / max(d1, d2)) ** (1 / order)
    size, t, times, rejections = min(100 * h0, h1, abs(end - start)), start, [start, start + direction * h0], 0
    was_rejected = False
    while t != end:
        size = min(size, abs(end - t))
        following = end if size == abs(end - t) else t + direction * size
        h = direction * size
        z, e = step(f, y, t, h)
        times.append(t)
        error = norm(e, y, z)
        factor = 10 if error == 0 else min(10, max(0.2, 0.9 * error ** (-1 / order)))
        size *= min(1, factor) if was_rejected or error > 1 else factor
        was_rejected = error > 1
        if was_rejected:
            rejections += 1
        else:
            y, t = z, following
    return times, rejections


def stiff(y, t):
    return [-50 * (y[0] - math.cos(t))]


stiff.by_y, stiff.by_t = lambda y, t: -50, lambda y, t: -50 * math.sin(t)
ODES = {
    "lotka_volterra": (lambda y, t: [1.5 * y[0] - y[0] * y[1], -3 * y[1] + y[0] * y[1]], [10, 5], [(0, 3), (3, 0.5)]),
    "stiff": (stiff, [0], [(0, 1.5)]),
    "growth": (lambda y, t: [y[0] * (1 + 0 * t)], [1], [(0, 3), (2, -9)]),
    "sharp": (lambda y, t: [1 / (0.001 + (t - 1) * (t - 1))], [0.5], [(0, 2)]),
    "from zero": (lambda y, t: [t * t * t], [0], [(0, 2), (-1, 1)]),
    "below": (lambda y, t: [y[0]], [-1], [(0, 3), (3, 0)]),
    "at rest": (lambda y, t: [0 * y[0]], [2], [(0, 2)]),
    "slow": (lambda y, t: [1e-13 * y[0]], [2], [(0, 2)]),
}


def odes():
    for name, (f, y0, ranges) in ODES.items():
        for start, end in ranges:
            for rtol, atol in ((1e-3, 1e-6), (1e-6, 1e-9)):
                for method in (0, 1) if name == "stiff" else (0,):
                    yield [name, start, end, rtol, atol, method, *reversed(steps(f, y0, start, end, rtol, atol, method))]


def shown(x):
    if isinstance(x, str):
        return f'"{x}"'
    if isinstance(x, float):
        return f"{x:.12g}"
    return "{" + ", ".join(map(shown, x)) + "}" if isinstance(x, list) else repr(x)


def differ(case, other):
    if any(isinstance(x, list) and len(x) != len(y) for x, y in zip(case, other)):
        return True
    return isinstance(case[-3], int) and abs(case[3] - other[3]) > case[4]


def main():
    global NOISE
    print("""// Made by make_iterates.py. Not to be edited.
#pragma once
#include <vector>

struct BracketCase {
  const char* function;
  double a, b, tolerance, root;
  std::vector<double> points;
};
struct EventCase {
  const char* function;
  double start, end;
  std::size_t count, freedom;         // of evaluations
  std::vector<double> roots, points;  // points up to the first within 1e-6 of a root
};
struct QuadCase {
  const char* function;
  double a, b, value, error;
};
struct OdeCase {
  const char* function;
  double start, end, relative, absolute;
  int method, rejections;
  std::vector<double> times;  // of the two evaluations that choose the first step, and the starts of all steps
};

// clang-format off""")
    for kind, name, make in (("Bracket", "bracket", brackets), ("Event", "event", events), ("Quad", "quad", quads),
                             ("Ode", "ode", odes)):
        NOISE = 0.0
        cases = list(make())
        if name != "ode":
            NOISE = EPS
            for _ in range(50):
                for got, expected in zip(make(), cases):
                    if expected[0] != "at an eighth" and differ(got, expected):  # its root is hit
                        print("not stable:", got, expected, file=sys.stderr)
        print(f"inline const std::vector<{kind}Case> {name}_cases = {{")
        for case in cases:
            print("    " + shown(case) + ",")
        print("};")
    print("// clang-format on")


main()
