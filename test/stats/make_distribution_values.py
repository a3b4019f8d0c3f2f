"""Writes distribution_values.hpp: functions of the distributions by their definitions, with gradients and Hessians, by central differences
in 900 digits.

Usage: make_distribution_values.py > distribution_values.hpp, with mpmath 1.2. The tests read the stored file alone.
"""
from mpmath import atan, erfc, erfinv, exp, expm1, log, log1p, loggamma, mp, mpf, pi, sqrt, tan

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
    """The upper tail of Cauchy's distribution."""
    return atan(1 / z) / pi if z > 0 else 1 - atan(-1 / z) / pi if z < 0 else mpf(1) / 2


# Of the standard distribution: log of the density, lower and upper probability, quantile; each of z or p and the shape.
DISTRIBUTIONS = {
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
LOG_DENSITIES = {
    "gamma": lambda z, a: (a - 1) * log(z) - z - loggamma(a),
    "chi2": lambda z, v: (v / 2 - 1) * log(z) - z / 2 - v / 2 * log(mpf(2)) - loggamma(v / 2),
    "beta": lambda z, a, b: (a - 1) * log(z) + (b - 1) * log(1 - z) + loggamma(a + b) - loggamma(a) - loggamma(b),
    "t": lambda z, v: loggamma((v + 1) / 2) - loggamma(v / 2) - log(v * pi) / 2 - (v + 1) / 2 * log1p(z * z / v),
}
choose = lambda n, k: loggamma(n + 1) - loggamma(k + 1) - loggamma(n - k + 1)
# Of k and parameters; behind each whether n has a derivative.
LOG_PROBABILITIES = {
    "poisson": lambda k, mu: k * log(mu) - mu - loggamma(k + 1),
    "binom": lambda k, n, p: choose(n, k) + k * log(p) + (n - k) * log(1 - p),
    "nbinom": lambda k, n, p: choose(n + k - 1, k) + n * log(p) + k * log(1 - p),
    "bernoulli": lambda k, p: log(p) if k == 1 else log(1 - p),
    "geom": lambda k, p: log(p) + (k - 1) * log(1 - p),
}
NUMBERS = {
    "poisson": [(0, 1.5), (3, 0.25), (9, 9.5), (10, 11), (1000, 990), (100000, 100001), (25, 1e-3), (3, 400)],
    "binom": [(0, 5, 0.25), (5, 5, 0.75), (3, 12, 0.125), (40, 100, 0.375), (4, 1000000, 1e-6), (999998, 1000000, 0.999997),
              (500100, 1000000, 0.5)],
    "nbinom": [(0, 2.5, 0.25), (7, 2.5, 0.25), (40, 30.5, 0.375), (3, 1e6, 0.999998), (1000000, 3, 4e-6)],
    "bernoulli": [(0, 0.25), (1, 0.25), (1, 1e-9), (0, 1e-9)],
    "geom": [(1, 0.25), (7, 0.25), (1000000, 1e-6), (3, 0.9999990463256836)],
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
POINTS["gumbel_r"] = POINTS["gumbel_r"] + [(1e-6, 0, 1), (-0.4375, 0, 1)]
# Mixed derivatives, where those of log(z) cancel or overflow.
POINTS["expon"] = POINTS["expon"] + [(1e-70, 0, 2), (0.015, 0, 1)]
POINTS["uniform"] = POINTS["uniform"] + [(1e-70, 0, 3)]
POINTS["lognorm"] = POINTS["lognorm"] + [(1e-70, 8, 0, 3)]
POINTS["cauchy"] = POINTS["cauchy"] + [(-1e20, 0, 1), (1e20, 0, 1)]
POINTS |= {
    "gamma": [(1.25, 0.5, 0, 1), (7, 3, 0.75, 2), (9.5, 9.75, 0, 1), (11, 10.5, 0, 1), (1000, 990, 0, 1), (1e6, 1000010, 0, 1), (1e-30, 2.5, 0, 1),
              (1e-30, 20, 0, 1), (500, 20, 0, 1)],
    "chi2": [(1.25, 1, 0, 1), (7, 3, 0.75, 2), (30, 25, 0, 1)],
    "beta": [(0.25, 0.5, 3, 0, 1), (3.5, 2.5, 1.5, 0.75, 8), (0.375, 30, 50, 0, 1), (1e-9, 2, 1e6, 0, 1), (0.9999999990686774, 40, 0.5, 0, 1),
             (0.5000000001, 1e6, 1e6, 0, 1)],
    "t": [(0.25, 1, 0, 1), (-7, 3.5, 0.75, 2), (3, 25, 0, 1), (2, 1e6, 0, 1), (1e20, 2, 0, 1)],
}
PROBABILITIES = [0.25, 0.75, 0.4375, 1e-9, 0.9999999990686774, 1e-100]


def function(distribution, kind):
    log_density, lower_probability, upper_probability, quantile = DISTRIBUTIONS[distribution]
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


print("""// Made by make_distribution_values.py: functions of distributions, their gradients and their Hessians' upper triangles by rows. Not to be
// edited.
#pragma once
#include <cmath>
#include <vector>

struct DistributionValue {
  const char* function;
  std::vector<double> operands;
  double value;
  std::vector<double> gradient;
  std::vector<double> hessian;
};

// clang-format off
inline const std::vector<DistributionValue> distribution_values = {""")


def show(name, f, point, fixed):
    """A row; operands in `fixed` have no derivative."""
    x = tuple(mpf(v) for v in point)
    n = len(point)
    value = f(*x)
    if 0 < abs(value) < mpf("1e-290"):
        return
    by = lambda *at: mpf(0) if fixed & set(at) else derivative(f, x, at)
    gradient = [by(k) for k in range(n)]
    hessian = [by(k, j) for k in range(n) for j in range(k, n)]
    numbers = lambda values: ", ".join(kept(v) for v in values)
    print(f'    {{"{name}", {{{numbers(x)}}}, {numbers([value])}, {{{numbers(gradient)}}}, {{{numbers(hessian)}}}}},')


for distribution in DISTRIBUTIONS:
    for kind in FUNCTIONS:
        points = POINTS[distribution]
        if kind == "ppf":
            points = [(p, *points[i % 2][1:]) for i, p in enumerate(PROBABILITIES)]
        for point in points:
            show(f"{distribution}_{kind}", function(distribution, kind), point, set())
for distribution, density in LOG_DENSITIES.items():
    log_density = lambda x, *rest: density((x - rest[-2]) / rest[-1], *rest[:-2]) - log(rest[-1])
    for point in POINTS[distribution]:
        show(f"{distribution}_logpdf", log_density, point, set())
        show(f"{distribution}_pdf", lambda *x: exp(log_density(*x)), point, set())
for distribution, log_probability in LOG_PROBABILITIES.items():
    for point in NUMBERS[distribution]:
        fixed = {0, 1} if distribution == "binom" else {0}
        show(f"{distribution}_logpmf", log_probability, point, fixed)
        show(f"{distribution}_pmf", lambda *x: exp(log_probability(*x)), point, fixed)
print("};\n// clang-format on")
