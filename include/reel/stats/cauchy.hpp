// The Cauchy distribution: density 1 / (pi (1 + z^2)) / scale.
// Names, operands, dtypes, errors, support and gradients as <reel/stats/distribution.hpp> says.
#pragma once
#include <reel/stats/distribution.hpp>

namespace REEL_API reel {

/// log(cauchy_pdf), without overflow of z^2. Gradient: -2 g z / ((1 + z^2) scale) for x.
Tensor cauchy_logpdf(const Operand& x, const Operand& loc = 0, const Operand& scale = 1);
/// The density of the Cauchy distribution.
Tensor cauchy_pdf(const Operand& x, const Operand& loc = 0, const Operand& scale = 1);
/// The probability of at most x, arctan2(1, -z) / pi. Gradient: g pdf for x.
Tensor cauchy_cdf(const Operand& x, const Operand& loc = 0, const Operand& scale = 1);
/// log(cauchy_cdf), without underflow in the lower tail.
Tensor cauchy_logcdf(const Operand& x, const Operand& loc = 0, const Operand& scale = 1);
/// 1 - cauchy_cdf, without loss in the upper tail.
Tensor cauchy_sf(const Operand& x, const Operand& loc = 0, const Operand& scale = 1);
/// log(cauchy_sf), without underflow in the upper tail.
Tensor cauchy_logsf(const Operand& x, const Operand& loc = 0, const Operand& scale = 1);
/// The quantile: x with cauchy_cdf p. Gradient: g / pdf for p.
Tensor cauchy_ppf(const Operand& p, const Operand& loc = 0, const Operand& scale = 1);
/// x with cauchy_sf p, without loss where p is small. Gradient: -g / pdf for p.
Tensor cauchy_isf(const Operand& p, const Operand& loc = 0, const Operand& scale = 1);
/// x with cauchy_logcdf y, without underflow. Gradient: g exp(y) / pdf for y.
Tensor cauchy_ilogcdf(const Operand& y, const Operand& loc = 0, const Operand& scale = 1);
/// x with cauchy_logsf y, without underflow. Gradient: -g exp(y) / pdf for y.
Tensor cauchy_ilogsf(const Operand& y, const Operand& loc = 0, const Operand& scale = 1);

/// Cauchy. Gradient: g for loc, g z for scale.
Tensor cauchy_rvs(Generator& generator, const Shape& shape, const Operand& loc = 0, const Operand& scale = 1,
                  DType dtype = DType::float64);
/// log(1 + ((scale1 - scale2)^2 + (loc1 - loc2)^2) / (4 scale1 scale2)), symmetric. Gradient: for loc1
/// 2 g (loc1 - loc2) / ((scale1 + scale2)^2 + (loc1 - loc2)^2).
Tensor cauchy_kl(const Operand& loc1, const Operand& scale1, const Operand& loc2, const Operand& scale2);

}  // namespace reel
