// Kullback-Leibler divergences of two distributions of a family, in closed form: the expectation under the first of the
// difference of the log densities. They are sums of terms that are at least 0 as far as possible (kl_div), so that
// nearly equal distributions have small divergences of full accuracy; with shape parameters below 10 those of gamma,
// beta and Dirichlet distributions have an absolute error of some 1e-14. At least 0, but for rounding errors.
//
// Elementwise where nothing else is said: operands broadcast. Dtypes and errors as in <reel/stats/continuous.hpp>. NaN
// where an operand is NaN or out of range. Differentiable to every order by every operand.
#pragma once
#include <reel/tensor.hpp>

namespace [[gnu::visibility("default")]] reel {

/// (kl_div(1, r^2) + ((loc1 - loc2) / scale2)^2) / 2 with r = scale1 / scale2. Gradient: for loc1
/// g (loc1 - loc2) / scale2^2, for scale1 g (r - 1 / r) / scale2.
Tensor norm_kl(const Operand& loc1, const Operand& scale1, const Operand& loc2, const Operand& scale2);
/// kl_div(1, scale1 / scale2), both distributions with loc 0. Gradient: for scale1 g (1 / scale2 - 1 / scale1).
Tensor expon_kl(const Operand& scale1, const Operand& scale2);
/// Of gamma distributions of shape a and loc 0: (a1 - a2) digamma(a1) - lgamma(a1) + lgamma(a2) - a2 log(r) + a1 (r -
/// 1), r = scale1 / scale2. Gradient: for a2 g (digamma(a2) - digamma(a1) - log(r)).
Tensor gamma_kl(const Operand& a1, const Operand& scale1, const Operand& a2, const Operand& scale2);
/// Of beta distributions on [0, 1]: dirichlet_kl of two elements. Gradient: for a2 g (digamma(a2) - digamma(a2 + b2) -
/// digamma(a1) + digamma(a1 + b1)).
Tensor beta_kl(const Operand& a1, const Operand& b1, const Operand& a2, const Operand& b2);
/// kl_div(p1, p2) + kl_div(1 - p1, 1 - p2), 0 <= p1, p2 <= 1: inf where p2 excludes what p1 does not. Gradient: for p1
/// g (logit(p1) - logit(p2)), for p2 g (p2 - p1) / (p2 (1 - p2)).
Tensor bernoulli_kl(const Operand& p1, const Operand& p2);
/// kl_div(mu1, mu2), mu1 and mu2 at least 0. Gradient: for mu1 g log(mu1 / mu2), for mu2 g (1 - mu1 / mu2).
Tensor poisson_kl(const Operand& mu1, const Operand& mu2);
/// Of Dirichlet distributions with parameters [..., n], over the last axis, without which the result is; leading axes
/// broadcast. ShapeError for other numbers of elements. Gradient: for alpha2 g (digamma(alpha2) - digamma(sum(alpha2))
/// - digamma(alpha1) + digamma(sum(alpha1))).
Tensor dirichlet_kl(const Operand& alpha1, const Operand& alpha2);
/// Of normal distributions of vectors with means [..., n] and covariances l l^T, l [..., n, n] lower triangular:
/// (sum(kl_div(1, diag(m)^2)) + the squares of m below its diagonal + |y|^2) / 2 with l2 m = l1, l2 y = mean1 - mean2.
/// Leading axes broadcast. The upper triangles are not read. NaN where an element of a diagonal is not positive.
/// Gradient: for mean1 g l2^-T y, for l1 g times the lower triangle of l2^-T m - diag(1 / diag(l1)).
Tensor multivariate_normal_kl(const Operand& mean1, const Operand& cholesky_factor1, const Operand& mean2,
                              const Operand& cholesky_factor2);

}  // namespace reel
