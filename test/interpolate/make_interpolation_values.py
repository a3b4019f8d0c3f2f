"""Writes interpolation_values.hpp: SciPy's splines, their derivatives and integrals, and NumPy's interp.

Usage: make_interpolation_values.py > interpolation_values.hpp, with SciPy 1.10 and NumPy 1.24. The tests read the stored
file alone.
"""
import numpy
from scipy.interpolate import Akima1DInterpolator, CubicSpline, PchipInterpolator

SAMPLES = {
    "uneven": ([0, 1, 2.5, 3, 4.25], [1, 3, -1, 0.5, 2]),
    "flat": ([-1, 0, 1, 2, 3, 4, 5], [0, 0, 0, 1, 1, 3, 2.5]),
    "steep": ([0, 1, 1.125, 4, 9, 9.5], [1, -2, 30, 31, 31.5, 8]),
    "three": ([0, 1, 3], [1, 0, 5]),
    "two": ([-2, 3], [4, 1.5]),
}


def periodic(x, y):
    return CubicSpline(x, [*y[:-1], y[0]], bc_type="periodic")


FUNCTIONS = {
    "not a knot": CubicSpline,
    "natural": lambda x, y: CubicSpline(x, y, bc_type="natural"),
    "clamped": lambda x, y: CubicSpline(x, y, bc_type=((1, 2.0), (1, -1.0))),
    "periodic": periodic,
    "pchip": PchipInterpolator,
    "akima": Akima1DInterpolator,
}

print("""// Made by make_interpolation_values.py. Not to be edited.
#pragma once
#include <vector>

struct InterpolationValue {
  const char* function;
  std::vector<double> x, y, points;
  std::vector<double> values, first, second, integrals;  // at the points; integrals from 0.5 on
};

// clang-format off
inline const std::vector<InterpolationValue> interpolation_values = {""")
braces = lambda values: "{" + ", ".join(repr(float(v)) for v in values) + "}"
for name, function in FUNCTIONS.items():
    for x, y in SAMPLES.values():
        if name == "akima" and len(x) == 2:
            continue
        f = function(numpy.array(x, float), numpy.array(y, float))
        f.extrapolate = "periodic" if name == "periodic" else True
        points = [x[0] - 0.75, x[0], x[0] + 0.375, x[1], (x[-2] + x[-1]) / 2, x[-1], x[-1] + 1.5]
        rows = [[f(p, k) for p in points] for k in range(3)] + [[f.integrate(0.5, p) for p in points]]
        print(f'    {{"{name}", {braces(x)}, {braces(y)}, {braces(points)},')
        print("     " + ", ".join(braces(row) for row in rows) + "},")
print("};\n")
x, y = SAMPLES["steep"]
points = [-1, 0, 0.5, 1, 1.0625, 3, 9.25, 9.5, 10]
print("inline const std::vector<double> interp_points = " + braces(points) + ";")
print("inline const std::vector<double> interp_plain = " + braces(numpy.interp(points, x, y)) + ";")
print("inline const std::vector<double> interp_ends = " + braces(numpy.interp(points, x, y, left=-7, right=70)) + ";")
print("inline const std::vector<double> interp_period = " + braces(numpy.interp(points, x, y, period=6.5)) + ";")
print("// clang-format on")
