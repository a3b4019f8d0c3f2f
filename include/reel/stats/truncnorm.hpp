// The normal distribution truncated at loc + scale a and at loc + scale b.
// Names, operands, dtypes, errors, support and gradients as <reel/stats/distribution.hpp> says.
#pragma once
#include <reel/stats/distribution.hpp>

namespace REEL_API reel {

/// The log density of the normal distribution truncated at loc + scale a and at loc + scale b, a < b, which may be
/// infinite. The probability between them is computed in the nearer tail: without underflow or loss however far they
/// are out. Elementwise, in one pass. Gradient: for x -g z / scale, for a g exp(logpdf at a) scale, for b minus that at
/// b.
Tensor truncnorm_logpdf(const Operand& x, const Operand& a, const Operand& b, const Operand& loc = 0,
                        const Operand& scale = 1);
/// Its exponential.
Tensor truncnorm_pdf(const Operand& x, const Operand& a, const Operand& b, const Operand& loc = 0,
                     const Operand& scale = 1);
/// The probability of at most x: 0 below loc + scale a, 1 above loc + scale b. Both tails are quotients of
/// probabilities, which do not cancel or underflow however far a and b are out. Gradient: g pdf for x, for a g (cdf -
/// 1) times the pdf at a, for b -g cdf times that at b, both times scale.
Tensor truncnorm_cdf(const Operand& x, const Operand& a, const Operand& b, const Operand& loc = 0,
                     const Operand& scale = 1);
/// 1 - truncnorm_cdf, without loss in the upper tail. Gradient: -g pdf for x.
Tensor truncnorm_sf(const Operand& x, const Operand& a, const Operand& b, const Operand& loc = 0,
                    const Operand& scale = 1);
/// log(truncnorm_cdf), without underflow. Gradient: g exp(logpdf - logcdf) for x.
Tensor truncnorm_logcdf(const Operand& x, const Operand& a, const Operand& b, const Operand& loc = 0,
                        const Operand& scale = 1);
/// log(truncnorm_sf), without underflow. Gradient: -g exp(logpdf - logsf) for x.
Tensor truncnorm_logsf(const Operand& x, const Operand& a, const Operand& b, const Operand& loc = 0,
                       const Operand& scale = 1);
/// The x with truncnorm_cdf p, from the nearer tail. z = (x - loc) / scale has an absolute error of a few roundings of
/// 1. Those of 0 and 1 are the ends, whose gradients are g scale for a or b and none for p. Gradient: g / pdf for p.
Tensor truncnorm_ppf(const Operand& p, const Operand& a, const Operand& b, const Operand& loc = 0,
                     const Operand& scale = 1);
/// The x with truncnorm_sf p. Gradient: -g / pdf for p.
Tensor truncnorm_isf(const Operand& p, const Operand& a, const Operand& b, const Operand& loc = 0,
                     const Operand& scale = 1);
/// The x with truncnorm_logcdf y, also where exp(y) underflows, computed in float64. Gradient: g exp(y) / pdf for y.
Tensor truncnorm_ilogcdf(const Operand& y, const Operand& a, const Operand& b, const Operand& loc = 0,
                         const Operand& scale = 1);
/// The x with truncnorm_logsf y. Gradient: -g exp(y) / pdf for y.
Tensor truncnorm_ilogsf(const Operand& y, const Operand& a, const Operand& b, const Operand& loc = 0,
                        const Operand& scale = 1);

/// The normal distribution between loc + scale a and loc + scale b, a < b, which may be infinite: quantiles by the
/// logarithms of probabilities in the nearer tail, however far out. Gradient: g for loc, g z for scale, for a and b the
/// implicit one.
Tensor truncnorm_rvs(Generator& generator, const Shape& shape, const Operand& a, const Operand& b,
                     const Operand& loc = 0, const Operand& scale = 1, DType dtype = DType::float64);

}  // namespace reel
