"""Writes ode_values.hpp: solutions of initial value problems by SciPy's methods of high order at tolerances of 1e-13.

Usage: make_ode_values.py > ode_values.hpp, with SciPy 1.10. The tests read the stored file alone.
"""
from scipy.integrate import solve_ivp

PROBLEMS = {
    "lotka_volterra": (lambda t, y: [1.5 * y[0] - y[0] * y[1], -3 * y[1] + y[0] * y[1]], [10, 5], [0, 0.5, 2, 3.25, 5], "DOP853"),
    "lorenz": (lambda t, y: [10 * (y[1] - y[0]), y[0] * (28 - y[2]) - y[1], y[0] * y[1] - 8 / 3 * y[2]], [1, 1, 1], [0, 0.25, 1, 2], "DOP853"),
    "van_der_pol": (lambda t, y: [y[1], 1000 * (1 - y[0] ** 2) * y[1] - y[0]], [2, 0], [0, 100, 500, 780], "Radau"),
    "robertson": (lambda t, y: [-0.04 * y[0] + 1e4 * y[1] * y[2], 0.04 * y[0] - 1e4 * y[1] * y[2] - 3e7 * y[1] ** 2, 3e7 * y[1] ** 2],
                  [1, 0, 0], [0, 0.4, 4, 40], "Radau"),
}
print("""// Made by make_ode_values.py. Not to be edited.
#pragma once
#include <vector>

struct OdeValue {
  const char* problem;
  std::vector<double> start, times, values;  // row by row
};

// clang-format off
inline const std::vector<OdeValue> ode_values = {""")
braces = lambda values: "{" + ", ".join(repr(float(v)) for v in values) + "}"
for name, (f, y0, times, method) in PROBLEMS.items():
    s = solve_ivp(f, (times[0], times[-1]), y0, method, times, rtol=1e-13, atol=1e-16)
    print(f'    {{"{name}", {braces(y0)}, {braces(times)},\n     {braces(s.y.T.ravel())}}},')
print("};\n// clang-format on")
