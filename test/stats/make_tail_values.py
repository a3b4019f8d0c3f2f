"""Writes tail_values.hpp: joint densities, distribution functions and divergences by their definitions, with
gradients, by central differences in 110 digits. The condition of a derivative is its change for relative changes of the
operands.

Usage: make_tail_values.py [FUNCTION...] > tail_values.hpp, with mpmath 1.2; the rows of some functions alone to be
put into the file. The tests read the stored file alone.
"""
import sys

from mpmath import betainc, besseli, cos, digamma, erfc, exp, gammainc, log, loggamma, mp, mpf, pi, sqrt

mp.dps = 110
upper = lambda z: erfc(z / sqrt(mpf(2))) / 2
log_beta = lambda a, b: loggamma(a) + loggamma(b) - loggamma(a + b)


def P(a, x):
    """DLMF 8.11.4 below the mean, where it converges without cancellation."""
    if x > a + 1:
        return 1 - Q(a, x)
    term = total = mpf(1)
    n = 0
    while term > total * mpf(10) ** -112:
        n += 1
        term *= x / (a + n)
        total += term
    return exp(a * log(x) - x - loggamma(a + 1)) * total


def Q(a, x):
    """DLMF 8.9.2 beyond the mean, by Lentz's method."""
    if x <= a + 1:
        return 1 - P(a, x)
    if x < 3:
        return gammainc(a, x, mp.inf, regularized=True)
    b = x + 1 - a
    d = 1 / b
    h = d
    c = mpf(10) ** 300
    for i in range(1, 1000000):
        an = -i * (i - a)
        b += 2
        d = 1 / (an * d + b)
        c = b + an / c
        h *= d * c
        if abs(d * c - 1) < mpf(10) ** -112:
            return exp(a * log(x) - x - loggamma(a)) * h


I = lambda a, b, x: betainc(a, b, 0, x, regularized=True)
C = lambda a, b, x: betainc(b, a, 0, 1 - x, regularized=True)


def normal2(x0, x1, m0, m1, a, b, c):
    y0 = (x0 - m0) / a
    y1 = (x1 - m1 - b * y0) / c
    return -(y0 * y0 + y1 * y1) / 2 - log(a * c) - log(2 * pi)


def dirichlet3(x0, x1, x2, a0, a1, a2):
    return ((a0 - 1) * log(x0) + (a1 - 1) * log(x1) + (a2 - 1) * log(x2) + loggamma(a0 + a1 + a2) - loggamma(a0) - loggamma(a1) -
            loggamma(a2))


def vonmises(x, kappa, loc):
    return kappa * cos(x - loc) - log(2 * pi * besseli(0, kappa))


def truncnorm(x, a, b, loc, scale):
    between = upper(a) - upper(b) if a > 0 else upper(-b) - upper(-a)
    return -((x - loc) / scale) ** 2 / 2 - log(2 * pi) / 2 - log(scale) - log(between)


def vonmises_cdf(x, kappa, loc):
    """From -pi, by Gauss and Legendre's rule between points some standard deviations apart."""
    d, s = x - loc, 1 / sqrt(kappa + 1)
    f = lambda t: exp(kappa * (cos(t) - cos(d)))
    points = [d]
    while points[-1] > -pi and kappa * (cos(points[-1]) - cos(d)) > -260:
        points.append(max(points[-1] - max(s, (d - points[-1]) / 2), -pi))
    below = sum(mp.quad(f, [b, a], method="gauss-legendre") for a, b in zip(points, points[1:]))
    return exp(kappa * cos(d)) * below / (2 * pi * besseli(0, kappa))


known = {}


def root_of(cdf, p, start, width):
    """x with cdf(x) = p: a bisection for each p, to rounding; then the secant method on the logarithm."""
    if (float(p), float(width)) not in known:
        low, high = start, start + width
        for _ in range(40):
            middle = (low + high) / 2
            low, high = (middle, high) if cdf(middle) < p else (low, middle)
        known[float(p), float(width)] = low, high
    return mp.findroot(lambda x: log(cdf(x) / p), known[float(p), float(width)], solver="secant", tol=mpf(10) ** -190)


