"""Densities, distribution functions and quantiles of distributions, and samples: quantiles of probabilities that are on record."""
import numpy
import scipy.stats
import torch
from record import E, T, mp

ln, exp, lg = mp.log, mp.exp, mp.loggamma
log_beta = lambda a, b: lg(a) + lg(b) - lg(a + b)
gammainc = lambda a, x: mp.gammainc(a, 0, x, regularized=True)
betainc = lambda a, b, x: mp.betainc(a, b, 0, x, regularized=True)


def normal_quantile(p):
    return mp.sqrt(2) * mp.erfinv(2 * p - 1)


def t_cdf(x, d):
    tail = betainc(d / 2, mp.mpf(1) / 2, d / (d + x * x)) / 2
    return tail if x < 0 else 1 - tail


def vonmises_pdf(x, k):
    return exp(k * mp.cos(x)) / (2 * mp.pi * mp.besseli(0, k))


def vonmises_cdf(x, k):
    """By the trapezoid rule for the Fourier coefficients I_n(k) / I_0(k), which fall faster than powers."""
    first, total, n = mp.besseli(0, k), x / 2, 1
    while True:
        ratio = mp.besseli(n, k) / first
        total += ratio * mp.sin(n * x) / n
        if ratio < mp.mpf(10) ** -112:
            return mp.mpf(1) / 2 + total / mp.pi
        n += 1


def solved(cdf, start):
    """The quantile from SciPy's."""
    real = lambda z: mp.mpf(getattr(z, "real", z))
    return lambda p, *shape: real(mp.findroot(lambda z: cdf(z, *shape) - p, mp.mpf(start(float(p), *map(float, shape))), tol=1e-190, maxsteps=200))


between = lambda a, b: mp.ncdf(b) - mp.ncdf(a)
S = scipy.stats
# Of the standard distribution: the logarithm of the density, the distribution function, the quantile, points, shape parameters.
STANDARD = {
    "norm": (lambda x: -x * x / 2 - ln(2 * mp.pi) / 2, mp.ncdf, normal_quantile, [-1.5, 0.25, 3]),
    "expon": (lambda x: -x, lambda x: 1 - exp(-x), lambda p: -ln(1 - p), [0.25, 1.5, 6]),
    "laplace": (lambda x: -abs(x) - ln(2), lambda x: exp(x) / 2 if x < 0 else 1 - exp(-x) / 2, lambda p: ln(2 * p) if p < mp.mpf(1) / 2 else -ln(2 * (1 - p)), [-1.5, 0.25, 3]),
    "cauchy": (lambda x: -ln(mp.pi) - ln(1 + x * x), lambda x: mp.mpf(1) / 2 + mp.atan(x) / mp.pi, lambda p: mp.tan(mp.pi * (p - mp.mpf(1) / 2)), [-1.5, 0.25, 3]),
    "gumbel_r": (lambda x: -x - exp(-x), lambda x: exp(-exp(-x)), lambda p: -ln(-ln(p)), [-1.5, 0.25, 3]),
    "logistic": (lambda x: -x - 2 * ln(1 + exp(-x)), lambda x: 1 / (1 + exp(-x)), lambda p: ln(p) - ln(1 - p), [-1.5, 0.25, 3]),
    "uniform": (lambda x: 0 * x, lambda x: x, lambda p: p, [0.125, 0.5, 0.9375]),
    "pareto": (lambda x, b: ln(b) - (b + 1) * ln(x), lambda x, b: 1 - x ** -b, lambda p, b: (1 - p) ** (-1 / b), [1.25, 1.5, 3], [1.25, 0.75, 3]),
    "lognorm": (lambda x, s: -ln(x) ** 2 / (2 * s * s) - ln(x * s) - ln(2 * mp.pi) / 2, lambda x, s: mp.ncdf(ln(x) / s), lambda p, s: exp(s * normal_quantile(p)), [0.25, 1.5, 3], [1.25, 0.75, 3]),
    "weibull_min": (lambda x, c: ln(c) + (c - 1) * ln(x) - x ** c, lambda x, c: 1 - exp(-x ** c), lambda p, c: (-ln(1 - p)) ** (1 / c), [0.25, 1.5, 3], [1.25, 0.75, 3]),
    "gamma": (lambda x, a: (a - 1) * ln(x) - x - lg(a), lambda x, a: gammainc(a, x), solved(lambda x, a: gammainc(a, x), S.gamma.ppf), [0.25, 1.5, 7], [0.5, 2, 4.5]),
    "chi2": (lambda x, d: (d / 2 - 1) * ln(x) - x / 2 - lg(d / 2) - d / 2 * ln(2), lambda x, d: gammainc(d / 2, x / 2), solved(lambda x, d: gammainc(d / 2, x / 2), S.chi2.ppf), [0.25, 1.5, 7], [1, 2.5, 4.5]),
    "beta": (lambda x, a, b: (a - 1) * ln(x) + (b - 1) * ln(1 - x) - log_beta(a, b), lambda x, a, b: betainc(a, b, x), solved(lambda x, a, b: betainc(a, b, x), S.beta.ppf),
             [0.25, 0.4375, 0.96875], [0.5, 2, 4.5], [1.25, 0.75, 3]),
    "t": (lambda x, d: lg((d + 1) / 2) - lg(d / 2) - ln(d * mp.pi) / 2 - (d + 1) / 2 * ln(1 + x * x / d), t_cdf, solved(t_cdf, S.t.ppf), [-1.5, 0.25, 3], [1.5, 2.5, 7]),
    "truncnorm": (lambda x, a, b: -x * x / 2 - ln(2 * mp.pi) / 2 - ln(between(a, b)), lambda x, a, b: between(a, x) / between(a, b),
                  lambda p, a, b: normal_quantile(mp.ncdf(a) + p * between(a, b)), [-0.5, 0.25, 3], [-1.5, -0.75, 2.5], [0.5, 1.25, 4]),
}
PROBABILITIES = [0.0625, 0.4375, 0.96875]
LOCATIONS, SCALES = [0.5, -1.0, 2], [1.25, 0.75, 3]


