// Derivatives of Cholesky and LU factors in place, in reverse and forward mode: about twice the multiplications of the
// factorisation. Matrices [..., n, n] of LAPACK's four types, row-major without gaps; batch axes of the factors are the
// last ones of the cotangents and tangents. A zero on a diagonal gives infinities and NaN. One matrix is one task.
#pragma once
#include <reel/tensor.hpp>

namespace reel::loops {

/// g, whose lower triangle is the cotangent of l, becomes that of the Hermitian matrix l l^H.
void cholesky_vjp(const Tensor& l, const Tensor& g);

/// t, whose lower triangle is that of the tangent of a real symmetric matrix l l^T, becomes that of l: 0 above the
/// diagonal.
void cholesky_jvp(const Tensor& l, const Tensor& t);

/// g, the cotangent of packed square LU factors, becomes that of the matrix with its rows in their order.
void lu_vjp(const Tensor& packed, const Tensor& g);
/// t, the tangent of that matrix, becomes that of its packed factors.
void lu_jvp(const Tensor& packed, const Tensor& t);

}  // namespace reel::loops
