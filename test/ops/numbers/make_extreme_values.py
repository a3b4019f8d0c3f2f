"""Writes extreme_values.hpp: values and first and second derivatives of pointwise ops at extreme operands, by mpmath.

Usage: make_extreme_values.py > extreme_values.hpp
"""
import mpmath as mp

mp.mp.dps = 1500
TINY, SMALL, LARGE, HUGE = (1e-300, 1e-160), (1e-8, 0.1), (1e4, 1e16), (1e155, 1e300)
MODERATE = (0.75, 3.0, 6.0, 20.0, 37.0, 100.0, 300.0)


def of_both_signs(*groups):
    return [s * x for group in groups for x in group for s in (1, -1)]


def ndtr(x):
    return mp.erfc(-x / mp.sqrt(2)) / 2


ANY = of_both_signs(TINY, SMALL, MODERATE)
POSITIVE = [*TINY, *SMALL, *MODERATE, *LARGE, *HUGE]
ALL = of_both_signs(TINY, SMALL, MODERATE, LARGE, HUGE)
GAUSS = of_both_signs(TINY, SMALL, MODERATE[:5])
WITHIN = of_both_signs(TINY, SMALL, (0.5, 0.99999999999))
CUBE = mp.mpf("0.044715")
UNARY = {
    "softplus": (lambda x: mp.log1p(mp.exp(x)), ANY), "log_sigmoid": (lambda x: -mp.log1p(mp.exp(-x)), ANY),
    "sigmoid": (lambda x: 1 / (1 + mp.exp(-x)), ANY), "silu": (lambda x: x / (1 + mp.exp(-x)), ANY),
    "mish": (lambda x: x * mp.tanh(mp.log1p(mp.exp(x))), ANY), "gelu": (lambda x: x * ndtr(x), GAUSS),
    "gelu_tanh": (lambda x: x / (1 + mp.exp(-2 * mp.sqrt(2 / mp.pi) * (x + CUBE * x**3))), of_both_signs(TINY, SMALL, MODERATE[:4])),
    "softsign": (lambda x: x / (1 + abs(x)), ALL), "tanh": (mp.tanh, ANY), "sinh": (mp.sinh, ANY), "cosh": (mp.cosh, ANY),
    "exp": (mp.exp, ANY), "expm1": (mp.expm1, ANY), "exp2": (lambda x: mp.mpf(2)**x, ANY), "exp10": (lambda x: mp.mpf(10)**x, ANY),
    "log": (mp.log, POSITIVE), "log2": (lambda x: mp.log(x, 2), POSITIVE), "log10": (mp.log10, POSITIVE),
    "log1p": (mp.log1p, [*POSITIVE, -1e-300, -1e-20, -1e-8, -0.5, -0.999999]), "sqrt": (mp.sqrt, POSITIVE),
    "rsqrt": (lambda x: 1 / mp.sqrt(x), POSITIVE), "cbrt": (mp.cbrt, POSITIVE), "reciprocal": (lambda x: 1 / x, ALL),
    "square": (lambda x: x * x, ALL), "arctan": (mp.atan, ALL), "arcsinh": (mp.asinh, ALL),
    "arccosh": (mp.acosh, [1.0000001, 1.5, 40.0, *LARGE, *HUGE]), "arctanh": (mp.atanh, WITHIN), "arcsin": (mp.asin, WITHIN),
    "arccos": (mp.acos, WITHIN), "erf": (mp.erf, GAUSS), "erfc": (mp.erfc, GAUSS), "ndtr": (ndtr, GAUSS),
    "log_ndtr": (lambda x: mp.log(ndtr(x)), GAUSS), "erfcx": (lambda x: mp.exp(x * x) * mp.erfc(x), GAUSS),
    "log1mexp": (lambda x: mp.log(-mp.expm1(-x)), [*TINY, *SMALL, *MODERATE]),
    "logit": (lambda x: mp.log(x / (1 - x)), [*TINY, *SMALL, 0.5, 0.9, 0.999999]),
    "entr": (lambda x: -x * mp.log(x), POSITIVE), "sinc": (lambda x: mp.sin(mp.pi * x) / (mp.pi * x), of_both_signs(TINY, SMALL, (0.5, 1.5))),
}
PAIRS = [(a, b) for a in (1e-300, 1e-160, 0.3, 40.0, 1e160) for b in (1e-160, 1e-20, 3.0, 1e159)]
NEAR = [(a, b) for a in (-700.0, -40.0, 1e-20, 2.0, 700.0) for b in (-700.0, -39.0, 0.25, 750.0)]
# Without second derivatives whose parts overflow: arctan2 of two tiny numbers, power of a tiny one.
BINARY = {
    "logaddexp": (lambda a, b: mp.log(mp.exp(a) + mp.exp(b)), NEAR),
    "logaddexp2": (lambda a, b: mp.log(mp.mpf(2)**a + mp.mpf(2)**b, 2), [(a, b) for a, b in NEAR if abs(a) < 100]),
    "hypot": (lambda a, b: mp.sqrt(a * a + b * b), PAIRS), "arctan2": (mp.atan2, [(a, b) for a, b in PAIRS if max(a, b) > 1e-150]), "divide": (lambda a, b: a / b, PAIRS),
    "xlogy": (lambda a, b: a * mp.log(b), PAIRS), "xlog1py": (lambda a, b: a * mp.log1p(b), PAIRS),
    "power": (lambda a, b: a**b, [(a, b) for a, b in PAIRS if a > 1e-150 and abs(b * mp.log(a)) < 600]),
}
# Results that lose digits: op, order of the derivative, where. They are compared by absolute error alone.
LEFT = {
    ("sigmoid", 1): lambda x: x > 9, ("sigmoid", 2): lambda x: x > 9 or abs(x) < 0.01, ("tanh", 1): lambda x: abs(x) > 5,
    ("tanh", 2): lambda x: abs(x) > 5, ("silu", 2): lambda x: x > 18, ("mish", 2): lambda x: x > 5, ("gelu_tanh", 2): lambda x: x > 5, ("logaddexp2", 0): lambda a, b: a < -30 and b < 1,
    ("hypot", 2): lambda a, b: not 0.01 < a / b < 100, ("arctan2", 2): lambda a, b: max(a, b) > 1e150,
    ("gelu", 1): lambda x: x == -0.75, ("gelu_tanh", 0): lambda x: x == -20,
}
ORDERS = {1: [(0,), (1,), (2,)], 2: [(0, 0), (1, 0), (0, 1), (2, 0), (1, 1), (0, 2)]}