def six(name, log_density, cdf, quantile, x, *parameters, **options):
    """Of functions of x and the parameters."""
    E(f"{name}_pdf", lambda *a: exp(log_density(*a)), x, *parameters, **options)
    E(f"{name}_logpdf", log_density, x, *parameters, **options)
    E(f"{name}_cdf", cdf, x, *parameters, **options)
    E(f"{name}_sf", lambda *a: 1 - cdf(*a), x, *parameters, **options)
    E(f"{name}_logcdf", lambda *a: ln(cdf(*a)), x, *parameters, **options)
    E(f"{name}_logsf", lambda *a: ln(1 - cdf(*a)), x, *parameters, **options)
    E(f"{name}_ppf", quantile, PROBABILITIES, *parameters, **options)


def continuous():
    for name, (log_density, cdf, quantile, x, *shapes) in STANDARD.items():
        # Operands are x, the shapes, a location and a scale.
        def moved(f):
            return lambda x, *p: f((x - p[-2]) / p[-1], *p[:-2])

        at = [m + s * z for z, m, s in zip(x, LOCATIONS, SCALES)]
        six(name, lambda x, *p: moved(log_density)(x, *p) - ln(p[-1]), moved(cdf), lambda q, *p: p[-2] + p[-1] * quantile(q, *p[:-2]), at, *shapes, LOCATIONS, SCALES,
            rough_second=name in ("lognorm", "t"))
    six("vonmises", lambda x, k: ln(vonmises_pdf(x, k)), vonmises_cdf, solved(vonmises_cdf, S.vonmises.ppf), [-1.5, 0.25, 2], [0.5, 2.0, 4.5], rough_second=True)


