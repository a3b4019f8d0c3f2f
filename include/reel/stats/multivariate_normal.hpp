// The normal distribution of vectors, by the lower triangular factor of its covariance.
// Names, operands, dtypes, errors, support and gradients as <reel/stats/distribution.hpp> says.
#pragma once
#include <reel/stats/distribution.hpp>

namespace REEL_API reel {

/// The log density of normal vectors x [..., n] with this mean [..., n] and covariance l l^T, l [..., n, n] lower
/// triangular: -|y|^2 / 2 - sum(log(diag(l))) - n log(2 pi) / 2 with l y = x - mean. Leading axes broadcast; the result
/// has those alone. The upper triangle is not read and gets gradient 0. NaN where an element of the diagonal is not
/// above 0. (SciPy's multivariate_normal, PyTorch's with scale_tril.) Gradient: for
/// x -g l^-T y, for l g times the lower triangle of l^-T y y^T - diag(1 / diag(l)).
Tensor multivariate_normal_logpdf(const Operand& x, const Operand& mean, const Operand& cholesky_factor);

/// Normal vectors along the last axis of the shape [..., n], with this mean, which broadcasts to it, and covariance
/// l l^T, l [..., n, n] lower triangular: mean + l z with z of norm_rvs. The upper triangle of l is not read.
/// ShapeError for other shapes. Gradient: g for mean, the lower triangle of g z^T for l.
Tensor multivariate_normal_rvs(Generator& generator, const Shape& shape, const Operand& mean,
                               const Operand& cholesky_factor, DType dtype = DType::float64);
/// Of normal distributions of vectors with means [..., n] and covariances l l^T, l [..., n, n] lower triangular:
/// (sum(kl_div(1, diag(m)^2)) + the squares of m below its diagonal + |y|^2) / 2 with l2 m = l1, l2 y = mean1 - mean2.
/// Leading axes broadcast. The upper triangles are not read. NaN where an element of a diagonal is not positive.
/// Gradient: for mean1 g l2^-T y, for l1 g times the lower triangle of l2^-T m - diag(1 / diag(l1)).
Tensor multivariate_normal_kl(const Operand& mean1, const Operand& cholesky_factor1, const Operand& mean2,
                              const Operand& cholesky_factor2);

}  // namespace reel
