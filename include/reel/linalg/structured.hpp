// Systems with matrices of special structure, in less time and memory than solve takes. They compute in float64 or
// complex128 and round once to the common dtype of the operands; integers give float64. b is a vector if it has rank 1,
// or the shape of the diagonal; else [..., n, m]. Batch axes broadcast. Derivatives of every order in both modes: dx =
// solve(db - da x), db = solve(a^H, g), and of each element of a the element of -db x^H at its place.
#pragma once
#include <reel/tensor.hpp>

namespace [[gnu::visibility("default")]] reel {

/// x with a x = b for a matrix with `below` diagonals under the main one and `above` over it: a(i, j) is at
/// bands[..., above + i - j, j], [..., below + above + 1, n]; other elements of bands are not read and get gradient 0
/// (SciPy's solve_banded). Elimination with row pivoting: about n (below + 1) (below + above + 1) multiplications.
/// ShapeError unless bands have below + above + 1 rows. ValueError for negative numbers of diagonals, and for a
/// singular matrix.
Tensor banded_solve(const Operand& bands, std::int64_t below, std::int64_t above, const Operand& b);
/// The same for a tridiagonal matrix: `lower` and `upper` [..., n - 1], `diagonal` [..., n].
Tensor tridiagonal_solve(const Operand& lower, const Operand& diagonal, const Operand& upper, const Operand& b);
/// x with toeplitz(column, row) x = b, column and row [..., n], whose first element is not read, by Levinson's
/// recursion: about 4 n^2 multiplications. It does not pivot: ValueError where a leading minor is singular, to
/// rounding, and loss of digits where one is nearly so; solve(toeplitz(column, row), b) has neither.
Tensor toeplitz_solve(const Operand& column, const Operand& row, const Operand& b);

}  // namespace reel
