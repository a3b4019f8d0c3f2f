"""Writes function_values.hpp: the functions of <reel/special.hpp> that make_values.py leaves out, and their partial
derivatives, by mpmath at 50 digits.

Usage: make_function_values.py > function_values.hpp. Needs python3-mpmath; the tests do not. Operands that are whole
numbers come first, as in the header, and are not differentiated by.
"""
import mpmath as mp

from differences import by_differences

mp.mp.dps = 50
HALF = mp.mpf(1) / 2


def multigammaln(d, a):
    return sum(mp.loggamma(a - HALF * j) for j in range(int(d))) + mp.mpf(d) * (d - 1) / 4 * mp.log(mp.pi)


def owens_t(h, a):
    return mp.quad(lambda x: mp.exp(-h * h * (1 + x * x) / 2) / (1 + x * x), mp.linspace(0, a, 20)) / (2 * mp.pi)


def spherical(bessel):
    return lambda n, x: mp.sqrt(mp.pi / (2 * x)) * bessel(n + HALF, x)


def scaled(bessel, sign):
    return lambda v, x: bessel(v, x) * mp.exp(sign * x)


def of_order(n, bessel):
    return lambda x: bessel(n, x)


class ByOrders:
    """K or Y of whole order, which mpmath takes as slow limits, with derivatives by x (DLMF 10.6.1, 10.29.1)."""

    def __init__(self, bessel, n=None, scaled=False):
        self.bessel, self.n, self.scaled = bessel, n, scaled

    def plain(self, n, x, order):
        sign = -1 if self.bessel is mp.bessely else 1
        terms = (sign**j * mp.binomial(order, j) * self.bessel(n - order + 2 * j, x) for j in range(order + 1))
        return (HALF if sign < 0 else -HALF)**order * mp.re(sum(terms))

    def __call__(self, *arguments):
        *n, x, order = arguments
        n = n[0] if n else self.n
        if not self.scaled:
            return self.plain(n, x, order)
        return mp.exp(x) * sum(mp.binomial(order, i) * self.plain(n, x, i) for i in range(order + 1))


ONE = [(0,), (1,), (2,), (3,)]
TWO = [(0, 0), (1, 0), (0, 1), (1, 1), (2, 0), (0, 2)]
THREE = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 0)]
FOUR = [(0, 0, 0, 0), (1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 0, 1)]
ORDERS = [None, ONE, TWO, THREE, FOUR]


def at(*points):
    return [(x,) for x in points]


# The series of large arguments cancel.
SERIES = {"maxprec": 200000, "maxterms": 10**6}
LARGE_ORDERS = [(2500.5, 2500.5), (2300, 2312.5), (2300, 2290), (1500.25, 1600.5), (3000, 2500), (100, 5000.5), (-2100.25, 2200)]

