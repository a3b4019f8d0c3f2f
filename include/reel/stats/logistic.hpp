// The logistic distribution: density exp(-z) / (1 + exp(-z))^2 / scale.
// Names, operands, dtypes, errors, support and gradients as <reel/stats/distribution.hpp> says.
#pragma once
#include <reel/stats/distribution.hpp>

namespace REEL_API reel {

/// log(logistic_pdf): -2 log(2 cosh(z / 2)) - log(scale). Gradient: -g tanh(z / 2) / scale for x.
Tensor logistic_logpdf(const Operand& x, const Operand& loc = 0, const Operand& scale = 1);
/// The density of the logistic distribution.
Tensor logistic_pdf(const Operand& x, const Operand& loc = 0, const Operand& scale = 1);
/// The probability of at most x. Gradient: g pdf for x.
Tensor logistic_cdf(const Operand& x, const Operand& loc = 0, const Operand& scale = 1);
/// log(logistic_cdf), without underflow in the lower tail.
Tensor logistic_logcdf(const Operand& x, const Operand& loc = 0, const Operand& scale = 1);
/// 1 - logistic_cdf, without loss in the upper tail.
Tensor logistic_sf(const Operand& x, const Operand& loc = 0, const Operand& scale = 1);
/// log(logistic_sf), without underflow in the upper tail.
Tensor logistic_logsf(const Operand& x, const Operand& loc = 0, const Operand& scale = 1);
/// The quantile: x with logistic_cdf p. Gradient: g / pdf for p.
Tensor logistic_ppf(const Operand& p, const Operand& loc = 0, const Operand& scale = 1);
/// x with logistic_sf p, without loss where p is small. Gradient: -g / pdf for p.
Tensor logistic_isf(const Operand& p, const Operand& loc = 0, const Operand& scale = 1);
/// x with logistic_logcdf y, without underflow. Gradient: g exp(y) / pdf for y.
Tensor logistic_ilogcdf(const Operand& y, const Operand& loc = 0, const Operand& scale = 1);
/// x with logistic_logsf y, without underflow. Gradient: -g exp(y) / pdf for y.
Tensor logistic_ilogsf(const Operand& y, const Operand& loc = 0, const Operand& scale = 1);

/// Logistic. Gradient: g for loc, g z for scale.
Tensor logistic_rvs(Generator& generator, const Shape& shape, const Operand& loc = 0, const Operand& scale = 1,
                    DType dtype = DType::float64);

}  // namespace reel
