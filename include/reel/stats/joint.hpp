// Densities of distributions of vectors, and distributions of angles and of bounded intervals. Integers and booleans
// compute as float64, float16 and bfloat16 in float32, rounded once; TypeError for complex operands, ShapeError for
// operands that do not fit together. Differentiable to every order by every operand. Outside the support, at infinite x
// too, the logarithm of a density is -inf, and probabilities are constants; the gradient is 0. NaN where an operand is
// NaN or a parameter is out of range.
#pragma once
#include <reel/api.hpp>
#include <reel/tensor.hpp>

namespace REEL_API reel {

/// The log density of normal vectors x [..., n] with this mean [..., n] and covariance l l^T, l [..., n, n] lower
/// triangular: -|y|^2 / 2 - sum(log(diag(l))) - n log(2 pi) / 2 with l y = x - mean. Leading axes broadcast; the result
/// has those alone. The upper triangle is not read and gets gradient 0. NaN where an element of the diagonal is not
/// above 0. (SciPy's multivariate_normal, PyTorch's with scale_tril.) Gradient: for
/// x -g l^-T y, for l g times the lower triangle of l^-T y y^T - diag(1 / diag(l)).
Tensor multivariate_normal_logpdf(const Operand& x, const Operand& mean, const Operand& cholesky_factor);
/// The log density of the Dirichlet distribution at x [..., n], whose elements are at least 0 and have the sum 1, for
/// parameters alpha [..., n] above 0; leading axes broadcast: sum(xlogy(alpha - 1, x)) + lgamma(sum(alpha)) -
/// sum(lgamma(alpha)). The support includes sums that differ from 1 by less than the square root of the operands'
/// rounding error. Gradient: for x g (alpha - 1) / x, for alpha g (log(x) + digamma(sum(alpha)) - digamma(alpha)).
Tensor dirichlet_logpdf(const Operand& x, const Operand& alpha);
/// The log density of the von Mises distribution at angle x, of period 2 pi: kappa cos(x - loc) - log(2 pi i0(kappa)),
/// kappa >= 0, without overflow, and to rounding for large kappa (DLMF 10.40.1, from 50 on). Elementwise. Derivatives
/// by kappa below 50 lose some 2 digits to cancellation at most, 4 those of second order. Gradient: for x -g kappa
/// sin(x - loc), for kappa g (cos(x - loc) - i1(kappa) / i0(kappa)).
Tensor vonmises_logpdf(const Operand& x, const Operand& kappa, const Operand& loc = 0);
/// Its exponential.
Tensor vonmises_pdf(const Operand& x, const Operand& kappa, const Operand& loc = 0);
/// The probability of an angle from loc - pi to x, the distribution being that on [loc - pi, loc + pi]: 0 below it and
/// 1 above it. (SciPy's continues with 1 more for each turn.) In the lower tail by quadrature, from the logarithms of
/// the density, so that small probabilities have all their digits. Some 10 microseconds an element. Gradient: g pdf for
/// x, for kappa by the same quadrature.
Tensor vonmises_cdf(const Operand& x, const Operand& kappa, const Operand& loc = 0);
/// vonmises_cdf mirrored at loc. Gradient: -g pdf for x.
Tensor vonmises_sf(const Operand& x, const Operand& kappa, const Operand& loc = 0);
/// log(vonmises_cdf), without underflow. Gradient: g exp(logpdf - logcdf) for x.
Tensor vonmises_logcdf(const Operand& x, const Operand& kappa, const Operand& loc = 0);
/// log(vonmises_sf), without underflow. Gradient: -g exp(logpdf - logsf) for x.
Tensor vonmises_logsf(const Operand& x, const Operand& kappa, const Operand& loc = 0);
/// The angle from loc - pi to loc + pi with vonmises_cdf p, in some 50 microseconds an element. Gradient: g / pdf for
/// p, for kappa minus that of vonmises_cdf over pdf.
Tensor vonmises_ppf(const Operand& p, const Operand& kappa, const Operand& loc = 0);
/// The angle with vonmises_sf p. Gradient: -g / pdf for p.
Tensor vonmises_isf(const Operand& p, const Operand& kappa, const Operand& loc = 0);
/// The angle with vonmises_logcdf y, also where exp(y) underflows. Gradient: g exp(y) / pdf for y.
Tensor vonmises_ilogcdf(const Operand& y, const Operand& kappa, const Operand& loc = 0);
/// The angle with vonmises_logsf y. Gradient: -g exp(y) / pdf for y.
Tensor vonmises_ilogsf(const Operand& y, const Operand& kappa, const Operand& loc = 0);

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

}  // namespace reel
