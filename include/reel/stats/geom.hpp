// The geometric distribution: the number of the first success of probability p.
// Names, operands, dtypes, errors, support and gradients as <reel/stats/distribution.hpp> says.
#pragma once
#include <reel/stats/distribution.hpp>

namespace REEL_API reel {

/// log(geom_pmf). Gradient: g (1 / p - (k - 1) / (1 - p)) for p.
Tensor geom_logpmf(const Operand& k, const Operand& p);
/// p (1 - p)^(k - 1), 0 < p <= 1, k >= 1: the number of the first success.
Tensor geom_pmf(const Operand& k, const Operand& p);
/// 1 - (1 - p)^x, by expm1 and log1p. Gradient: g x (1 - p)^(x - 1) for p.
Tensor geom_cdf(const Operand& x, const Operand& p);
/// (1 - p)^x. Gradient: -g x (1 - p)^(x - 1) for p.
Tensor geom_sf(const Operand& x, const Operand& p);
/// log(geom_cdf). Gradient: g x (1 - p)^(x - 1) / cdf for p.
Tensor geom_logcdf(const Operand& x, const Operand& p);
/// log(geom_sf). Gradient: -g floor(x) / (1 - p) for p.
Tensor geom_logsf(const Operand& x, const Operand& p);
/// The quantile of q: at least 1, or 0 for q = 0.
Tensor geom_ppf(const Operand& q, const Operand& p);
/// The quantile of the upper tail: at least 1, or 0 for q = 1.
Tensor geom_isf(const Operand& q, const Operand& p);

/// Whole numbers: quantiles of uniform numbers by geom_ppf, without a gradient.
Tensor geom_rvs(Generator& generator, const Shape& shape, const Operand& p, DType dtype = DType::float64);
/// bernoulli_kl(p1, p2) / p1, 0 < p1, p2 <= 1. Gradient: for p2 g (p2 - p1) / (p1 p2 (1 - p2)).
Tensor geom_kl(const Operand& p1, const Operand& p2);

}  // namespace reel
