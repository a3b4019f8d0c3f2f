"""Writes values.hpp: special functions and their partial derivatives by mpmath, at 50 digits.

Usage: make_values.py > values.hpp. Needs python3-mpmath; the tests do not.
"""
import mpmath as mp

from differences import by_differences

mp.mp.dps = 50


def gammainc(a, x):
    return mp.gammainc(a, 0, x, regularized=True)


def gammaincc(a, x):
    return 1 - gammainc(a, x) if a < 1 else mp.gammainc(a, x, mp.inf, regularized=True)


def betainc(a, b, x):
    return mp.betainc(a, b, 0, x, regularized=True)


def betaln(a, b):
    return mp.loggamma(a) + mp.loggamma(b) - mp.loggamma(a + b)


def derivative(f, arguments, orders):
    """By parameters numerically, by the last argument of an incomplete function through its density."""
    *parameters, last = orders
    if f in (gammainc, gammaincc, betainc) and last > 0:
        sign = -1 if f is gammaincc else 1
        if f is betainc:
            density = lambda a, b, x: x**(a - 1) * (1 - x)**(b - 1) / mp.beta(a, b)
        else:
            density = lambda a, x: sign * mp.exp(-x) * x**(a - 1) / mp.gamma(a)
        return derivative(density, arguments, (*parameters, last - 1))
    return by_differences(f, arguments, orders)


TWO = [(0, 0), (1, 0), (0, 1), (2, 0), (1, 1), (0, 2), (3, 0), (2, 1)]
FEW = [(0, 0), (1, 0), (0, 1)]
THREE = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1), (2, 0, 0), (1, 1, 0), (1, 0, 1), (0, 1, 1), (1, 1, 1), (0, 3, 0)]
FIRST = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]
GAMMA = [((.5, .25), TWO), ((1, 2.5), TWO), ((2.5, 8), TWO), ((1e-5, .3), FEW), ((1e-5, 3), FEW), ((.3, 1.4), TWO),
         ((10, 9.5), TWO), ((10, 30), TWO), ((30, 31.5), TWO), ((100, 140), FEW), ((1000, 1010), FEW),
         ((1e4, 1e4), FEW), ((3, 1e-3), TWO), ((19.5, 5), FEW), ((20, 21), FEW)]
BETA = [((.5, .5, .3), THREE), ((2, 3, .9), THREE), ((50, 3, .5), FIRST), ((25, 30, .2), THREE), ((100, 2, .97), FIRST),
        ((.1, 50, .01), FIRST), ((1000, 800, .52), FIRST), ((5, .2, .999), THREE)]
PAIRS = [((.5, .5), TWO), ((2, 3), TWO), ((1e-3, 1e6), FEW), ((3, 1e8), FEW), ((1e5, 2e5), FEW), ((25, 19), TWO)]
ONE = [(0,), (1,), (2,), (3,)]
ROWS = [
    ("gamma", mp.gamma, [((x,), ONE) for x in (-2.5, -20.25, 1e-10, .3, 5, 170)]),
    ("rgamma", mp.rgamma, [((x,), ONE) for x in (-3, -2.5, 0, .3, 5, 30)]),
    ("betaln", betaln, PAIRS),
    ("beta", mp.beta, [((.5, .5), TWO), ((2, 3), TWO), ((.25, 40), FEW)]),
    ("poch", lambda a, m: mp.gammaprod([a + m], [a]), [((2.5, 3), TWO), ((1e6, .5), FEW), ((.75, -.5), FEW)]),
    ("gammainc", gammainc, GAMMA),
    ("gammaincc", gammaincc, GAMMA),
    ("betainc", betainc, BETA),
]

print("// Made by make_values.py. Rows: op, orders by each argument, arguments, value.")
print("#pragma once\n")
print("struct SpecialValue {\n  const char* op;\n  int orders[3];\n  double arguments[3], value;\n};")
print("// clang-format off\ninline constexpr SpecialValue special_values[] = {")
for name, f, points in ROWS:
    for arguments, all_orders in points:
        for orders in all_orders:
            y = derivative(f, [mp.mpf(v) for v in arguments], orders)
            print("    {\"%s\", {%s}, {%s}, %s}," % (name, ", ".join(map(str, orders)), ", ".join(map(repr, map(float, arguments))),
                                                   mp.nstr(y, 18, min_fixed=-4, max_fixed=8)))
print("};\n// clang-format on")
