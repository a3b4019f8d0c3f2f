"""Writes law_values.hpp: functions of the laws by their definitions, with gradients and Hessians, by central differences
in 900 digits.

Usage: make_law_values.py > law_values.hpp, with mpmath 1.2. The tests read the stored file alone.
"""
from mpmath import atan, erfc, erfinv, exp, expm1, log, log1p, mp, mpf, pi, sqrt, tan

mp.dps = 900
ROOT2 = sqrt(mpf(2))
FUNCTIONS = ["logpdf", "pdf", "cdf", "logcdf", "sf", "logsf", "ppf"]


def upper(z):
    return erfc(z / ROOT2) / 2


def quantile_of_upper(q):
    """z with upper(z) = q, by Newton's steps on log(upper)."""
    z = sqrt(-2 * log(q)) if q < 0.1 else -ROOT2 * erfinv(2 * q - 1)
    for _ in range(300):
        step = (log(upper(z)) - log(q)) * upper(z) * sqrt(2 * pi) * exp(z * z / 2)
        z += step
        if abs(step) < mpf(10) ** (10 - mp.dps):
            return z
    raise ValueError(q)


def ndtri(p):
    return -quantile_of_upper(p) if p < 0.5 else quantile_of_upper(1 - p)


def tail(z):
    """The upper tail of Cauchy's law."""
    return atan(1 / z) / pi if z > 0 else 1 - atan(-1 / z) / pi if z < 0 else mpf(1) / 2


# Of the standard law: log of the density, lower and upper probability, quantile; each of z or p and the shape.
LAWS = {
    "norm": (lambda z: -z * z / 2 - log(2 * pi) / 2, lambda z: upper(-z), upper, ndtri),
    "expon": (lambda z: -z, lambda z: -expm1(-z), lambda z: exp(-z), lambda p: -log1p(-p)),
    "laplace": (lambda z: -abs(z) - log(mpf(2)), lambda z: exp(z) / 2 if z < 0 else 1 - exp(-z) / 2,
                lambda z: exp(-z) / 2 if z > 0 else 1 - exp(z) / 2, lambda p: log(2 * p) if p < 0.5 else -log(2 * (1 - p))),
    "logistic": (lambda z: -z - 2 * log1p(exp(-z)), lambda z: 1 / (1 + exp(-z)), lambda z: 1 / (1 + exp(z)),
                 lambda p: log(p / (1 - p))),
    "cauchy": (lambda z: -log(pi * (1 + z * z)), lambda z: tail(-z), tail, lambda p: tan(pi * (p - mpf(1) / 2))),
    "gumbel_r": (lambda z: -z - exp(-z), lambda z: exp(-exp(-z)), lambda z: -expm1(-exp(-z)), lambda p: -log(-log(p))),
    "uniform": (lambda z: 0 * z, lambda z: z, lambda z: 1 - z, lambda p: p),
    "pareto": (lambda z, b: log(b) - (b + 1) * log(z), lambda z, b: -expm1(-b * log(z)), lambda z, b: z ** -b,
               lambda p, b: (1 - p) ** (-1 / b)),
    "lognorm": (lambda z, s: -(log(z) / s) ** 2 / 2 - log(2 * pi) / 2 - log(s * z), lambda z, s: upper(-log(z) / s),
                lambda z, s: upper(log(z) / s), lambda p, s: exp(s * ndtri(p))),
    "weibull_min": (lambda z, c: log(c) + (c - 1) * log(z) - z ** c, lambda z, c: -expm1(-z ** c), lambda z, c: exp(-z ** c),
                    lambda p, c: (-log1p(-p)) ** (1 / c)),
}
# Points x, then shape, loc and scale. The probabilities of quantiles are beside them.
WHOLE_LINE = [(0.25, 0, 1), (-1.5, 0.75, 2), (3.5, 0.75, 0.5), (-30, 0, 1), (30, 0, 1), (1e-9, 0, 1), (-300, 4, 8), (300, 4, 8)]
HALF_LINE = [(0.25, 0, 1), (3.5, 0.75, 2), (1e-9, 0, 1), (40, 0, 1), (300, -4, 0.5)]
POINTS = {name: WHOLE_LINE for name in ("norm", "laplace", "logistic", "cauchy", "gumbel_r")} | {
    "expon": HALF_LINE,
    "uniform": [(0.25, 0, 1), (3.5, 0.75, 8), (1e-9, 0, 1), (0.9999999990686774, 0, 1)],
    "pareto": [(1.25, 2.5, 0, 1), (7, 0.5, 0.75, 2), (1.0000000009313226, 3, 0, 1), (1e10, 4, 0, 1)],
    "lognorm": [(1.25, 0.5, 0, 1), (7, 2, 0.75, 2), (1e-9, 1, 0, 1), (1e10, 0.75, 0, 1)],
    "weibull_min": [(1.25, 0.5, 0, 1), (7, 3, 0.75, 2), (1e-30, 1.5, 0, 1), (1e-100, 2, 0, 1), (9, 2.5, 0, 1), (1, 2, 0, 1)],
}
POINTS["cauchy"] = POINTS["cauchy"] + [(-1e20, 0, 1), (1e20, 0, 1)]
PROBABILITIES = [0.25, 0.75, 0.4375, 1e-9, 0.9999999990686774, 1e-100]


