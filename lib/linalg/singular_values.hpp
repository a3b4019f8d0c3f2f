// Norms of matrices [..., m, n] by their singular values, and unitary factors. Dtypes and batches as in decompose.hpp;
// FactorInfo names a matrix whose iteration did not converge.
#pragma once
#include "linalg/decompose.hpp"

namespace reel::loops {

/// y [...] = the largest or the smallest singular value of a matrix that has elements.
FactorInfo singular_value(const Tensor& a, bool smallest, const Tensor& y);
/// y [...] = the sum of the singular values.
FactorInfo nuclear_norm(const Tensor& a, const Tensor& y);
/// q [..., m, n] = u v^H of a = u diag(s) v^H, m >= n, without the vectors of singular values up to n + 10 times the
/// rounding error of the largest; s [..., n].
FactorInfo polar_factor(const Tensor& a, const Tensor& s, const Tensor& q);

}  // namespace reel::loops
