// Linear systems and products with structured matrices, which take less time and memory than solve and matmul. They
// compute in float64 or complex128 and round once to the common dtype of the operands; integers give float64. b is a
// vector [n] if it has one axis, otherwise [..., n, m] (ShapeError for other shapes). A batch of vectors is [..., n,
// 1]. Batch axes broadcast. Derivatives exist to every order, in both modes. The tangent of x is solve(a, db - da x).
// The cotangent of b is solve(a^H, g), and that of an element of a is the element of -solve(a^H, g) x^H at its place.
#pragma once
#include <reel/api.hpp>
#include <reel/tensor.hpp>

namespace REEL_API reel {

/// x with a x = b, for a matrix with `below` diagonals under the main one and `above` over it (SciPy's
/// solve_banded). a(i, j) is bands[..., above + i - j, j], and bands is [..., below + above + 1, n] (ShapeError).
/// Other elements of bands are not read and get gradient 0. Elimination with row pivoting takes about n (below +
/// 1) (below + above + 1) multiplications. ValueError for a negative number of diagonals, and for a singular
/// matrix.
Tensor banded_solve(const Operand& bands, std::int64_t below, std::int64_t above, const Operand& b);
/// Options of banded_triangular_solve(): whether the matrix is lower triangular, rather than upper triangular; whether
/// the system is that of its conjugate transpose.
struct BandedTriangularOptions {
  bool lower = true, adjoint = false;
};
/// x with a x = b, or a^H x = b with `adjoint`, for a triangular matrix with w diagonals beside the main one, by
/// substitution in about n w multiplications. bands is [..., w + 1, n], stored as in banded_solve: the main diagonal is
/// the first of the bands of a lower triangular matrix, and the last of an upper one. ValueError for a 0 on it.
Tensor banded_triangular_solve(const Operand& bands, const Operand& b, const BandedTriangularOptions& options = {});
/// The lower triangular L with L L^H = a, in the storage of a: bands [..., w + 1, n] has a(j + d, j) at bands[..., d,
/// j], the main diagonal first, for a symmetric or Hermitian positive definite a, of which the upper triangle is not
/// stored (SciPy's cholesky_banded with lower = True). Imaginary parts of the diagonal, and elements of bands that a
/// does not have, are not read, have gradient 0, and are 0 in the result. A matrix that is not finite gives NaN;
/// ValueError names one that is not positive definite. About n (w + 1)^2 multiplications, for derivatives too: dL from
/// S(dL, L) = da, S(x, l) the band of x l^H + l x^H (Murray 2016, arXiv:1602.07527). With L, a x = b is
/// banded_triangular_solve(L, banded_triangular_solve(L, b), {.adjoint = true}).
Tensor banded_cholesky(const Operand& bands);
/// The same as banded_solve for a tridiagonal matrix: `lower` and `upper` [..., n - 1], `diagonal` [..., n].
Tensor tridiagonal_solve(const Operand& lower, const Operand& diagonal, const Operand& upper, const Operand& b);
/// The product of that tridiagonal matrix with x, which is a vector or matrix as b is. (tf.linalg.tridiagonal_matmul.)
Tensor tridiagonal_matmul(const Operand& lower, const Operand& diagonal, const Operand& upper, const Operand& x);
/// x with toeplitz(column, row) x = b, by Levinson's recursion, which takes about 4 n^2 multiplications. column and row
/// are [..., n]; row[0] is not read. There is no pivoting: a leading minor that is singular to rounding is a
/// ValueError, and one that is nearly singular costs digits. solve(toeplitz(column, row), b) has neither problem.
Tensor toeplitz_solve(const Operand& column, const Operand& row, const Operand& b);

}  // namespace reel