# Name, function, how many operands are whole numbers, points.
ROWS = [
    ("multigammaln", multigammaln, 1, [(4, 2.75), (1, .001), (7, 50), (20, 1e5)]),
    ("comb", mp.binomial, 0, [(5.5, 2.25), (.5, -.25), (1000, 400.5), (40, 41.5), (-2.5, 1.5), (10, -1)]),
    ("riemann", mp.zeta, 0, at(.5, 2, 1.001, 0, -.001, -.25, -2, -3.5, -21, -100.5, 30)),
    ("zeta", mp.zeta, 0, [(1.5, 1), (2, .25), (3, .001), (30, 25), (5, 1e5), (100, 2)]),
    ("spence", lambda x: mp.re(mp.polylog(2, 1 - x)), 0, at(1e-10, .3, .5, .9, 1, 1.75, 2.25, 30, 1e8)),
    ("dawsn", lambda x: mp.sqrt(mp.pi) / 2 * mp.exp(-x * x) * mp.erfi(x), 0, at(1e-8, .3, 1, 2.5, -3, 6.5, 7, 100, 1e6)),
    ("exp1", mp.e1, 0, at(1e-10, .1, .99, 1, 1.5, 50, 700)),
    ("expint", lambda x: mp.re(mp.ei(x)), 0, at(1e-10, .5, 3, 44, 46, 700, -.5, -30)),
    ("expn", lambda n, x: mp.re(mp.expint(int(n), x)), 1, [(2, .1), (3, 1), (5, .01), (10, 2), (2, 30), (50, .5), (0, 5)]),
    ("sinint", mp.si, 0, at(1e-8, .5, 3.5, 4.5, 20, 1e5, -5)),
    ("cosint", lambda x: mp.re(mp.ci(x)), 0, at(1e-8, .5, 2, 3.75, 4.5, 20, 1e5, -5)),
    ("fresnel_sin", mp.fresnels, 0, at(1e-5, .5, 1.625, 1.75, 10.5, 1e5, 428571428.7, -1.25, -4.125)),
    ("fresnel_cos", mp.fresnelc, 0, at(1e-5, .5, 1.625, 1.75, 10.25, 100000.25, 428571428.7, -1.25, -4.125)),
    ("lambertw", lambda x: mp.re(mp.lambertw(x)), 0, at(-.3678794411714423, -.36787, -.3678, -.36, -.1, 1e-10, .75, 3, 50, 1e10)),
    ("lambertw_lower", lambda x: mp.re(mp.lambertw(x, -1)), 0, at(-.3678794411714423, -.36787, -.3678, -.36, -.1, -.001)),
    ("iv", lambda v, x: mp.re(mp.besseli(v, x)), 0, [(.5, 2), (2.5, 10), (3.25, 51), (10, 200), (-.5, 1), (-2.25, 5), (100, 50)]),
    ("ive", scaled(mp.besseli, -1), 0, [(.5, 2), (3.25, 51), (10, 2000), (.25, 700)]),
    ("kv", mp.besselk, 0, [(.5, 2), (2.5, 10), (3.25, 51), (1.5, 1e-5), (-2.25, 5), (12, 6)]),
    ("jv", lambda v, x: mp.besselj(v, x, **SERIES), 0, [(.5, 2), (2.5, 10), (3.25, 26), (-2.25, 5), (7.25, 3), (20.5, 18), (60.5, 50), (5.5, 200), (.25, 1e-8), *LARGE_ORDERS]),
    ("yv", lambda v, x: mp.re(mp.bessely(v, x, **SERIES)), 0, [(.5, 2), (2.5, 10), (3.25, 26), (-2.25, 5), (7.25, 3), (60.5, 50), (5.5, 200), *LARGE_ORDERS]),
    ("kve", scaled(mp.besselk, 1), 0, [(.5, 2), (2.5, 1e4), (10, 2000)]),
    *((f"i{n}", of_order(n, mp.besseli), 0, at(1e-8, .5, 10, 49, 51, 300, -4)) for n in (0, 1)),
    *((f"i{n}e", lambda x, n=n: scaled(mp.besseli, -1)(n, x), 0, at(1e-8, .5, 10, 49, 51, 300)) for n in (0, 1)),
    *((f"k{n}", ByOrders(mp.besselk, n), 0, at(1e-8, .5, 2, 10, 51)) for n in (0, 1)),
    *((f"k{n}e", ByOrders(mp.besselk, n, True), 0, at(1e-8, .5, 2, 10)) for n in (0, 1)),
    *((f"j{n}", of_order(n, mp.besselj), 0, at(1e-8, .5, 2, 8, 24.5, 25.5, 300, -4, 1e15)) for n in (0, 1)),
    *((f"y{n}", ByOrders(mp.bessely, n), 0, at(1e-8, .5, 2, 8, 24.5, 25.5, 300, 1e15)) for n in (0, 1)),
    ("jn", mp.besselj, 1, [(3, .001), (5, 3), (4, 30), (40, 30), (24, 25.5), (26, 25.5), (-3, 20), (3, -7)]),
    ("yn", ByOrders(mp.bessely), 1, [(3, .001), (5, 3), (40, 30), (24, 25.5), (-3, 20)]),
    ("spherical_jn", spherical(mp.besselj), 1, [(0, 1), (3, .001), (5, 3), (4, 30), (40, 30)]),
    ("spherical_yn", spherical(mp.bessely), 1, [(0, 1), (3, .001), (5, 3), (40, 30)]),
    ("spherical_in", spherical(mp.besseli), 1, [(0, 1), (3, .001), (5, 3), (40, 30), (2, 100)]),
    ("spherical_kn", spherical(mp.besselk), 1, [(0, 1), (3, .001), (5, 3), (2, 100)]),
    *((f"airy_{name}", f, 0, at(.25, .9, 1.1, 8, 30, -.75, -1.5, -4.25, -10.4, -10.6, -100))
      for name, f in (("ai", mp.airyai), ("bi", mp.airybi))),
    ("ellipk", mp.ellipk, 0, at(.1, .5, .999, -1, -50, 1e-10)),
    ("ellipkm1", lambda p: mp.ellipk(1 - p), 0, at(1e-10, .01, .5, 3)),
    ("ellipe", mp.ellipe, 0, at(.1, .5, .999, -1, -50, 1e-10)),
    ("ellipkinc", lambda p, m: mp.re(mp.ellipf(p, m)), 0, [(.3, .5), (1.5, .9), (2, .3), (-4, .7), (1, -3), (.5, 3)]),
    ("ellipeinc", lambda p, m: mp.re(mp.ellipe(p, m)), 0, [(.3, .5), (1.5, .9), (2, .3), (-4, .7), (1, -3), (.5, 3)]),
    ("elliprc", mp.elliprc, 0, [(1, 2), (2, 1), (1e-5, 10), (1e5, 1)]),
    ("elliprf", mp.elliprf, 0, [(1, 2, 3), (1e-5, 10, .1), (1, 1, 1)]),
    ("elliprd", mp.elliprd, 0, [(1, 2, 3), (1e-5, 10, .1), (1, 1, 1)]),
    ("elliprg", mp.elliprg, 0, [(1, 2, 3), (1e-5, 10, .1), (1, 1, 1)]),
    ("elliprj", mp.elliprj, 0, [(1, 2, 3, 4), (.001, 10, .1, 5), (2, 3, 4, .001), (1, 1, 1, 1)]),
    ("exprel", lambda x: mp.expm1(x) / x, 0, at(-30, -3.875, -1e-8, .5, 5, 50)),
    ("owens_t", owens_t, 0, [(.5, .25), (2, 3), (-1, .5), (1e-3, 100), (8, 2), (3, -.75)]),
    ("hyp1f1", lambda a, b, x: mp.hyp1f1(a, b, x, **SERIES), 0,
     [(.5, 1.5, 2), (2.5, .75, -8), (-3.25, 2, 30), (1.5, -.5, 3), (12.5, 3, 100.5), (-40.5, .5, -20), (-60.25, 2.5, 40), (.5, 2.5, -1500)]),
    ("hyp2f1", lambda a, b, c, z: mp.re(mp.hyp2f1(a, b, c, z, **SERIES)), 0,
     [(.5, .75, 1.5, .25), (.5, 1, 1.5, -3), (2, 3.5, 1.25, .875), (-8.5, 4, 2.5, .75), (.25, .5, 1.75, 1 - 2**-20), (1.5, 2.25, 2.5, -1e6),
      (-20.5, 21, .5, .625), (.5, 1.5, -2.5, .375), (-3, 2.5, 1.5, .9375), (2.5, .5, .5, -40), (1, 1, 2, 1e-10)]),
    ("legendre", mp.legendre, 1, [(0, .3), (1, .3), (10, .9), (6, -1), (20, 1.5), (51, -.7)]),
    ("chebyshev_t", mp.chebyt, 1, [(0, .3), (1, .3), (10, .9), (6, -1), (20, 1.5)]),
    ("chebyshev_u", mp.chebyu, 1, [(0, .3), (1, .3), (10, .9), (6, -1), (20, 1.5)]),
    ("hermite", mp.hermite, 1, [(0, .3), (1, .3), (10, .9), (6, -1), (20, 1.5)]),
    ("hermite_e", lambda n, x: mp.mpf(2)**(-HALF * n) * mp.hermite(n, x / mp.sqrt(2)), 1, [(0, .3), (1, .3), (10, .9), (20, 1.5)]),
    ("laguerre", lambda n, x: mp.laguerre(n, 0, x), 1, [(0, .3), (1, .3), (10, 5), (30, 20)]),
    ("genlaguerre", mp.laguerre, 1, [(1, .5, .3), (10, -.5, 5), (30, 3, 20)]),
    ("gegenbauer", mp.gegenbauer, 1, [(1, .5, .3), (10, .25, .5), (15, 3, .9)]),
    ("jacobi", mp.jacobi, 1, [(0, .5, .3, .2), (1, .5, .3, .2), (10, -.5, -.25, .5), (15, 3, 1, .9)]),
]


