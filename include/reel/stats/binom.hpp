// The binomial distribution: probability n! / (k! (n - k)!) p^k (1 - p)^(n - k), 0 <= k <= n.
// Names, operands, dtypes, errors, support and gradients as <reel/stats/distribution.hpp> says.
#pragma once
#include <reel/stats/distribution.hpp>

namespace REEL_API reel {

/// log(binom_pmf). Gradient: g (k / p - (n - k) / (1 - p)) for p, none for n.
Tensor binom_logpmf(const Operand& k, const Operand& n, const Operand& p);
/// n! / (k! (n - k)!) p^k (1 - p)^(n - k), n a whole number, 0 <= p <= 1, 0 <= k <= n.
Tensor binom_pmf(const Operand& k, const Operand& n, const Operand& p);
/// betaincc(x + 1, n - x, p). Gradient: -g n q(x) for p, q being the probability of x for n - 1 trials.
Tensor binom_cdf(const Operand& x, const Operand& n, const Operand& p);
/// betainc(x + 1, n - x, p). Gradient: g n q(x) for p.
Tensor binom_sf(const Operand& x, const Operand& n, const Operand& p);
/// log(binom_cdf). Gradient: -g n q(x) / cdf for p.
Tensor binom_logcdf(const Operand& x, const Operand& n, const Operand& p);
/// log(binom_sf). Gradient: g n q(x) / sf for p.
Tensor binom_logsf(const Operand& x, const Operand& n, const Operand& p);
/// The quantile of q: 0 to n, or -1 for q = 0.
Tensor binom_ppf(const Operand& q, const Operand& n, const Operand& p);
/// The quantile of the upper tail: 0 to n, or -1 for q = 1.
Tensor binom_isf(const Operand& q, const Operand& n, const Operand& p);

/// Whole numbers: quantiles of uniform numbers by binom_ppf, without a gradient.
Tensor binom_rvs(Generator& generator, const Shape& shape, const Operand& n, const Operand& p,
                 DType dtype = DType::float64);
/// Of binomial distributions of the same whole n, which has no gradient: n bernoulli_kl(p1, p2), 0 for n = 0.
Tensor binom_kl(const Operand& n, const Operand& p1, const Operand& p2);

}  // namespace reel