def derivative(f, at, orders):
    """By central differences with steps relative to the operands, in 1500 digits."""
    if sum(orders) == 0:
        return f(*at)
    k = next(i for i, n in enumerate(orders) if n)
    h = abs(at[k]) * mp.mpf(10)**-250
    less = tuple(n - (i == k) for i, n in enumerate(orders))
    up, down = ([v + (s * h if i == k else 0) for i, v in enumerate(at)] for s in (1, -1))
    return (derivative(f, up, less) - derivative(f, down, less)) / (2 * h)


def text(v):
    if abs(v) > mp.mpf("1.7e308"):
        return "beyond"
    return mp.nstr(v, 17) if abs(v) > mp.mpf("1e-320") else "0"


print("// Made by make_extreme_values.py. Rows: op, operands, values of the orders in extreme_operands.cpp,\n// how many operands, and the orders whose digits are lost.")
print("#pragma once\n#include <limits>\n")
print("struct ExtremeValue {\n  const char* op;\n  double operands[2], values[6];\n  int count;  // of operands\n  const char* left;\n};")
print("constexpr double beyond = std::numeric_limits<double>::infinity();  // float64, of either sign")
print("// clang-format off\ninline const ExtremeValue extreme_values[] = {")
rows = []
for table in (UNARY, BINARY):
    for op, (f, points) in table.items():
        for point in points:
            point = point if isinstance(point, tuple) else (point,)
            values = [derivative(f, [mp.mpf(p) for p in point], o) for o in ORDERS[len(point)]]
            left = "".join(str(n) for n in range(3) if LEFT.get((op, n), lambda *p: False)(*point))
            rows.append(f'{{"{op}", {{{", ".join(map(repr, point))}}}, {{{", ".join(map(text, values))}}}, {len(point)}, "{left}"}},')
for first in range(0, len(rows), 2):
    print("    " + " ".join(rows[first:first + 2]))
print("};\n// clang-format on")