def cut_between(a, b):
    return upper(a) - upper(b) if a + b > 0 else upper(-b) - upper(-a)


def truncnorm_cdf(x, a, b, loc, scale):
    return cut_between(a, (x - loc) / scale) / cut_between(a, b)


def truncnorm_sf(x, a, b, loc, scale):
    return cut_between((x - loc) / scale, b) / cut_between(a, b)


def truncnorm_ppf(p, a, b, loc, scale):
    return loc + scale * root_of(lambda z: truncnorm_cdf(z, a, b, 0, 1), p, a, b - a)


def beyond(z, v):
    """The probability of more than z > 0 of Student's distribution."""
    return I(v / 2, mpf(1) / 2, v / (v + z * z)) / 2


place = lambda f: lambda x, *rest: f((x - rest[-2]) / rest[-1], *rest[:-2])
t_upper = lambda z, v: beyond(z, v) if z > 0 else 1 - beyond(-z, v) if z < 0 else mpf(1) / 2


def bregman(a, b):
    return loggamma(a) - loggamma(b) - (a - b) * digamma(b)


def normal2_kl(m0, m1, a, b, c, n0, n1, d, e, f):
    m00 = a / d
    m10, m11 = (b - e * m00) / f, c / f
    y0 = (m0 - n0) / d
    y1 = (m1 - n1 - e * y0) / f
    return (m00 ** 2 + m10 ** 2 + m11 ** 2 + y0 ** 2 + y1 ** 2 - 2 - 2 * log(m00 * m11)) / 2


def gamma_kl(a1, s1, a2, s2):
    return bregman(a2, a1) + a1 * (s1 / s2 - 1) + a2 * log(s2 / s1)


def beta_kl(a1, b1, a2, b2):
    return bregman(a2, a1) + bregman(b2, b1) - bregman(a2 + b2, a1 + b1)


def gumbel_kl(r, d):
    """By the moments of exp(-z) of Gumbel's distribution."""
    return -log(r) - d + r * mp.euler + mp.gamma(1 + r) * exp(d) - 1 - mp.euler


def vonmises_kl(k, m, l, n):
    return log(besseli(0, l) / besseli(0, k)) + (k - l * cos(m - n)) * besseli(1, k) / besseli(0, k)


def dirichlet3_kl(a, b, c, d, e, f):
    return bregman(d, a) + bregman(e, b) + bregman(f, c) - bregman(d + e + f, a + b + c)


# Of two families: minus the entropy of the first, and minus the mean logarithm of the second density.
beta_part = lambda a, b: (a - 1) * digamma(a) + (b - 1) * digamma(b) - (a + b - 2) * digamma(a + b) - log_beta(a, b)
gamma_part = lambda a, s: (a - 1) * digamma(a) - loggamma(a) - a - log(s)
pareto_part = lambda b, s: log(b / s) - 1 / b - 1
to_norm = lambda mean, var, m, s: log(2 * pi * s * s) / 2 + (var + (mean - m) ** 2) / (2 * s * s)
to_gamma = lambda mean, mean_log, a, s: loggamma(a) + a * log(s) - (a - 1) * mean_log + mean / s
to_gumbel = lambda mean, mean_exp, m, s: log(s) + (mean - m) / s + exp(m / s) * mean_exp
beta_variance = lambda a, b: a * b / ((a + b) ** 2 * (a + b + 1))
log_mean = lambda x, w: ((x + w) * log(x + w) - (x * log(x) if x else 0)) / w - 1
mean_distance = lambda d, s: s * sqrt(2 / pi) * exp(-((d / s) ** 2) / 2) + d * mp.erf(d / s / sqrt(mpf(2)))

