// The negative binomial distribution: the number of failures before n successes of probability p.
// Names, operands, dtypes, errors, support and gradients as <reel/stats/distribution.hpp> says.
#pragma once
#include <reel/stats/distribution.hpp>

namespace REEL_API reel {

/// log(nbinom_pmf). Gradient: g (n / p - k / (1 - p)) for p, g (digamma(k + n) - digamma(n) + log(p)) for n.
Tensor nbinom_logpmf(const Operand& k, const Operand& n, const Operand& p);
/// Gamma(k + n) / (k! Gamma(n)) p^n (1 - p)^k, n > 0 real, 0 < p <= 1, k >= 0: the number of failures before n
/// successes.
Tensor nbinom_pmf(const Operand& k, const Operand& n, const Operand& p);
/// betainc(n, x + 1, p). Gradient: g p^(n - 1) (1 - p)^x / beta(n, x + 1) for p, for n that of betainc.
Tensor nbinom_cdf(const Operand& x, const Operand& n, const Operand& p);
/// betaincc(n, x + 1, p). Gradients: those of nbinom_cdf with the other sign.
Tensor nbinom_sf(const Operand& x, const Operand& n, const Operand& p);
/// log(nbinom_cdf). Gradients: those of nbinom_cdf over cdf.
Tensor nbinom_logcdf(const Operand& x, const Operand& n, const Operand& p);
/// log(nbinom_sf). Gradients: those of nbinom_sf over sf.
Tensor nbinom_logsf(const Operand& x, const Operand& n, const Operand& p);
/// The quantile of q: at least 0, or -1 for q = 0.
Tensor nbinom_ppf(const Operand& q, const Operand& n, const Operand& p);
/// The quantile of the upper tail: at least 0, or -1 for q = 1.
Tensor nbinom_isf(const Operand& q, const Operand& n, const Operand& p);

/// Whole numbers: quantiles of uniform numbers by nbinom_ppf, without a gradient.
Tensor nbinom_rvs(Generator& generator, const Shape& shape, const Operand& n, const Operand& p,
                  DType dtype = DType::float64);
/// Of negative binomial distributions of the same n: n geom_kl(p1, p2).
Tensor nbinom_kl(const Operand& n, const Operand& p1, const Operand& p2);

}  // namespace reel
