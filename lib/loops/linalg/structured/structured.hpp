// Systems with banded and Toeplitz matrices, float64 or complex128, row-major without gaps. One matrix is one task.
#pragma once
#include <reel/tensor.hpp>

#include "loops/linalg/factorise.hpp"

namespace reel::loops {

/// How many diagonals a banded matrix has below and above the main one.
struct Bandwidths {
  std::int64_t below, above;
};
/// x [batch..., n, columns] becomes the solution of a x = x, or of a^H x = x, by elimination with row pivoting in the
/// band. bands [..., below + above + 1, n] holds a(i, j) at (above + i - j, j); its batch axes broadcast to those of x.
/// The fault is a pivot of zero.
Fault solve_banded(const Tensor& bands, Bandwidths widths, bool adjoint, const Tensor& x, const Shape& batch,
                   std::int64_t columns);
/// The same for the Toeplitz matrix with the elements of diagonals [..., 2 n - 1], from the last of its first row to
/// the last of its first column, by Levinson's recursion. The fault is the order of a leading minor that is singular,
/// to rounding.
Fault solve_toeplitz(const Tensor& diagonals, const Tensor& x, const Shape& batch, std::int64_t columns);

}  // namespace reel::loops
