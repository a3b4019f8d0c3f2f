// The normal distribution: density exp(-z^2 / 2) / sqrt(2 pi) / scale.
// Names, operands, dtypes, errors, support and gradients as <reel/stats/distribution.hpp> says.
#pragma once
#include <reel/stats/distribution.hpp>

namespace REEL_API reel {

/// log(norm_pdf): -z^2 / 2 - log(sqrt(2 pi) scale). Gradient: -g z / scale for x.
Tensor norm_logpdf(const Operand& x, const Operand& loc = 0, const Operand& scale = 1);
/// The density of the normal distribution.
Tensor norm_pdf(const Operand& x, const Operand& loc = 0, const Operand& scale = 1);
/// The probability of at most x. Gradient: g pdf for x.
Tensor norm_cdf(const Operand& x, const Operand& loc = 0, const Operand& scale = 1);
/// log(norm_cdf), by log_ndtr: without underflow in the lower tail.
Tensor norm_logcdf(const Operand& x, const Operand& loc = 0, const Operand& scale = 1);
/// 1 - norm_cdf, without loss in the upper tail.
Tensor norm_sf(const Operand& x, const Operand& loc = 0, const Operand& scale = 1);
/// log(norm_sf), without underflow in the upper tail.
Tensor norm_logsf(const Operand& x, const Operand& loc = 0, const Operand& scale = 1);
/// The quantile loc + scale ndtri(p). Gradient: g / pdf for p.
Tensor norm_ppf(const Operand& p, const Operand& loc = 0, const Operand& scale = 1);
/// x with norm_sf p, without loss where p is small. Gradient: -g / pdf for p.
Tensor norm_isf(const Operand& p, const Operand& loc = 0, const Operand& scale = 1);
/// x with norm_logcdf y, without underflow. Gradient: g exp(y) / pdf for y.
Tensor norm_ilogcdf(const Operand& y, const Operand& loc = 0, const Operand& scale = 1);
/// x with norm_logsf y, without underflow. Gradient: -g exp(y) / pdf for y.
Tensor norm_ilogsf(const Operand& y, const Operand& loc = 0, const Operand& scale = 1);

/// Normal. Gradient: g for loc, g z for scale, with z = (result - loc) / scale.
Tensor norm_rvs(Generator& generator, const Shape& shape, const Operand& loc = 0, const Operand& scale = 1,
                DType dtype = DType::float64);
/// (kl_div(1, r^2) + ((loc1 - loc2) / scale2)^2) / 2 with r = scale1 / scale2. Gradient: for loc1
/// g (loc1 - loc2) / scale2^2, for scale1 g (r - 1 / r) / scale2.
Tensor norm_kl(const Operand& loc1, const Operand& scale1, const Operand& loc2, const Operand& scale2);

}  // namespace reel
