// The Pareto distribution of shape b: density b z^(-b - 1) / scale, z >= 1.
// Names, operands, dtypes, errors, support and gradients as <reel/stats/distribution.hpp> says.
#pragma once
#include <reel/stats/distribution.hpp>

namespace REEL_API reel {

/// log(pareto_pdf): log(b) - (b + 1) log(z) - log(scale). Gradient: g (1 / b - log(z)) for b.
Tensor pareto_logpdf(const Operand& x, const Operand& b, const Operand& loc = 0, const Operand& scale = 1);
/// The density of the Pareto distribution.
Tensor pareto_pdf(const Operand& x, const Operand& b, const Operand& loc = 0, const Operand& scale = 1);
/// The probability of at most x. Gradient: g pdf for x.
Tensor pareto_cdf(const Operand& x, const Operand& b, const Operand& loc = 0, const Operand& scale = 1);
/// log(pareto_cdf), without underflow in the lower tail.
Tensor pareto_logcdf(const Operand& x, const Operand& b, const Operand& loc = 0, const Operand& scale = 1);
/// 1 - pareto_cdf, without loss in the upper tail.
Tensor pareto_sf(const Operand& x, const Operand& b, const Operand& loc = 0, const Operand& scale = 1);
/// log(pareto_sf), without underflow in the upper tail.
Tensor pareto_logsf(const Operand& x, const Operand& b, const Operand& loc = 0, const Operand& scale = 1);
/// The quantile: x with pareto_cdf p. Gradient: g / pdf for p.
Tensor pareto_ppf(const Operand& p, const Operand& b, const Operand& loc = 0, const Operand& scale = 1);
/// x with pareto_sf p, without loss where p is small. Gradient: -g / pdf for p.
Tensor pareto_isf(const Operand& p, const Operand& b, const Operand& loc = 0, const Operand& scale = 1);
/// x with pareto_logcdf y, without underflow. Gradient: g exp(y) / pdf for y.
Tensor pareto_ilogcdf(const Operand& y, const Operand& b, const Operand& loc = 0, const Operand& scale = 1);
/// x with pareto_logsf y, without underflow. Gradient: -g exp(y) / pdf for y.
Tensor pareto_ilogsf(const Operand& y, const Operand& b, const Operand& loc = 0, const Operand& scale = 1);

/// Pareto, of shape b. Gradient: g for loc, g z for scale, -g scale z log(z) / b for b.
Tensor pareto_rvs(Generator& generator, const Shape& shape, const Operand& b, const Operand& loc = 0,
                  const Operand& scale = 1, DType dtype = DType::float64);
/// Of Pareto distributions of shape b and loc 0: kl_div(1, b2 / b1) + b2 log(scale1 / scale2), inf for scale1 < scale2.
Tensor pareto_kl(const Operand& b1, const Operand& scale1, const Operand& b2, const Operand& scale2);

}  // namespace reel
