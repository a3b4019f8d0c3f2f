// The Poisson distribution of mean mu: probability mu^k exp(-mu) / k!, k >= 0.
// Names, operands, dtypes, errors, support and gradients as <reel/stats/distribution.hpp> says.
#pragma once
#include <reel/stats/distribution.hpp>

namespace REEL_API reel {

/// log(poisson_pmf). Gradient: g (k / mu - 1) for mu.
Tensor poisson_logpmf(const Operand& k, const Operand& mu);
/// mu^k exp(-mu) / k!, mu >= 0, k >= 0.
Tensor poisson_pmf(const Operand& k, const Operand& mu);
/// gammaincc(x + 1, mu). Gradient: -g pmf(x) for mu.
Tensor poisson_cdf(const Operand& x, const Operand& mu);
/// gammainc(x + 1, mu). Gradient: g pmf(x) for mu.
Tensor poisson_sf(const Operand& x, const Operand& mu);
/// log(poisson_cdf). Gradient: -g exp(logpmf(x) - logcdf(x)) for mu.
Tensor poisson_logcdf(const Operand& x, const Operand& mu);
/// log(poisson_sf). Gradient: g exp(logpmf(x) - logsf(x)) for mu.
Tensor poisson_logsf(const Operand& x, const Operand& mu);
/// The quantile of q: at least 0, or -1 for q = 0.
Tensor poisson_ppf(const Operand& q, const Operand& mu);
/// The quantile of the upper tail: at least 0, or -1 for q = 1.
Tensor poisson_isf(const Operand& q, const Operand& mu);

/// Whole numbers: quantiles of uniform numbers by poisson_ppf, without a gradient.
Tensor poisson_rvs(Generator& generator, const Shape& shape, const Operand& mu, DType dtype = DType::float64);
/// kl_div(mu1, mu2), mu1 and mu2 at least 0. Gradient: for mu1 g log(mu1 / mu2), for mu2 g (1 - mu1 / mu2).
Tensor poisson_kl(const Operand& mu1, const Operand& mu2);

}  // namespace reel
