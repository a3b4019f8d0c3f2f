// Systems with banded and Toeplitz matrices, and banded Cholesky factors, float64 or complex128, row-major without
// gaps. One matrix is one task.
#pragma once
#include <reel/tensor.hpp>

#include "linalg/factorise.hpp"

namespace reel::loops {

/// How many diagonals a banded matrix has below and above the main one.
struct Bandwidths {
  std::int64_t below, above;
};
/// x [batch..., n, columns] becomes the solution of a x = x, or of a^H x = x, by elimination with row pivoting in the
/// band. bands [..., below + above + 1, n] holds a(i, j) at (above + i - j, j); its batch axes broadcast to those of x.
/// FactorInfo: a pivot of zero.
FactorInfo solve_banded(const Tensor& bands, Bandwidths widths, bool adjoint, const Tensor& x, const Shape& batch,
                        std::int64_t columns);
/// Hermitian matrices of which the lower triangle is stored, and lower triangular ones: element (j + d, j) is x[..., d,
/// j], diagonals are real. Elements of rows that no element of the matrix has are not read, and become 0.
/// a becomes L with L L^H = a. NaN if it is not finite. FactorInfo: a leading minor that is not positive.
FactorInfo banded_cholesky(const Tensor& a);
/// b becomes the lower triangular x with l x^H + x l^H = b: the change of L for a change b of a.
void banded_cholesky_change(const Tensor& l, const Tensor& b);
/// The transpose of that linear map: g becomes y with the lower triangle of (y + y^H) l in the band equal to g.
void banded_cholesky_cotangent(const Tensor& l, const Tensor& g);
/// The same as solve_banded for the Toeplitz matrix with the elements of diagonals [..., 2 n - 1], from the last of its
/// first row to the last of its first column, by Levinson's recursion. FactorInfo: a leading minor that is singular,
/// to rounding.
FactorInfo solve_toeplitz(const Tensor& diagonals, const Tensor& x, const Shape& batch, std::int64_t columns);

}  // namespace reel::loops
