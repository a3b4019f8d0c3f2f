// The exponential distribution: density exp(-z) / scale, z >= 0.
// Names, operands, dtypes, errors, support and gradients as <reel/stats/distribution.hpp> says.
#pragma once
#include <reel/stats/distribution.hpp>

namespace REEL_API reel {

/// log(expon_pdf): -z - log(scale). Gradient: -g / scale for x.
Tensor expon_logpdf(const Operand& x, const Operand& loc = 0, const Operand& scale = 1);
/// The density of the exponential distribution.
Tensor expon_pdf(const Operand& x, const Operand& loc = 0, const Operand& scale = 1);
/// The probability of at most x. Gradient: g pdf for x.
Tensor expon_cdf(const Operand& x, const Operand& loc = 0, const Operand& scale = 1);
/// log(expon_cdf), without underflow in the lower tail.
Tensor expon_logcdf(const Operand& x, const Operand& loc = 0, const Operand& scale = 1);
/// 1 - expon_cdf, without loss in the upper tail.
Tensor expon_sf(const Operand& x, const Operand& loc = 0, const Operand& scale = 1);
/// log(expon_sf), without underflow in the upper tail.
Tensor expon_logsf(const Operand& x, const Operand& loc = 0, const Operand& scale = 1);
/// The quantile: x with expon_cdf p. Gradient: g / pdf for p.
Tensor expon_ppf(const Operand& p, const Operand& loc = 0, const Operand& scale = 1);
/// x with expon_sf p, without loss where p is small. Gradient: -g / pdf for p.
Tensor expon_isf(const Operand& p, const Operand& loc = 0, const Operand& scale = 1);
/// x with expon_logcdf y, without underflow. Gradient: g exp(y) / pdf for y.
Tensor expon_ilogcdf(const Operand& y, const Operand& loc = 0, const Operand& scale = 1);
/// x with expon_logsf y, without underflow. Gradient: -g exp(y) / pdf for y.
Tensor expon_ilogsf(const Operand& y, const Operand& loc = 0, const Operand& scale = 1);

/// Exponential. Gradient: g for loc, g z for scale.
Tensor expon_rvs(Generator& generator, const Shape& shape, const Operand& loc = 0, const Operand& scale = 1,
                 DType dtype = DType::float64);
/// kl_div(1, scale1 / scale2), both distributions with loc 0. Gradient: for scale1 g (1 / scale2 - 1 / scale1).
Tensor expon_kl(const Operand& scale1, const Operand& scale2);

}  // namespace reel
