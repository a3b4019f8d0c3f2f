// Kullback-Leibler divergences of two distributions of different families; those of one family stand in its header.
// What all have in common: <reel/stats/distribution.hpp>.
#pragma once
#include <reel/stats/bernoulli.hpp>
#include <reel/stats/beta.hpp>
#include <reel/stats/binom.hpp>
#include <reel/stats/cauchy.hpp>
#include <reel/stats/chi2.hpp>
#include <reel/stats/dirichlet.hpp>
#include <reel/stats/expon.hpp>
#include <reel/stats/gamma.hpp>
#include <reel/stats/geom.hpp>
#include <reel/stats/gumbel_r.hpp>
#include <reel/stats/laplace.hpp>
#include <reel/stats/lognorm.hpp>
#include <reel/stats/multivariate_normal.hpp>
#include <reel/stats/nbinom.hpp>
#include <reel/stats/norm.hpp>
#include <reel/stats/pareto.hpp>
#include <reel/stats/poisson.hpp>
#include <reel/stats/uniform.hpp>
#include <reel/stats/vonmises.hpp>
#include <reel/stats/weibull_min.hpp>

namespace REEL_API reel {

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
