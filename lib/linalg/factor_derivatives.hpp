// Reverse mode of Cholesky and LU factors in place: about twice the multiplications of the factorisation. Matrices
// [..., n, n] of LAPACK's four types, row-major without gaps; batch axes of the factors are the last ones of the
// cotangents. A zero on a diagonal gives infinities and NaN. One matrix is one task.
#pragma once
#include <reel/tensor.hpp>

namespace reel::loops {

/// g, whose lower triangle is the cotangent of l, becomes that of the Hermitian matrix l l^H.
void cholesky_vjp(const Tensor& l, const Tensor& g);

/// g, the cotangent of packed square LU factors, becomes that of the matrix with its rows in their order.
void lu_vjp(const Tensor& packed, const Tensor& g);

}  // namespace reel::loops