GAMMA = [(1.25, 0.5, 0, 1), (7, 3, 0.75, 2), (60, 9.5, 0, 1), (1e-3, 2.5, 0, 1), (110, 100, 0, 1)]
BETA = [(0.25, 0.5, 3, 0, 1), (3.5, 2.5, 1.5, 0.75, 8), (0.9375, 3, 20, 0, 1), (1e-9, 2, 30, 0, 1)]
GAMMA_FAR = [(1e-20, 40, 0, 1), (4000, 2.5, 0, 1), (1e-9, 0.125, 0.0, 2), (1e5, 1e4, 0, 1), (1.25, 1e-6, 0, 1), (9e5, 1e6, 0, 1), (1.0625e6, 1e6, 0, 1), (30, 0.25, 0.75, 0.5), (2, 2, 0, 1)]
BETA_FAR = [(1e-20, 40, 3, 0, 1), (0.9375, 2.5, 600, 0, 1), (0.03125, 400, 30, 0, 1), (0.25, 1e-3, 2, 0, 1), (3.5, 2.5, 1.5, 0.75, 8)]
T_FAR = [(-40, 400, 0, 1), (-300, 3.5, 0.75, 2), (-1e40, 5, 0, 1), (-1e7, 90, 0, 1), (-6, 1e4, 0, 1)]
T = [(0.25, 1, 0, 1), (-7, 3.5, 0.75, 2), (3, 25, 0, 1), (-0.25, 30, 0, 1), (1e12, 2, 0, 1), (-1e5, 1.5, 0, 1), (1e-7, 4, 0, 1), (-1e-3, 0.125, 0, 1), (0.005, 0.125, 0, 1)]
ANGLES = [(0.25, 0.5, 1), (-2.5, 2, 0.5), (0.5, 30, 0.25), (-0.125, 51, 1.25), (-2.75, 20, 0), (1.0625, 1e4, 1), (-1e-4, 1e9, 0), (2.9375, 0.25, 0)]
CUTS = [(0.25, -1, 2, 0, 1), (3.5, 0.5, 4, 0.75, 2), (0.00125, 0.0009765625, 0.001953125, 0, 1), (30.25, 30, 31, 0, 1), (-40.5, -41, -40, 0, 1), (2.5, 2, 2.75, 0, 1),
        (-8, -40, 0.5, 0, 1), (0.75, -2, 0.875, 0.125, 1.5), (39.5, -3, 40, 0, 1)]
