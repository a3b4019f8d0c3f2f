// Continuous distributions by SciPy's names: for a distribution F, with z = (x - loc) / scale,
//   F_logpdf(x, ...)  the logarithm of the density
//   F_pdf(x, ...)     the density
//   F_cdf(x, ...)     the probability of at most x
//   F_logcdf(x, ...)  its logarithm
//   F_sf(x, ...)      the probability of more than x
//   F_logsf(x, ...)   its logarithm
//   F_ppf(p, ...)     the quantile: x of cdf p
//   F_isf(p, ...)     x of sf p
//   F_ilogcdf(y, ...) x of logcdf y, also where exp(y) underflows
//   F_ilogsf(y, ...)  x of logsf y, also where exp(y) underflows
// with the shape parameters, loc and scale as operands.
//
// Each is elementwise: operands broadcast (ShapeError otherwise) and are promoted; integers and booleans compute as
// float64, float16 and bfloat16 in float32, rounded once. TypeError for complex operands. Each is one pass over memory
// and one entry on a tape, differentiable to every order by every operand. None is a difference that cancels: a
// probability of 1e-300 has all its digits in either tail.
//
// Outside the support, at infinite x too, logpdf is -inf and the others are the constants that they must be, with
// gradient 0. An end of the support where the density is 0 counts as outside for pdf and logpdf. At other ends the
// gradient is that of the formula: it may be infinite, and it is NaN where one factor is 0 and another infinite; for a
// parameter of shape that is exactly 1, log(z) counts as 0 there. NaN where an operand is NaN, where scale or a
// parameter of shape is not above 0, and, of quantiles, where p is outside [0, 1] or y above 0. Quantiles of 0 and 1
// are the ends of the support, with the gradient of the formula there. F_ilogcdf and F_ilogsf compute in float64.
#pragma once
#include <reel/api.hpp>
#include <reel/tensor.hpp>

namespace REEL_API reel {

// The normal distribution: density exp(-z^2 / 2) / sqrt(2 pi) / scale

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

// The exponential distribution: density exp(-z) / scale, z >= 0

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

// The Laplace distribution: density exp(-|z|) / 2 / scale

/// log(laplace_pdf): -|z| - log(2 scale). Gradient: -g sign(z) / scale for x, 0 at the kink z = 0.
Tensor laplace_logpdf(const Operand& x, const Operand& loc = 0, const Operand& scale = 1);
/// The density of the Laplace distribution. Gradient by x: 0 at the kink z = 0.
Tensor laplace_pdf(const Operand& x, const Operand& loc = 0, const Operand& scale = 1);
/// The probability of at most x. Gradient: g pdf for x.
Tensor laplace_cdf(const Operand& x, const Operand& loc = 0, const Operand& scale = 1);
/// log(laplace_cdf), without underflow in the lower tail.
Tensor laplace_logcdf(const Operand& x, const Operand& loc = 0, const Operand& scale = 1);
/// 1 - laplace_cdf, without loss in the upper tail.
Tensor laplace_sf(const Operand& x, const Operand& loc = 0, const Operand& scale = 1);
/// log(laplace_sf), without underflow in the upper tail.
Tensor laplace_logsf(const Operand& x, const Operand& loc = 0, const Operand& scale = 1);
/// The quantile: x with laplace_cdf p. Gradient: g / pdf for p.
Tensor laplace_ppf(const Operand& p, const Operand& loc = 0, const Operand& scale = 1);
/// x with laplace_sf p, without loss where p is small. Gradient: -g / pdf for p.
Tensor laplace_isf(const Operand& p, const Operand& loc = 0, const Operand& scale = 1);
/// x with laplace_logcdf y, without underflow. Gradient: g exp(y) / pdf for y.
Tensor laplace_ilogcdf(const Operand& y, const Operand& loc = 0, const Operand& scale = 1);
/// x with laplace_logsf y, without underflow. Gradient: -g exp(y) / pdf for y.
Tensor laplace_ilogsf(const Operand& y, const Operand& loc = 0, const Operand& scale = 1);

// The logistic distribution: density exp(-z) / (1 + exp(-z))^2 / scale

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

// The Cauchy distribution: density 1 / (pi (1 + z^2)) / scale

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

// The Gumbel (of maxima) distribution: density exp(-z - exp(-z)) / scale

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

// The uniform distribution: density 1 / scale, 0 <= z <= 1

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

// The Pareto distribution of shape b: density b z^(-b - 1) / scale, z >= 1

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

// The lognormal distribution of shape s: density exp(-(log(z) / s)^2 / 2) / (sqrt(2 pi) s z) / scale, z > 0

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

// The Weibull (of minima) distribution of shape c: density c z^(c - 1) exp(-z^c) / scale, z >= 0

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

}  // namespace reel
