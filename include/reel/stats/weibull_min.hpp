// The Weibull (of minima) distribution of shape c: density c z^(c - 1) exp(-z^c) / scale, z >= 0.
// Names, operands, dtypes, errors, support and gradients as <reel/stats/distribution.hpp> says.
#pragma once
#include <reel/stats/distribution.hpp>

namespace REEL_API reel {

/// log(weibull_min_pdf): at z = 0 inf for c < 1, 0 - log(scale) for c = 1, otherwise -inf.
Tensor weibull_min_logpdf(const Operand& x, const Operand& c, const Operand& loc = 0, const Operand& scale = 1);
/// The density of the Weibull (of minima) distribution.
Tensor weibull_min_pdf(const Operand& x, const Operand& c, const Operand& loc = 0, const Operand& scale = 1);
/// The probability of at most x. Gradient: g pdf for x.
Tensor weibull_min_cdf(const Operand& x, const Operand& c, const Operand& loc = 0, const Operand& scale = 1);
/// log(weibull_min_cdf), without underflow in the lower tail.
Tensor weibull_min_logcdf(const Operand& x, const Operand& c, const Operand& loc = 0, const Operand& scale = 1);
/// 1 - weibull_min_cdf, without loss in the upper tail.
Tensor weibull_min_sf(const Operand& x, const Operand& c, const Operand& loc = 0, const Operand& scale = 1);
/// log(weibull_min_sf), without underflow in the upper tail.
Tensor weibull_min_logsf(const Operand& x, const Operand& c, const Operand& loc = 0, const Operand& scale = 1);
/// The quantile: x with weibull_min_cdf p. Gradient: g / pdf for p.
Tensor weibull_min_ppf(const Operand& p, const Operand& c, const Operand& loc = 0, const Operand& scale = 1);
/// x with weibull_min_sf p, without loss where p is small. Gradient: -g / pdf for p.
Tensor weibull_min_isf(const Operand& p, const Operand& c, const Operand& loc = 0, const Operand& scale = 1);
/// x with weibull_min_logcdf y, without underflow. Gradient: g exp(y) / pdf for y.
Tensor weibull_min_ilogcdf(const Operand& y, const Operand& c, const Operand& loc = 0, const Operand& scale = 1);
/// x with weibull_min_logsf y, without underflow. Gradient: -g exp(y) / pdf for y.
Tensor weibull_min_ilogsf(const Operand& y, const Operand& c, const Operand& loc = 0, const Operand& scale = 1);

/// Weibull, of minima, of shape c. Gradient: g for loc, g z for scale, -g scale z log(z) / c for c.
Tensor weibull_min_rvs(Generator& generator, const Shape& shape, const Operand& c, const Operand& loc = 0,
                       const Operand& scale = 1, DType dtype = DType::float64);
/// Of Weibull distributions of shape c and loc 0: gumbel_r_kl's formula with r = c2 / c1, d = c2 log(scale1 / scale2).
Tensor weibull_min_kl(const Operand& c1, const Operand& scale1, const Operand& c2, const Operand& scale2);

}  // namespace reel