def derivative(f, arguments, orders):
    """By differences, unless f knows its own."""
    if isinstance(f, ByOrders):
        return f(*arguments, orders[-1])
    return by_differences(f, arguments, orders)


print("// Made by make_function_values.py. Rows: function, operands, values of the orders that function_orders names.")
print("#pragma once\n#include <vector>\n")
print("struct FunctionValue {\n  const char* function;\n  int whole;  // operands that are whole numbers")
print("  std::vector<double> operands, values;\n};")
print("/// By the number of operands with a derivative: the orders by each.")
lists = ",\n    ".join("{" + ", ".join("{" + ", ".join(map(str, o)) + "}" for o in orders or []) + "}" for orders in ORDERS)
print("// clang-format off\ninline const std::vector<std::vector<int>> function_orders[] = {\n    %s};" % lists)
print("inline const FunctionValue function_values[] = {")
for name, f, whole, points in ROWS:
    for point in points:
        arguments = [mp.mpf(v) for v in map(float, point)]
        for k in range(whole):
            arguments[k] = int(arguments[k])
        values = [derivative(f, arguments, (0,) * whole + orders) for orders in ORDERS[len(point) - whole]]
        values = ", ".join(mp.nstr(mp.re(y), 18, min_fixed=-4, max_fixed=8) for y in values)
        print("    {\"%s\", %d, {%s}, {%s}}," % (name, whole, ", ".join(map(repr, map(float, point))), values), flush=True)
print("};\n// clang-format on")