def discrete():
    choose = lambda n, k: exp(lg(n + 1) - lg(k + 1) - lg(n - k + 1))
    masses = {
        "poisson": (lambda k, m: exp(k * ln(m) - m - lg(k + 1)), 0, [[1.25, 0.75, 3.0]]),
        "binom": (lambda k, p: choose(7, k) * p ** k * (1 - p) ** (7 - k), 0, [[0.25, 0.4375, 0.625]]),
        # The second point is away from a zero of the derivative by n, which would magnify rounding.
        "nbinom": (lambda k, n, p: exp(lg(k + n) - lg(k + 1) - lg(n)) * p ** n * (1 - p) ** k, 0, [[0.5, 2.0, 4.5], [0.25, 0.3125, 0.625]]),
        "bernoulli": (lambda k, p: p if k else 1 - p, 0, [[0.25, 0.4375, 0.625]]),
        "geom": (lambda k, p: p * (1 - p) ** (k - 1), 1, [[0.25, 0.4375, 0.625]]),
    }
    for name, (mass, lowest, parameters) in masses.items():
        k = numpy.array([0, 0, 1] if name == "bernoulli" else [1, 2, 5])
        below = k if name != "bernoulli" else numpy.array([0, 0, 0])
        cdf = lambda k, *p: mp.fsum(mass(mp.mpf(j), *p) for j in range(lowest, int(k) + 1))
        E(f"{name}_pmf", mass, k, *parameters)
        E(f"{name}_logpmf", lambda *a: ln(mass(*a)), k, *parameters)
        E(f"{name}_cdf", cdf, below, *parameters)
        E(f"{name}_sf", lambda *a: 1 - cdf(*a), below, *parameters)
        E(f"{name}_logcdf", lambda *a: ln(cdf(*a)), below, *parameters)
        E(f"{name}_logsf", lambda *a: ln(1 - cdf(*a)), below, *parameters)

        def quantile(p, *a):
            k = lowest
            while cdf(k, *a) < p:
                k += 1
            return mp.mpf(k)

        E(f"{name}_ppf", quantile, PROBABILITIES, *parameters, order=0)


# F_cdf(F_rvs(Generator(7), {3}, parameters), parameters); of quantiles of uniform numbers it is these for every distribution.
UNIFORM = [0.75015222210311261, 0.085657865301281499, 0.79528403734019026]
REJECTION = {
    "gamma": [0.56777637994412666, 0.78785228072358027, 0.65134436435822363],
    "chi2": [0.56777637994412666, 0.78769621883000529, 0.65065863195704776],
    "t": [0.45002773625043613, 0.7178969130676417, 0.67522358483075928],
    "beta": [0.59775453891463137, 0.35042577701637889, 0.74231511610316259],
    "vonmises": [0.95328690024136631, 0.3962708251507373, 0.88598387609055129],
}
# norm_rvs(Generator(7), {2, 2}).
NORMALS = [[0.67496885003690421, -1.3679883249593709], [0.82489373179102898, 1.7263102119346927]]


def samples():
    number = numpy.arange(3)  # of the sample
    for name, (_, _, quantile, _, *shapes) in STANDARD.items():
        recorded = REJECTION.get(name, UNIFORM)
        E(f"{name}_rvs", lambda i, *a: a[-2] + a[-1] * quantile(mp.mpf(recorded[int(i)]), *a[:-2]), number, *shapes, LOCATIONS, SCALES, rough_second=name == "truncnorm")
    quantile = solved(vonmises_cdf, S.vonmises.ppf)
    E("vonmises_rvs", lambda i, k: quantile(mp.mpf(REJECTION["vonmises"][int(i)]), k), number, [0.5, 2.0, 4.5])
    T("multivariate_normal_rvs", lambda m, l: m + torch.tensor(NORMALS) @ l.tril().T, (2,), [[1.5, 7], [-0.25, 0.75]])


def divergences():
    """Of distributions for which PyTorch has none or few digits."""
    E("chi2_kl", lambda a, b: lg(b / 2) - lg(a / 2) + (a - b) / 2 * mp.digamma(a / 2), [1.5, 4.5], [2.5, 3.25])
    one = lambda p, q: p * ln(p / q) + (1 - p) * ln((1 - p) / (1 - q))
    E("binom_kl", lambda p, q: 7 * one(p, q), [0.25, 0.625], [0.5, 0.1875])
    E("nbinom_kl", lambda n, p, q: n / p * one(p, q), [1.5, 4.0], [0.25, 0.625], [0.5, 0.1875])

    def weibull(c, s, d, t):
        return ln(c / d) + d * ln(t / s) + mp.euler * (d / c - 1) + (s / t) ** d * mp.gamma(1 + d / c) - 1

    E("weibull_min_kl", weibull, [1.5, 0.75], [2.0, 0.5], [1.25, 2], [0.75, 1])
    ratio = lambda k: mp.besseli(1, k) / mp.besseli(0, k)
    E("vonmises_kl", lambda k, m, l, n: ln(mp.besseli(0, l) / mp.besseli(0, k)) + ratio(k) * (k - l * mp.cos(m - n)), [1.5, 4.5], [0.25, -1], [2.5, 0.75], [1, 0.5])


def add():
    continuous()
    discrete()
    samples()
    divergences()