def function(law, kind):
    log_density, lower_probability, upper_probability, quantile = LAWS[law]
    place = lambda f: lambda x, *rest: f((x - rest[-2]) / rest[-1], *rest[:-2])
    if kind == "ppf":
        return lambda p, *rest: rest[-2] + rest[-1] * quantile(p, *rest[:-2])
    if kind == "logpdf":
        return lambda x, *rest: place(log_density)(x, *rest) - log(rest[-1])
    if kind == "pdf":
        return lambda x, *rest: exp(place(log_density)(x, *rest)) / rest[-1]
    f = place(lower_probability if "cdf" in kind else upper_probability)
    return (lambda *x: log(f(*x))) if kind.startswith("log") else f


def derivative(f, x, by):
    """By central differences, whose steps are 1e-160 of the operand's size; of loc, of the scale or the distance from it."""
    k, rest = by[-1], by[:-1]
    loc = len(x) - 2
    size = abs(x[k]) if k != loc else min(x[-1], abs(x[0] - x[loc]) or x[-1])
    step = size * mpf(10) ** -160
    at = lambda v: (derivative(f, v, rest) if rest else f(*v))
    moved = lambda sign: at(x[:k] + (x[k] + sign * step,) + x[k + 1:])
    return (moved(1) - moved(-1)) / (2 * step)


def kept(v):
    """Where a double does not hold it with all digits, NAN, which is not compared. What is below 1e-315 is truncation."""
    return "0.0" if abs(v) < mpf("1e-315") else "NAN" if not mpf("1e-300") < abs(v) < mpf("1e308") else repr(float(v))


print("""// Made by make_law_values.py: functions of laws, their gradients and their Hessians' upper triangles by rows. Not to be
// edited.
#pragma once
#include <cmath>
#include <vector>

struct LawValue {
  const char* function;
  std::vector<double> operands;
  double value;
  std::vector<double> gradient;
  std::vector<double> hessian;
};

// clang-format off
inline const std::vector<LawValue> law_values = {""")
for law in LAWS:
    for kind in FUNCTIONS:
        points = POINTS[law]
        if kind == "ppf":
            points = [(p, *points[i % 2][1:]) for i, p in enumerate(PROBABILITIES)]
        for point in points:
            x = tuple(mpf(v) for v in point)
            f, n = function(law, kind), len(point)
            value = f(*x)
            if 0 < abs(value) < mpf("1e-290"):
                continue
            gradient = [derivative(f, x, [k]) for k in range(n)]
            hessian = [derivative(f, x, [k, j]) for k in range(n) for j in range(k, n)]
            numbers = lambda values: ", ".join(kept(v) for v in values)
            print(f'    {{"{law}_{kind}", {{{numbers(x)}}}, {numbers([value])}, {{{numbers(gradient)}}}, {{{numbers(hessian)}}}}},')
print("};\n// clang-format on")
