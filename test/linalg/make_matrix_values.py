"""Writes matrix_values.hpp: functions of matrices and their derivatives along a direction, by mpmath at 60 digits.

Usage: make_matrix_values.py > matrix_values.hpp. Needs python3-mpmath; the tests do not. A derivative is a central
difference of step 1e-20.
"""
import mpmath as mp

mp.mp.dps = 60

# Each matrix has distinct eigenvalues off the negative axis; the third is far from normal, the fourth nearly defective.
MATRICES = {
    "general": [[4, 1, -2], [0.5, 3, 1], [1, -1, 5]],
    "rotating": [[1, -8, 0.5], [8, 1, 0.25], [0, 0.125, 2]],
    "skewed": [[1, 100, 0], [0, 2, 50], [0, 0, 3]],
    "nearly defective": [[2, 1, 0], [0, 2.0001220703125, 1], [0, 0, 1.9998779296875]],
}
DIRECTION = [[0.5, -1, 0.25], [1, 0.75, -0.5], [-0.25, 0.5, 1]]


def of_eigenvalues(f, a):
    w, v = mp.eig(a)
    return v * mp.diag([f(x) for x in w]) * v**-1


def derivative(f, a, e):
    h = mp.mpf(10) ** -20
    return (of_eigenvalues(f, a + h * e) - of_eigenvalues(f, a - h * e)) / (2 * h)


FUNCTIONS = {"expm": mp.exp, "sqrtm": mp.sqrt, "logm": mp.log}


def numbers(x):
    return "{" + ", ".join(mp.nstr(mp.re(x[i, j]), 19) for i in range(x.rows) for j in range(x.cols)) + "}"


print("// Made by make_matrix_values.py: matrices of 3 rows, values of functions, and derivatives along `direction`.")
print("#pragma once\n#include <vector>\n")
print("namespace linalg {\n\n// clang-format off")
print("inline const std::vector<double> direction = " + numbers(mp.matrix(DIRECTION)) + ";")
print("struct MatrixValue {\n  const char *function, *matrix;\n  std::vector<double> a, value, derivative;\n};")
print("inline const MatrixValue matrix_values[] = {")
for name, rows in MATRICES.items():
    a, e = mp.matrix(rows), mp.matrix(DIRECTION)
    for function, f in FUNCTIONS.items():
        print(f'    {{"{function}", "{name}", {numbers(a)},')
        print(f"      {numbers(of_eigenvalues(f, a))},\n      {numbers(derivative(f, a, e))}}},")
print("};\n// clang-format on\n\n}  // namespace linalg")
