// Kullback-Leibler divergences of two distributions in closed form, first of one family, then of two: the expectation
// under the first of the difference of the log densities. They are sums of terms that are at least 0 as far as possible
// (kl_div), so that nearly equal distributions have small divergences of full accuracy; with shape parameters below 10
// those of gamma, beta and Dirichlet distributions have an absolute error of some 1e-14. At least 0, but for rounding
// errors.
//
// Elementwise where nothing else is said: operands broadcast. Dtypes and errors as in <reel/stats/continuous.hpp>, but
// those of beta and Dirichlet distributions compute in float64. NaN where an operand is NaN or out of range.
// Differentiable to every order by every operand.
#pragma once
#include <reel/api.hpp>
#include <reel/tensor.hpp>

namespace REEL_API reel {

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
/// Of binomial distributions of the same whole n, which has no gradient: n bernoulli_kl(p1, p2), 0 for n = 0.
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

// Of two families, the parameters of the first distribution and then those of the second; gamma, exponential and Pareto
// distributions with loc 0. Divergences from a normal distribution are
//   (log(2 pi scale2^2) + (variance + (mean - loc2)^2) / scale2^2) / 2
// minus the entropy of the first one, those from a gamma distribution
//   lgamma(a2) + a2 log(scale2) - (a2 - 1) E log(x) + E x / scale2
// minus that. They are inf, with gradient 0, where the first distribution has values that the second excludes, as a
// normal distribution has for every gamma distribution, and where a mean of the formula is infinite. Gradients are
// those of the formulas.

/// kl_div(p1, mu2) + kl_div(1 - p1, 1), 0 <= p1 <= 1, mu2 at least 0.
Tensor bernoulli_poisson_kl(const Operand& p1, const Operand& mu2);
/// beta_kl(a1, b1, 1, 1) + log(scale2) + m / scale2 with the mean m = a1 / (a1 + b1).
Tensor beta_expon_kl(const Operand& a1, const Operand& b1, const Operand& scale2);
/// beta_kl(a1, b1, a2, 1) + lgamma(a2 + 1) + a2 log(scale2) + m / scale2 with the mean m = a1 / (a1 + b1).
Tensor beta_gamma_kl(const Operand& a1, const Operand& b1, const Operand& a2, const Operand& scale2);
/// beta_kl(a1, b1, 1, 1) + log(scale2) + (log(2 pi) + (v + (m - loc2)^2) / scale2^2) / 2 with the mean m and the
/// variance v = m (1 - m) / (a1 + b1 + 1).
Tensor beta_norm_kl(const Operand& a1, const Operand& b1, const Operand& loc2, const Operand& scale2);
/// beta_kl(a1, b1, 1, 1) + log(scale2), inf unless [0, 1] is inside [loc2, loc2 + scale2].
Tensor beta_uniform_kl(const Operand& a1, const Operand& b1, const Operand& loc2, const Operand& scale2);
/// gamma_kl(1, scale1, a2, scale2).
Tensor expon_gamma_kl(const Operand& scale1, const Operand& a2, const Operand& scale2);
/// r - 1 - log(r) - d + exp(d) / (1 + r) with r = scale1 / scale2, d = loc2 / scale2.
Tensor expon_gumbel_r_kl(const Operand& scale1, const Operand& loc2, const Operand& scale2);
/// log(2 pi) / 2 - 1 - log(r) + (r^2 + ((scale1 - loc2) / scale2)^2) / 2 with r = scale1 / scale2.
Tensor expon_norm_kl(const Operand& scale1, const Operand& loc2, const Operand& scale2);
/// gamma_kl(a1, scale1, 1, scale2).
Tensor gamma_expon_kl(const Operand& a1, const Operand& scale1, const Operand& scale2);
/// (a1 - 1) digamma(a1) - lgamma(a1) - a1 - log(r) + a1 r - d + exp(d) (1 + r)^-a1 with r = scale1 / scale2,
/// d = loc2 / scale2.
Tensor gamma_gumbel_r_kl(const Operand& a1, const Operand& scale1, const Operand& loc2, const Operand& scale2);
/// log(2 pi) / 2 + (a1 - 1) digamma(a1) - lgamma(a1) - a1 - log(r) + (a1 r^2 + ((a1 scale1 - loc2) / scale2)^2) / 2
/// with r = scale1 / scale2.
Tensor gamma_norm_kl(const Operand& a1, const Operand& scale1, const Operand& loc2, const Operand& scale2);
/// log(2 pi) / 2 - 1 - e - log(r) + (pi^2 r^2 / 6 + ((loc1 + e scale1 - loc2) / scale2)^2) / 2 with r = scale1 / scale2
/// and e Euler's constant.
Tensor gumbel_r_norm_kl(const Operand& loc1, const Operand& scale1, const Operand& loc2, const Operand& scale2);
/// log(pi / (2 r^2)) / 2 - 1 + r^2 + ((loc1 - loc2) / scale2)^2 / 2 with r = scale1 / scale2.
Tensor laplace_norm_kl(const Operand& loc1, const Operand& scale1, const Operand& loc2, const Operand& scale2);
/// d + exp(r^2 / 2 - d) - log(2 pi e r^2) / 2 with r = scale1 / scale2, d = (loc1 - loc2) / scale2.
Tensor norm_gumbel_r_kl(const Operand& loc1, const Operand& scale1, const Operand& loc2, const Operand& scale2);
/// r (sqrt(2 / pi) exp(-d^2 / 2) + d erf(d / sqrt(2))) - log(pi e r^2 / 2) / 2 with r = scale1 / scale2,
/// d = (loc1 - loc2) / scale1.
Tensor norm_laplace_kl(const Operand& loc1, const Operand& scale1, const Operand& loc2, const Operand& scale2);
/// log(b1 scale2 / scale1) - 1 - 1 / b1 + m / scale2 with the mean m = b1 scale1 / (b1 - 1); inf for b1 <= 1.
Tensor pareto_expon_kl(const Operand& b1, const Operand& scale1, const Operand& scale2);
/// log(b1) - 1 - a2 / b1 + lgamma(a2) + a2 log(scale2 / scale1) + m / scale2 with the mean m; inf for b1 <= 1.
Tensor pareto_gamma_kl(const Operand& b1, const Operand& scale1, const Operand& a2, const Operand& scale2);
/// log(b1 scale2 / scale1) - 1 - 1 / b1 + (log(2 pi) + (v + (m - loc2)^2) / scale2^2) / 2 with the mean m and the
/// variance v = m^2 / (b1 (b1 - 2)); inf for b1 <= 2.
Tensor pareto_norm_kl(const Operand& b1, const Operand& scale1, const Operand& loc2, const Operand& scale2);
/// lgamma(a2) + lgamma(b2) - lgamma(a2 + b2) - log(scale1) - (a2 - 1) E log(x) - (b2 - 1) E log(1 - x), the means over
/// x from [loc1, loc1 + scale1]; inf unless that is inside [0, 1]. The gradient for loc1 is infinite or NaN at its
/// ends.
Tensor uniform_beta_kl(const Operand& loc1, const Operand& scale1, const Operand& a2, const Operand& b2);
/// log(scale2 / scale1) + (loc1 + scale1 / 2) / scale2, inf for loc1 < 0.
Tensor uniform_expon_kl(const Operand& loc1, const Operand& scale1, const Operand& scale2);
/// lgamma(a2) + a2 log(scale2) - log(scale1) - (a2 - 1) E log(x) + (loc1 + scale1 / 2) / scale2; inf for loc1 < 0. The
/// gradient for loc1 is infinite or NaN where that is 0.
Tensor uniform_gamma_kl(const Operand& loc1, const Operand& scale1, const Operand& a2, const Operand& scale2);
/// d + r / 2 - log(r) + exp(-d) (1 - exp(-r)) / r with r = scale1 / scale2, d = (loc1 - loc2) / scale2.
Tensor uniform_gumbel_r_kl(const Operand& loc1, const Operand& scale1, const Operand& loc2, const Operand& scale2);
/// log(2 pi) / 2 - log(r) + (r^2 / 12 + ((loc1 + scale1 / 2 - loc2) / scale2)^2) / 2 with r = scale1 / scale2.
Tensor uniform_norm_kl(const Operand& loc1, const Operand& scale1, const Operand& loc2, const Operand& scale2);
/// (b2 + 1) E log(x) - b2 log(scale2) - log(b2 scale1), the mean over x from [loc1, loc1 + scale1]; inf for
/// loc1 < scale2.
Tensor uniform_pareto_kl(const Operand& loc1, const Operand& scale1, const Operand& b2, const Operand& scale2);

}  // namespace reel
