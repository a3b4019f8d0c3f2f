"""Writes grid_values.hpp: SciPy's B-splines and values on grids.

Usage: make_grid_values.py > grid_values.hpp, with SciPy 1.10 and NumPy 1.24. The tests read the stored file alone.
"""
import numpy
from scipy.interpolate import BSpline, RegularGridInterpolator

braces = lambda values: "{" + ", ".join(repr(float(v)) for v in numpy.ravel(values)) + "}"
numbers = numpy.random.RandomState(14)

print("""// Made by make_grid_values.py. Not to be edited.
#pragma once
#include <cmath>
#include <vector>

struct BSplineValue {
  int degree;
  std::vector<double> knots, coefficients, points;
  std::vector<double> values, first, second, integrals;  // at the points; integrals from 0.5 on
};
struct RegularGridValue {
  const char* method;
  std::vector<std::vector<double>> axes;
  std::vector<double> values, points;  // [n_1, ..., n_d, 2]; [points, d]
  std::vector<double> inside, beyond;  // [points, 2]: NaN, and the outermost polynomials outside
};

// clang-format off
inline const std::vector<BSplineValue> b_spline_values = {""")
SPLINES = [
    (0, [0, 1, 2.5, 4]),
    (1, [0, 1, 2.5, 3, 4]),
    (2, [-1, 0, 0.5, 2, 3, 4.5, 5]),
    (3, [0, 0, 0, 0, 1, 2.5, 3, 3, 4, 4, 4, 4]),
    (3, [-1, 0, 0.5, 2, 3, 4.5, 5, 6]),
    (5, [0, 0, 0, 0, 0, 0, 1.5, 2, 3, 4, 4, 4, 4, 4, 4]),
]
for degree, knots in SPLINES:
    f = BSpline(numpy.array(knots, float), numpy.round(numbers.uniform(-2, 2, len(knots) - degree - 1), 3), degree)
    points = [knots[0] - 0.75, knots[degree], 0.875, 2.5, 3, 3.25, knots[-degree - 1], knots[-1] + 0.5]
    rows = [f(points)] + [f(points, k) if k <= degree else 0 * numpy.array(points) for k in (1, 2)]
    rows.append([f.antiderivative()(p) - f.antiderivative()(0.5) for p in points])
    print(f"    {{{degree}, {braces(knots)}, {braces(f.c)}, {braces(points)},\n     " + ", ".join(map(braces, rows)) + "},")
print("""};

inline const std::vector<RegularGridValue> regular_grid_values = {""")
GRIDS = [
    [[-1, 0.5, 2, 3.25]],
    [[0, 1, 2.5, 4, 4.5], [-2, -1.5, 0, 1, 4]],
    [[0, 1, 3, 4], [0, 0.5, 2, 3, 5], [-1, 0, 1.5, 2]],
]
for method in "nearest", "linear", "cubic":
    for axes in GRIDS:
        axes = [numpy.array(a, float) for a in axes]
        values = numpy.round(numbers.uniform(-2, 2, [*map(len, axes), 2]), 3)
        low, high = [a[0] for a in axes], [a[-1] for a in axes]
        inner = numpy.round(numbers.uniform(low, high, (5, len(axes))), 3)
        outer = numpy.array([numpy.array(high) + 0.25, numpy.array(low) - 0.5])
        points = numpy.concatenate([inner, [low, high], outer])
        # SciPy's cubic splines take one value at a time.
        def result(fill):
            make = lambda v: RegularGridInterpolator(axes, v, method, bounds_error=False, fill_value=fill)
            return numpy.stack([make(values[..., k])(points) for k in range(2)], -1)
        grid = "{" + ", ".join(map(braces, axes)) + "}"
        print(f'    {{"{method}", {grid}, {braces(values)}, {braces(points)},')
        print("     " + ", ".join(map(braces, (result(numpy.nan), result(None)))).replace("nan", "NAN") + "},")
print("};")
print("// clang-format on")
