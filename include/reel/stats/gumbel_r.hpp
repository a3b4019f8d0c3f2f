// The Gumbel (of maxima) distribution: density exp(-z - exp(-z)) / scale.
// Names, operands, dtypes, errors, support and gradients as <reel/stats/distribution.hpp> says.
#pragma once
#include <reel/stats/distribution.hpp>

namespace REEL_API reel {

/// log(gumbel_r_pdf): -z - exp(-z) - log(scale). Gradient: g (exp(-z) - 1) / scale for x.
Tensor gumbel_r_logpdf(const Operand& x, const Operand& loc = 0, const Operand& scale = 1);
/// The density of the Gumbel (of maxima) distribution.
Tensor gumbel_r_pdf(const Operand& x, const Operand& loc = 0, const Operand& scale = 1);
/// The probability of at most x. Gradient: g pdf for x.
Tensor gumbel_r_cdf(const Operand& x, const Operand& loc = 0, const Operand& scale = 1);
/// log(gumbel_r_cdf), without underflow in the lower tail.
Tensor gumbel_r_logcdf(const Operand& x, const Operand& loc = 0, const Operand& scale = 1);
/// 1 - gumbel_r_cdf, without loss in the upper tail.
Tensor gumbel_r_sf(const Operand& x, const Operand& loc = 0, const Operand& scale = 1);
/// log(gumbel_r_sf), without underflow in the upper tail.
Tensor gumbel_r_logsf(const Operand& x, const Operand& loc = 0, const Operand& scale = 1);
/// The quantile: x with gumbel_r_cdf p. Gradient: g / pdf for p.
Tensor gumbel_r_ppf(const Operand& p, const Operand& loc = 0, const Operand& scale = 1);
/// x with gumbel_r_sf p, without loss where p is small. Gradient: -g / pdf for p.
Tensor gumbel_r_isf(const Operand& p, const Operand& loc = 0, const Operand& scale = 1);
/// x with gumbel_r_logcdf y, without underflow. Gradient: g exp(y) / pdf for y.
Tensor gumbel_r_ilogcdf(const Operand& y, const Operand& loc = 0, const Operand& scale = 1);
/// x with gumbel_r_logsf y, without underflow. Gradient: -g exp(y) / pdf for y.
Tensor gumbel_r_ilogsf(const Operand& y, const Operand& loc = 0, const Operand& scale = 1);

/// Gumbel, of maxima. Gradient: g for loc, g z for scale.
Tensor gumbel_r_rvs(Generator& generator, const Shape& shape, const Operand& loc = 0, const Operand& scale = 1,
                    DType dtype = DType::float64);
/// Gamma(1 + r) exp(d) - 1 - d - log(r) + e (r - 1) with r = scale1 / scale2, d = (loc2 - loc1) / scale2 and e Euler's
/// constant. Gradient: for loc2 g (Gamma(1 + r) exp(d) - 1) / scale2.
Tensor gumbel_r_kl(const Operand& loc1, const Operand& scale1, const Operand& loc2, const Operand& scale2);

}  // namespace reel
