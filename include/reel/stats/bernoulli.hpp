// The Bernoulli distribution: 1 of probability p, otherwise 0.
// Names, operands, dtypes, errors, support and gradients as <reel/stats/distribution.hpp> says.
#pragma once
#include <reel/stats/distribution.hpp>

namespace REEL_API reel {

/// log(bernoulli_pmf). Gradient: g / p for p where k is 1, -g / (1 - p) where it is 0.
Tensor bernoulli_logpmf(const Operand& k, const Operand& p);
/// p for k = 1, 1 - p for k = 0; 0 <= p <= 1.
Tensor bernoulli_pmf(const Operand& k, const Operand& p);
/// 1 - p from 0 to 1. Gradient: -g for p.
Tensor bernoulli_cdf(const Operand& x, const Operand& p);
/// p from 0 to 1. Gradient: g for p.
Tensor bernoulli_sf(const Operand& x, const Operand& p);
/// log(bernoulli_cdf). Gradient: -g / (1 - p) from 0 to 1.
Tensor bernoulli_logcdf(const Operand& x, const Operand& p);
/// log(bernoulli_sf). Gradient: g / p from 0 to 1.
Tensor bernoulli_logsf(const Operand& x, const Operand& p);
/// The quantile of q: 0 up to 1 - p, then 1; -1 for q = 0.
Tensor bernoulli_ppf(const Operand& q, const Operand& p);
/// The quantile of the upper tail: 0 from p on, 1 below; -1 for q = 1.
Tensor bernoulli_isf(const Operand& q, const Operand& p);

/// Whole numbers: quantiles of uniform numbers by bernoulli_ppf, without a gradient.
Tensor bernoulli_rvs(Generator& generator, const Shape& shape, const Operand& p, DType dtype = DType::float64);
/// kl_div(p1, p2) + kl_div(1 - p1, 1 - p2), 0 <= p1, p2 <= 1: inf where p2 excludes what p1 does not. Gradient: for p1
/// g (logit(p1) - logit(p2)), for p2 g (p2 - p1) / (p2 (1 - p2)).
Tensor bernoulli_kl(const Operand& p1, const Operand& p2);

}  // namespace reel
