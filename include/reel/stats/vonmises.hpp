// The von Mises distribution of angles: density exp(kappa cos(x - loc)) / (2 pi I_0(kappa)).
// Names, operands, dtypes, errors, support and gradients as <reel/stats/distribution.hpp> says.
#pragma once
#include <reel/stats/distribution.hpp>

namespace REEL_API reel {

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

/// Von Mises's distribution (Best and Fisher 1979): an angle between loc - pi and loc + pi, uniform for kappa = 0. NaN
/// for kappa below 0. Above 1e150 it is the normal distribution of variance 1 / kappa, with a relative error of 1 /
/// kappa. Gradient: g for loc, for kappa the implicit one, by that of vonmises_cdf.
Tensor vonmises_rvs(Generator& generator, const Shape& shape, const Operand& kappa, const Operand& loc = 0,
                    DType dtype = DType::float64);
/// log(I_0(kappa2) / I_0(kappa1)) + (kappa1 - kappa2 cos(loc1 - loc2)) I_1(kappa1) / I_0(kappa1), with an absolute
/// error of some roundings of 1 + |kappa1 - kappa2|. Gradient: for loc1 g kappa2 sin(loc1 - loc2) I_1(kappa1) /
/// I_0(kappa1).
Tensor vonmises_kl(const Operand& kappa1, const Operand& loc1, const Operand& kappa2, const Operand& loc2);

}  // namespace reel