# Functions, points, and the operands that have no derivative.
ROWS = {
    "multivariate_normal_logpdf": (normal2, [(1.25, -0.5, 0.75, 2, 1.5, 0.25, 0.5), (3, 4, 3, 1, 1e-3, -2, 1e3)], ()),
    "dirichlet_logpdf": (dirichlet3, [(0.25, 0.25, 0.5, 1.5, 0.75, 3), (0.125, 0.375, 0.5, 30, 100, 130)], ()),
    "vonmises_logpdf": (vonmises, [(0.25, 0.5, 1), (3, 2, -0.5), (0.5, 30, 0.25), (0.25, 49, 0.125), (0.25, 50, 0.125), (1.0625, 1e4, 1), (1.0009765625, 1e8, 1),
                                   (30, 5, 0.5)], ()),
    "truncnorm_logpdf": (truncnorm, [(0.25, -1, 2, 0, 1), (3.5, 0.5, 4, 0.75, 2), (0.001, 0.0009765625, 0.001953125, 0, 1), (30.25, 30, 31, 0, 1), (-40.5, -41, -40, 0, 1),
                                     (2.5, 2, 2.75, 0, 1), (-30, -40, 0.5, 0, 1)], ()),
    "vonmises_cdf": (vonmises_cdf, ANGLES, ()),
    "vonmises_sf": (lambda x, kappa, loc: vonmises_cdf(-x, kappa, -loc), ANGLES[:3], ()),
    "vonmises_logcdf": (lambda *x: log(vonmises_cdf(*x)), ANGLES + [(-2.75, 200, 0)], ()),
    "vonmises_logsf": (lambda x, kappa, loc: log(vonmises_cdf(-x, kappa, -loc)), ANGLES[:3] + [(2.75, 600, 0)], ()),
    "vonmises_ppf": (lambda p, kappa, loc: loc + root_of(lambda x: vonmises_cdf(x, kappa, 0), p, -pi, 2 * pi),
                     [(0.25, 0.5, 1), (0.375, 2, 0), (1e-9, 30, 0.25), (0.9375, 4, -1)], ()),
    "truncnorm_cdf": (truncnorm_cdf, CUTS, ()),
    "truncnorm_sf": (truncnorm_sf, CUTS, ()),
    "truncnorm_logcdf": (lambda *x: log(truncnorm_cdf(*x)), CUTS + [(-30, -31, 0.5, 0, 1)], ()),
    "truncnorm_logsf": (lambda *x: log(truncnorm_sf(*x)), CUTS, ()),
    "truncnorm_ppf": (truncnorm_ppf, [(0.25, -1, 2, 0, 1), (0.75, 0.5, 4, 0.75, 2), (0.875, 30, 31, 0, 1), (0.25, -41, -40, 0, 1), (1e-9, -2, 0.875, 0.125, 1.5)], ()),
    "gamma_cdf": (place(lambda z, a: P(a, z)), GAMMA, ()),
    "gamma_sf": (place(lambda z, a: Q(a, z)), GAMMA, ()),
    "chi2_cdf": (place(lambda z, v: P(v / 2, z / 2)), GAMMA[:3], ()),
    "chi2_sf": (place(lambda z, v: Q(v / 2, z / 2)), GAMMA[:3], ()),
    "beta_cdf": (place(lambda z, a, b: I(a, b, z)), BETA, ()),
    "beta_sf": (place(lambda z, a, b: C(a, b, z)), BETA, ()),
    "t_cdf": (place(lambda z, v: t_upper(-z, v)), T, ()),
    "t_sf": (place(t_upper), T, ()),
    "gamma_logcdf": (place(lambda z, a: log(P(a, z))), GAMMA + GAMMA_FAR, ()),
    "gamma_logsf": (place(lambda z, a: log(Q(a, z))), GAMMA + GAMMA_FAR, ()),
    "chi2_logcdf": (place(lambda z, v: log(P(v / 2, z / 2))), GAMMA[:3] + GAMMA_FAR[:2], ()),
    "chi2_logsf": (place(lambda z, v: log(Q(v / 2, z / 2))), GAMMA[:3] + GAMMA_FAR[:2], ()),
    "beta_logcdf": (place(lambda z, a, b: log(I(a, b, z))), BETA + BETA_FAR, ()),
    "beta_logsf": (place(lambda z, a, b: log(C(a, b, z))), BETA + BETA_FAR, ()),
    "t_logcdf": (place(lambda z, v: log(t_upper(-z, v))), T + T_FAR, ()),
    "t_logsf": (place(lambda z, v: log(t_upper(z, v))), T + [(-x, *rest) for x, *rest in T_FAR], ()),
    "poisson_logcdf": (lambda x, mu: log(Q(mp.floor(x) + 1, mu)), [(0, 1.5), (9, 2000), (100, 90)], (0,)),
    "poisson_logsf": (lambda x, mu: log(P(mp.floor(x) + 1, mu)), [(0, 1.5), (300, 0.125), (100, 90)], (0,)),
    "binom_logcdf": (lambda x, n, p: log(C(mp.floor(x) + 1, n - mp.floor(x), p)), [(0, 5, 0.25), (3.5, 2000, 0.75)], (0, 1)),
    "binom_logsf": (lambda x, n, p: log(I(mp.floor(x) + 1, n - mp.floor(x), p)), [(0, 5, 0.25), (397, 400, 0.125)], (0, 1)),
    "nbinom_logcdf": (lambda x, n, p: log(I(n, mp.floor(x) + 1, p)), [(0, 2.5, 0.25), (7.5, 600.5, 0.25)], (0,)),
    "nbinom_logsf": (lambda x, n, p: log(C(n, mp.floor(x) + 1, p)), [(0, 2.5, 0.25), (4000, 3, 0.75)], (0,)),
    "geom_logcdf": (lambda x, p: log(1 - (1 - p) ** mp.floor(x)), [(1, 0.25), (7.5, 0.25), (3, 1e-9)], (0,)),
    "geom_logsf": (lambda x, p: mp.floor(x) * log(1 - p), [(1, 0.25), (7.5, 0.25), (1e5, 0.25)], (0,)),
    "poisson_cdf": (lambda x, mu: Q(mp.floor(x) + 1, mu), [(0, 1.5), (3.75, 0.25), (9, 30), (100, 90)], (0,)),
    "poisson_sf": (lambda x, mu: P(mp.floor(x) + 1, mu), [(0, 1.5), (3.75, 0.25), (30, 9), (100, 90)], (0,)),
    "binom_cdf": (lambda x, n, p: C(mp.floor(x) + 1, n - mp.floor(x), p), [(0, 5, 0.25), (3.5, 12, 0.125), (2, 100, 0.5)], (0, 1)),
    "binom_sf": (lambda x, n, p: I(mp.floor(x) + 1, n - mp.floor(x), p), [(0, 5, 0.25), (3.5, 12, 0.125), (97, 100, 0.5)], (0, 1)),
    "nbinom_cdf": (lambda x, n, p: I(n, mp.floor(x) + 1, p), [(0, 2.5, 0.25), (7.5, 2.5, 0.25), (3, 30.5, 0.375)], (0,)),
    "nbinom_sf": (lambda x, n, p: C(n, mp.floor(x) + 1, p), [(0, 2.5, 0.25), (7.5, 2.5, 0.25), (40, 3, 0.75)], (0,)),
    "geom_cdf": (lambda x, p: 1 - (1 - p) ** mp.floor(x), [(1, 0.25), (7.5, 0.25), (3, 1e-9)], (0,)),
    "geom_sf": (lambda x, p: (1 - p) ** mp.floor(x), [(1, 0.25), (7.5, 0.25), (200, 0.25)], (0,)),
    "norm_kl": (lambda m, s, n, t: log(t / s) + (s * s + (m - n) ** 2) / (2 * t * t) - mpf(1) / 2,
                [(0.25, 1.5, 2, 0.75), (1, 2, 1.0000001, 2.0000001), (0, 1e3, 0, 1)], ()),
    "expon_kl": (lambda s, t: log(t / s) + s / t - 1, [(1.5, 0.75), (2, 2.0000001), (1e-3, 1e3)], ()),
    "gamma_kl": (gamma_kl, [(1.5, 2, 3.25, 0.75), (30, 2, 40, 1.5), (1e6, 1, 1000010, 1), (12, 2, 12.0001, 2.0001), (3, 1, 50, 2)], ()),
    "beta_kl": (beta_kl, [(1.5, 2, 3.25, 0.75), (30, 20, 40, 15), (1e6, 2e6, 1000010, 2e6), (3, 50, 12, 1.5)], ()),
    "bernoulli_kl": (lambda p, q: p * log(p / q) + (1 - p) * log((1 - p) / (1 - q)), [(0.25, 0.75), (0.25, 0.2500001), (1e-9, 0.5), (0.75, 1e-9)], ()),
    "poisson_kl": (lambda m, n: m * log(m / n) - m + n, [(1.5, 4), (1e6, 1000010), (2, 2.0000001)], ()),
    "laplace_kl": (lambda m, s, n, t: log(t / s) + (s * exp(-abs(m - n) / s) + abs(m - n)) / t - 1, [(0.25, 1.5, 2, 0.75), (1, 2, 1.0000001, 2.0000001), (-40, 1, 3, 100)], ()),
    "cauchy_kl": (lambda m, s, n, t: log(((s + t) ** 2 + (m - n) ** 2) / (4 * s * t)), [(0.25, 1.5, 2, 0.75), (1, 2, 1.0000001, 2.0000001), (0, 1e-3, 1e5, 10)], ()),
    "gumbel_r_kl": (lambda m, s, n, t: gumbel_kl(s / t, (n - m) / t), [(0.25, 1.5, 2, 0.75), (1, 2, 1.0000001, 2.0000001), (3, 40, 1, 2)], ()),
    "weibull_min_kl": (lambda c, s, d, t: gumbel_kl(d / c, d * log(s / t)), [(1.5, 2, 3.25, 0.75), (12, 2, 12.0001, 2.0001), (40, 2, 0.5, 3)], ()),
    "pareto_kl": (lambda b, s, c, t: log(b / c) + c / b - 1 + c * log(s / t), [(1.5, 2, 3.25, 0.75), (12, 2, 12.0001, 2)], ()),
    "lognorm_kl": (lambda s, m, t, n: log(t / s) + (s * s + log(m / n) ** 2) / (2 * t * t) - mpf(1) / 2, [(1.5, 2, 0.25, 0.75), (2, 1, 2.0000001, 1.0000001)], ()),
    "vonmises_kl": (vonmises_kl, [(1.5, 0.25, 2, 1), (60, 1, 90, 1.125), (0.5, -1, 300, 1), (1e4, 0.5, 10010, 0.53125)], ()),
    "chi2_kl": (lambda v, w: bregman(w / 2, v / 2), [(3, 5), (60, 75), (1e6, 1000010)], ()),
    "geom_kl": (lambda p, q: log(p / q) + (1 / p - 1) * log((1 - p) / (1 - q)), [(0.25, 0.75), (0.25, 0.2500001), (1e-9, 2e-9)], ()),
    "binom_kl": (lambda n, p, q: n * (p * log(p / q) + (1 - p) * log((1 - p) / (1 - q))), [(7, 0.25, 0.75), (1e6, 0.25, 0.2500001)], (0,)),
    "nbinom_kl": (lambda n, p, q: n * (log(p / q) + (1 / p - 1) * log((1 - p) / (1 - q))), [(2.5, 0.25, 0.75), (3000, 0.25, 0.2500001)], ()),
    "bernoulli_poisson_kl": (lambda p, m: p * log(p / m) + (1 - p) * log(1 - p) + m, [(0.25, 0.75), (1e-9, 1e-8), (0.96875, 1e3)], ()),
    "beta_expon_kl": (lambda a, b, s: beta_part(a, b) + log(s) + a / (a + b) / s, [(1.5, 2, 0.75), (30, 20, 1e-3), (1, 60, 0.03125)], ()),
    "beta_gamma_kl": (lambda a, b, c, s: beta_part(a, b) + to_gamma(a / (a + b), digamma(a) - digamma(a + b), c, s), [(1.5, 2, 3.25, 0.75), (30, 20, 40, 0.015625), (0.25, 3, 0.5, 2)], ()),
    "beta_norm_kl": (lambda a, b, m, s: beta_part(a, b) + to_norm(a / (a + b), beta_variance(a, b), m, s), [(1.5, 2, 0.25, 0.75), (30, 20, 0.59375, 0.0625), (0.25, 3, -4, 1e3)], ()),
    "beta_uniform_kl": (lambda a, b, m, s: beta_part(a, b) + log(s) + 0 * m, [(1.5, 2, -0.25, 1.75), (1, 1.0000001, 0, 1)], ()),
    "expon_gamma_kl": (lambda s, a, t: -1 - log(s) + to_gamma(s, log(s) - mp.euler, a, t), [(1.5, 3.25, 0.75), (2, 1.0000001, 2.0000001), (40, 50, 1)], ()),
    "expon_gumbel_r_kl": (lambda s, m, t: -1 - log(s) + to_gumbel(s, 1 / (1 + s / t), m, t), [(1.5, 0.25, 0.75), (1e-6, 1e-3, 2), (40, -3, 0.5)], ()),
    "expon_norm_kl": (lambda s, m, t: -1 - log(s) + to_norm(s, s * s, m, t), [(1.5, 0.25, 0.75), (2, 2.0000001, 2.0000001), (1e-3, 40, 1e3)], ()),
    "gamma_expon_kl": (lambda a, s, t: gamma_part(a, s) + log(t) + a * s / t, [(1.5, 2, 0.75), (1.0000001, 2, 2.0000001), (60, 0.5, 30)], ()),
    "gamma_gumbel_r_kl": (lambda a, s, m, t: gamma_part(a, s) + to_gumbel(a * s, (1 + s / t) ** -a, m, t), [(1.5, 2, 0.25, 0.75), (1e4, 0.01, 99.5, 0.78125), (12, 2, 30, 5)], ()),
    "gamma_norm_kl": (lambda a, s, m, t: gamma_part(a, s) + to_norm(a * s, a * s * s, m, t), [(1.5, 2, 0.25, 0.75), (1e6, 0.0009765625, 976.5625, 0.9765625), (12, 2, 24, 6.9375)], ()),
    "gumbel_r_norm_kl": (lambda m, s, n, t: -log(s) - mp.euler - 1 + to_norm(m + mp.euler * s, (pi * s) ** 2 / 6, n, t), [(0.25, 1.5, 2, 0.75), (1, 2, 2.125, 2.5625), (3, 40, 1, 2)], ()),
    "laplace_norm_kl": (lambda m, s, n, t: -1 - log(2 * s) + to_norm(m, 2 * s * s, n, t), [(0.25, 1.5, 2, 0.75), (1, 2, 1.0000001, 2.8125), (-40, 1, 3, 100)], ()),
    "norm_gumbel_r_kl": (lambda m, s, n, t: -log(2 * pi * mp.e * s * s) / 2 + to_gumbel(m, exp(s * s / (2 * t * t) - m / t), n, t), [(0.25, 1.5, 2, 0.75), (1, 2, 0.125, 1.875), (-40, 1, 3, 100)], ()),
    "norm_laplace_kl": (lambda m, s, n, t: -log(2 * pi * mp.e * s * s) / 2 + log(2 * t) + mean_distance(m - n, s) / t, [(0.25, 1.5, 2, 0.75), (1, 2, 1.0000001, 1.59375), (-40, 1, 3, 100)], ()),
    "pareto_expon_kl": (lambda b, s, t: pareto_part(b, s) + log(t) + b * s / (b - 1) / t, [(1.5, 2, 0.75), (40, 2, 2.0625), (1.0625, 1e-3, 0.015625)], ()),
    "pareto_gamma_kl": (lambda b, s, a, t: pareto_part(b, s) + to_gamma(b * s / (b - 1), log(s) + 1 / b, a, t), [(1.5, 2, 3.25, 0.75), (40, 2, 1600, 0.00128173828125), (1.0625, 1e-3, 0.25, 0.015625)], ()),
    "pareto_norm_kl": (lambda b, s, m, t: pareto_part(b, s) + to_norm(b * s / (b - 1), b * s * s / ((b - 1) ** 2 * (b - 2)), m, t), [(2.5, 2, 0.25, 0.75), (400, 2, 2.0078125, 0.0078125), (2.0625, 1, -4, 30)], ()),
    "uniform_beta_kl": (lambda x, w, a, b: loggamma(a) + loggamma(b) - loggamma(a + b) - log(w) - (a - 1) * log_mean(x, w) - (b - 1) * log_mean(1 - x - w, w), [(0.25, 0.5, 1.5, 2), (0.375, 0.0009765625, 30, 50), (1e-9, 0.5, 0.5, 3)], ()),
    "uniform_expon_kl": (lambda x, w, t: log(t / w) + (x + w / 2) / t, [(0.25, 1.5, 0.75), (1e-9, 2, 1), (1e3, 0.0009765625, 1e3)], ()),
    "uniform_gamma_kl": (lambda x, w, a, t: to_gamma(x + w / 2, log_mean(x, w), a, t) - log(w), [(0.25, 1.5, 3.25, 0.75), (30, 0.0009765625, 40, 0.75), (1e-9, 2, 0.5, 2)], ()),
    "uniform_gumbel_r_kl": (lambda x, w, m, t: to_gumbel(x + w / 2, exp(-x / t) * (1 - exp(-w / t)) * t / w, m, t) - log(w), [(0.25, 1.5, 2, 0.75), (1, 0.0009765625, 1.0625, 2), (-3, 90, 1, 2)], ()),
    "uniform_norm_kl": (lambda x, w, m, t: to_norm(x + w / 2, w * w / 12, m, t) - log(w), [(0.25, 1.5, 2, 0.75), (1, 2, 2.0000001, 0.578125), (1e3, 0.0009765625, 1e3, 0.03125)], ()),
    "uniform_pareto_kl": (lambda x, w, b, s: (b + 1) * log_mean(x, w) - b * log(s) - log(b * w), [(2, 1.5, 3.25, 0.75), (30, 0.0009765625, 2, 29.5), (1, 1e6, 0.125, 1)], ()),
    "dirichlet_kl": (dirichlet3_kl, [(1.5, 2, 0.75, 3.25, 0.75, 4), (30, 20, 50, 40, 15, 50)], ()),
    "multivariate_normal_kl": (normal2_kl, [(0.25, -1, 1.5, 0.25, 0.75, 1, 2, 0.5, -0.75, 1.25),
                                            (1, 2, 3, 0.5, 0.25, 1, 2, 3.0000001, 0.5, 0.2500001)], ()),
}


