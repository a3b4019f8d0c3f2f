// Linear systems and products with structured matrices, which take less time and memory than solve and matmul. They
// compute in float64 or
// complex128 and round once to the common dtype of the operands; integers give float64. b is a vector if it has rank 1
// or the shape of the diagonal; otherwise it is [..., n, m]. Batch axes broadcast. Derivatives exist to every order, in
// both modes: dx = solve(db - da x), db = solve(a^H, g), and that of an element of a is the element of -db x^H at its
// place.
#pragma once
#include <reel/tensor.hpp>

namespace [[gnu::visibility("default")]] reel {

/// x with a x = b, for a matrix with `below` diagonals under the main one and `above` over it (SciPy's
/// solve_banded). a(i, j) is bands[..., above + i - j, j], and bands is [..., below + above + 1, n] (ShapeError).
/// Other elements of bands are not read and get gradient 0. Elimination with row pivoting takes about n (below +
/// 1) (below + above + 1) multiplications. ValueError for a negative number of diagonals, and for a singular
/// matrix.
Tensor banded_solve(const Operand& bands, std::int64_t below, std::int64_t above, const Operand& b);
/// The same for a tridiagonal matrix: `lower` and `upper` [..., n - 1], `diagonal` [..., n].
Tensor tridiagonal_solve(const Operand& lower, const Operand& diagonal, const Operand& upper, const Operand& b);
/// The product of that tridiagonal matrix with x, which is a vector or matrix as b is. (tf.linalg.tridiagonal_matmul.)
Tensor tridiagonal_matmul(const Operand& lower, const Operand& diagonal, const Operand& upper, const Operand& x);
/// x with toeplitz(column, row) x = b, by Levinson's recursion, which takes about 4 n^2 multiplications. column and row
/// are [..., n]; row[0] is not read. There is no pivoting: a leading minor that is singular to rounding is a
/// ValueError, and one that is nearly singular costs digits. solve(toeplitz(column, row), b) has neither problem.
Tensor toeplitz_solve(const Operand& column, const Operand& row, const Operand& b);

}  // namespace reel
