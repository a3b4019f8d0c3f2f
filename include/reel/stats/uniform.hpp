// The uniform distribution: density 1 / scale, 0 <= z <= 1.
// Names, operands, dtypes, errors, support and gradients as <reel/stats/distribution.hpp> says.
#pragma once
#include <reel/stats/distribution.hpp>

namespace REEL_API reel {

/// -log(scale) between loc and loc + scale. Gradient: -g / scale for scale.
Tensor uniform_logpdf(const Operand& x, const Operand& loc = 0, const Operand& scale = 1);
/// 1 / scale between loc and loc + scale. Gradient: -g / scale^2 for scale.
Tensor uniform_pdf(const Operand& x, const Operand& loc = 0, const Operand& scale = 1);
/// The probability of at most x. Gradient: g pdf for x.
Tensor uniform_cdf(const Operand& x, const Operand& loc = 0, const Operand& scale = 1);
/// log(uniform_cdf), without underflow in the lower tail.
Tensor uniform_logcdf(const Operand& x, const Operand& loc = 0, const Operand& scale = 1);
/// 1 - uniform_cdf, without loss in the upper tail.
Tensor uniform_sf(const Operand& x, const Operand& loc = 0, const Operand& scale = 1);
/// log(uniform_sf), without underflow in the upper tail.
Tensor uniform_logsf(const Operand& x, const Operand& loc = 0, const Operand& scale = 1);
/// The quantile loc + scale p. Gradient: g scale for p.
Tensor uniform_ppf(const Operand& p, const Operand& loc = 0, const Operand& scale = 1);
/// x with uniform_sf p, without loss where p is small. Gradient: -g / pdf for p.
Tensor uniform_isf(const Operand& p, const Operand& loc = 0, const Operand& scale = 1);
/// x with uniform_logcdf y, without underflow. Gradient: g exp(y) / pdf for y.
Tensor uniform_ilogcdf(const Operand& y, const Operand& loc = 0, const Operand& scale = 1);
/// x with uniform_logsf y, without underflow. Gradient: -g exp(y) / pdf for y.
Tensor uniform_ilogsf(const Operand& y, const Operand& loc = 0, const Operand& scale = 1);

/// Uniform between loc and loc + scale. Gradient: g for loc, g z for scale.
Tensor uniform_rvs(Generator& generator, const Shape& shape, const Operand& loc = 0, const Operand& scale = 1,
                   DType dtype = DType::float64);
/// log(scale2 / scale1) if the second interval from loc to loc + scale contains the first one, otherwise inf.
Tensor uniform_kl(const Operand& loc1, const Operand& scale1, const Operand& loc2, const Operand& scale2);

}  // namespace reel
