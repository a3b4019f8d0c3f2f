// The Laplace distribution: density exp(-|z|) / 2 / scale.
// Names, operands, dtypes, errors, support and gradients as <reel/stats/distribution.hpp> says.
#pragma once
#include <reel/stats/distribution.hpp>

namespace REEL_API reel {

/// log(laplace_pdf): -|z| - log(2 scale). Gradient: -g sign(z) / scale for x, 0 at the kink z = 0.
Tensor laplace_logpdf(const Operand& x, const Operand& loc = 0, const Operand& scale = 1);
/// The density of the Laplace distribution. Gradient by x: 0 at the kink z = 0.
Tensor laplace_pdf(const Operand& x, const Operand& loc = 0, const Operand& scale = 1);
/// The probability of at most x. Gradient: g pdf for x.
Tensor laplace_cdf(const Operand& x, const Operand& loc = 0, const Operand& scale = 1);
/// log(laplace_cdf), without underflow in the lower tail.
Tensor laplace_logcdf(const Operand& x, const Operand& loc = 0, const Operand& scale = 1);
/// 1 - laplace_cdf, without loss in the upper tail.
Tensor laplace_sf(const Operand& x, const Operand& loc = 0, const Operand& scale = 1);
/// log(laplace_sf), without underflow in the upper tail.
Tensor laplace_logsf(const Operand& x, const Operand& loc = 0, const Operand& scale = 1);
/// The quantile: x with laplace_cdf p. Gradient: g / pdf for p.
Tensor laplace_ppf(const Operand& p, const Operand& loc = 0, const Operand& scale = 1);
/// x with laplace_sf p, without loss where p is small. Gradient: -g / pdf for p.
Tensor laplace_isf(const Operand& p, const Operand& loc = 0, const Operand& scale = 1);
/// x with laplace_logcdf y, without underflow. Gradient: g exp(y) / pdf for y.
Tensor laplace_ilogcdf(const Operand& y, const Operand& loc = 0, const Operand& scale = 1);
/// x with laplace_logsf y, without underflow. Gradient: -g exp(y) / pdf for y.
Tensor laplace_ilogsf(const Operand& y, const Operand& loc = 0, const Operand& scale = 1);

/// Laplace. Gradient: g for loc, g z for scale.
Tensor laplace_rvs(Generator& generator, const Shape& shape, const Operand& loc = 0, const Operand& scale = 1,
                   DType dtype = DType::float64);
/// kl_div(1, r) + r (exp(-u) - 1 + u) with r = scale1 / scale2, u = |loc1 - loc2| / scale1. Gradient: for loc1
/// g (1 - exp(-u)) sign(loc1 - loc2) / scale2.
Tensor laplace_kl(const Operand& loc1, const Operand& scale1, const Operand& loc2, const Operand& scale2);

}  // namespace reel
