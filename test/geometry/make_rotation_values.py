"""Writes rotation_values.hpp: curves of rotations and motions with four derivatives, in 50 digits.

Usage: make_rotation_values.py > rotation_values.hpp, with mpmath 1.2. The tests read the stored file alone.
"""
from mpmath import atan2, cos, eye, matrix, mp, mpf, sin, sqrt, taylor, zeros

mp.dps = 60
ORDERS = 5


def hat(w):
    return matrix([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])


def exponential(a):
    """The matrix exponential by its series."""
    total, term = eye(a.rows), eye(a.rows)
    for k in range(1, 100):
        term = term * a / k
        total += term
    return total


def twist_matrix(x):
    m = zeros(4)
    m[0:3, 0:3] = hat(x[3:])
    for i in range(3):
        m[i, 3] = x[i]
    return m


def multiply(p, q):
    (a, b, c, d), (e, f, g, h) = p, q
    return [a * e - b * f - c * g - d * h, a * f + b * e + c * h - d * g, a * g - b * h + c * e + d * f, a * h + b * g - c * f + d * e]


def logarithm_along(q, u):
    """The rotation vector of q exp(t u), q and its continuation."""
    def at(t):
        size = sqrt(sum(x * x for x in u))
        s = [cos(t * size / 2)] + [sin(t * size / 2) * x / size for x in u]
        w, *v = multiply(q, s)
        length = sqrt(sum(x * x for x in v))
        return [2 * atan2(length, w) / length * x for x in v]
    return at


def derivatives(f, n):
    """f and its derivatives at 0, by differences in 60 digits."""
    factorial, rows = 1, []
    series = [taylor(lambda t, i=i: f(t)[i], mpf(0), ORDERS - 1) for i in range(n)]
    for k in range(ORDERS):
        factorial *= max(k, 1)
        rows.append([s[k] * factorial for s in series])
    return rows


def show(kind, start, direction, rows):
    braces = lambda values: "{" + ", ".join(repr(float(v)) if abs(v) > mpf("1e-25") else "0.0" for v in values) + "}"
    print(f'    {{"{kind}", {braces(start)}, {braces(direction)},\n     {{{", ".join(braces(r) for r in rows)}}}}},')


print("""// Made by make_rotation_values.py. Not to be edited.
#pragma once
#include <vector>

struct RotationValue {
  const char* kind;
  std::vector<double> start, direction;
  std::vector<std::vector<double>> derivatives;  // by t at 0, of order 0 to 4
};

// clang-format off
inline const std::vector<RotationValue> rotation_values = {""")
POINTS = [(0, 0, 0), (1e-9, -2e-9, 5e-10), (0.01, 0.02, -0.03), (0.5, -0.75, 0.4365), (0.5, -0.75, 0.4375), (1.25, 0.5, -2), (3.140625, 0, 0), (4, -4, 3)]
U = (0.5, 1.25, -0.75)
for w in POINTS:
    def curve(t, w=w):
        return list(exponential(hat([mpf(x) + t * mpf(y) for x, y in zip(w, U)])))
    show("so3_exp", w, U, derivatives(curve, 9))
for w in POINTS[:4] + POINTS[5:6]:
    x, d = (1, -2, 0.5, *w), (-0.25, 1, 0.5, *U)
    def curve(t, x=x, d=d):
        return list(exponential(twist_matrix([mpf(a) + t * mpf(b) for a, b in zip(x, d)])))
    show("se3_exp", x, d, derivatives(curve, 16))
half = sqrt(mpf(1) / 2)
ROTATIONS = [
    ((1, 0, 0, 0, 1, 0, 0, 0, 1), None),
    ((1, 0, 0, 0, -1, 0, 0, 0, -1), (0, 1, 0, 0)),
    ((-1, 0, 0, 0, 1, 0, 0, 0, -1), (0, 0, 1, 0)),
    ((-1, 0, 0, 0, -1, 0, 0, 0, 1), (0, 0, 0, 1)),
    ((0, 1, 0, 1, 0, 0, 0, 0, -1), (0, half, half, 0)),
    ((0, 0, 1, 1, 0, 0, 0, 1, 0), (mpf(1) / 2, mpf(1) / 2, mpf(1) / 2, mpf(1) / 2)),
    ((0, -1, 0, 1, 0, 0, 0, 0, 1), (half, 0, 0, half)),
]
for r, q in ROTATIONS:
    if q is None:
        show("so3_log", r, U, [[0] * 3, U] + [[0] * 3] * 3)
    else:
        show("so3_log", r, U, derivatives(logarithm_along([mpf(x) for x in q], [mpf(x) for x in U]), 3))
print("};\n// clang-format on")
