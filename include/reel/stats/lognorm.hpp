// The lognormal distribution of shape s: density exp(-(log(z) / s)^2 / 2) / (sqrt(2 pi) s z) / scale, z > 0.
// Names, operands, dtypes, errors, support and gradients as <reel/stats/distribution.hpp> says.
#pragma once
#include <reel/stats/distribution.hpp>

namespace REEL_API reel {

/// log(lognorm_pdf): -inf at z = 0. s is the standard deviation of log(z).
Tensor lognorm_logpdf(const Operand& x, const Operand& s, const Operand& loc = 0, const Operand& scale = 1);
/// The density of the lognormal distribution.
Tensor lognorm_pdf(const Operand& x, const Operand& s, const Operand& loc = 0, const Operand& scale = 1);
/// The probability of at most x. Gradient: g pdf for x.
Tensor lognorm_cdf(const Operand& x, const Operand& s, const Operand& loc = 0, const Operand& scale = 1);
/// log(lognorm_cdf), without underflow in the lower tail.
Tensor lognorm_logcdf(const Operand& x, const Operand& s, const Operand& loc = 0, const Operand& scale = 1);
/// 1 - lognorm_cdf, without loss in the upper tail.
Tensor lognorm_sf(const Operand& x, const Operand& s, const Operand& loc = 0, const Operand& scale = 1);
/// log(lognorm_sf), without underflow in the upper tail.
Tensor lognorm_logsf(const Operand& x, const Operand& s, const Operand& loc = 0, const Operand& scale = 1);
/// The quantile: x with lognorm_cdf p. Gradient: g / pdf for p.
Tensor lognorm_ppf(const Operand& p, const Operand& s, const Operand& loc = 0, const Operand& scale = 1);
/// x with lognorm_sf p, without loss where p is small. Gradient: -g / pdf for p.
Tensor lognorm_isf(const Operand& p, const Operand& s, const Operand& loc = 0, const Operand& scale = 1);
/// x with lognorm_logcdf y, without underflow. Gradient: g exp(y) / pdf for y.
Tensor lognorm_ilogcdf(const Operand& y, const Operand& s, const Operand& loc = 0, const Operand& scale = 1);
/// x with lognorm_logsf y, without underflow. Gradient: -g exp(y) / pdf for y.
Tensor lognorm_ilogsf(const Operand& y, const Operand& s, const Operand& loc = 0, const Operand& scale = 1);

/// Lognormal, s being the standard deviation of log(z). Gradient: g for loc, g z for scale, g scale z log(z) / s for s.
Tensor lognorm_rvs(Generator& generator, const Shape& shape, const Operand& s, const Operand& loc = 0,
                   const Operand& scale = 1, DType dtype = DType::float64);
/// Of lognormal distributions of loc 0: norm_kl(log(scale1), s1, log(scale2), s2).
Tensor lognorm_kl(const Operand& s1, const Operand& scale1, const Operand& s2, const Operand& scale2);

}  // namespace reel
