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
/// kl_div(1, r) + r (exp(-u) - 1 + u) with r = scale1 / scale2, u = |loc1 - loc2| / scale1. Gradient: for loc1
/// g (1 - exp(-u)) sign(loc1 - loc2) / scale2.
Tensor laplace_kl(const Operand& loc1, const Operand& scale1, const Operand& loc2, const Operand& scale2);
/// log(1 + ((scale1 - scale2)^2 + (loc1 - loc2)^2) / (4 scale1 scale2)), symmetric. Gradient: for loc1
/// 2 g (loc1 - loc2) / ((scale1 + scale2)^2 + (loc1 - loc2)^2).
Tensor cauchy_kl(const Operand& loc1, const Operand& scale1, const Operand& loc2, const Operand& scale2);
/// Gamma(1 + r) exp(d) - 1 - d - log(r) + e (r - 1) with r = scale1 / scale2, d = (loc2 - loc1) / scale2 and e Euler's
/// constant. Gradient: for loc2 g (Gamma(1 + r) exp(d) - 1) / scale2.
Tensor gumbel_r_kl(const Operand& loc1, const Operand& scale1, const Operand& loc2, const Operand& scale2);
/// Of Weibull distributions of shape c and loc 0: gumbel_r_kl's formula with r = c2 / c1, d = c2 log(scale1 / scale2).
Tensor weibull_min_kl(const Operand& c1, const Operand& scale1, const Operand& c2, const Operand& scale2);
/// log(scale2 / scale1) if the second interval from loc to loc + scale contains the first one, otherwise inf.
Tensor uniform_kl(const Operand& loc1, const Operand& scale1, const Operand& loc2, const Operand& scale2);
/// Of Pareto distributions of shape b and loc 0: kl_div(1, b2 / b1) + b2 log(scale1 / scale2), inf for scale1 < scale2.
Tensor pareto_kl(const Operand& b1, const Operand& scale1, const Operand& b2, const Operand& scale2);
/// Of lognormal distributions of loc 0: norm_kl(log(scale1), s1, log(scale2), s2).
Tensor lognorm_kl(const Operand& s1, const Operand& scale1, const Operand& s2, const Operand& scale2);
/// gamma_kl(df1 / 2, 2, df2 / 2, 2).
Tensor chi2_kl(const Operand& df1, const Operand& df2);
/// bernoulli_kl(p1, p2) / p1, 0 < p1, p2 <= 1. Gradient: for p2 g (p2 - p1) / (p1 p2 (1 - p2)).
Tensor geom_kl(const Operand& p1, const Operand& p2);
/// Of binomial distributions of the same whole n, which has no gradient: n bernoulli_kl(p1, p2).
Tensor binom_kl(const Operand& n, const Operand& p1, const Operand& p2);
/// Of negative binomial distributions of the same n: n geom_kl(p1, p2).
Tensor nbinom_kl(const Operand& n, const Operand& p1, const Operand& p2);
/// log(I_0(kappa2) / I_0(kappa1)) + (kappa1 - kappa2 cos(loc1 - loc2)) I_1(kappa1) / I_0(kappa1), with an absolute
/// error of some roundings of 1 + |kappa1 - kappa2|. Gradient: for loc1 g kappa2 sin(loc1 - loc2) I_1(kappa1) /
/// I_0(kappa1).
Tensor vonmises_kl(const Operand& kappa1, const Operand& loc1, const Operand& kappa2, const Operand& loc2);
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