def derivative(f, x, k, *rest):
    size = abs(x[k]) or mpf(1) / 1000
    step = size * mpf(10) ** -35
    at = lambda v: derivative(f, v, *rest) if rest else f(*v)
    moved = lambda sign: at(x[:k] + (x[k] + sign * step,) + x[k + 1:])
    return (moved(1) - moved(-1)) / (2 * step)


kept = lambda v: "0.0" if abs(v) < mpf("1e-60") else repr(float(v))
numbers = lambda values: ", ".join(kept(v) for v in values)
print("""// Made by make_tail_values.py: functions of distributions and their gradients. Not to be edited.
#pragma once
#include <vector>

struct TailValue {
  const char* function;
  std::vector<double> operands;
  double value;
  std::vector<double> gradient, conditions;
};

// clang-format off
inline const std::vector<TailValue> tail_values = {""")
chosen = sys.argv[1:] or ROWS
for name, (f, points, fixed) in ((name, ROWS[name]) for name in chosen):
    for point in points:
        x = tuple(mpf(v) for v in point)
        free = [k for k in range(len(x)) if k not in fixed]
        gradient = [derivative(f, x, k) if k in free else mpf(0) for k in range(len(x))]
        condition = [sum(abs(x[j] * derivative(f, x, k, j)) for j in free) if k in free else mpf(0) for k in range(len(x))]
        print(f'    {{"{name}", {{{numbers(x)}}}, {repr(float(f(*x)))}, {{{numbers(gradient)}}}, {{{numbers(condition)}}}}},')
print("};\n// clang-format on")
