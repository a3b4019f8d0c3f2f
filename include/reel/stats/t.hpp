// Student's t distribution of df degrees of freedom: density (1 + z^2 / df)^(-(df + 1) / 2) / (sqrt(df) B(1 / 2, df /
// 2) scale).
// Names, operands, dtypes, errors, support and gradients as <reel/stats/distribution.hpp> says.
#pragma once
#include <reel/stats/distribution.hpp>

namespace REEL_API reel {

/// log(t_pdf), without overflow of z^2. Gradient: -g (df + 1) z / ((df + z^2) scale) for x. The normal
/// distribution's for df = inf.
Tensor t_logpdf(const Operand& x, const Operand& df, const Operand& loc = 0, const Operand& scale = 1);
/// Student's t distribution: (1 + z^2 / df)^(-(df + 1) / 2) / (sqrt(df) B(1 / 2, df / 2) scale).
Tensor t_pdf(const Operand& x, const Operand& df, const Operand& loc = 0, const Operand& scale = 1);
/// betainc(df / 2, 1 / 2, df / (df + z^2)) / 2 below 0, otherwise 1 minus that. Gradient: g pdf for x; that for df,
/// below 1 / df^2, has an absolute error of some 1e-16 / df.
Tensor t_cdf(const Operand& x, const Operand& df, const Operand& loc = 0, const Operand& scale = 1);
/// t_cdf mirrored at loc: without loss in the upper tail. Gradient: -g pdf for x.
Tensor t_sf(const Operand& x, const Operand& df, const Operand& loc = 0, const Operand& scale = 1);
/// log(t_cdf). Gradient: g exp(logpdf - logcdf) for x.
Tensor t_logcdf(const Operand& x, const Operand& df, const Operand& loc = 0, const Operand& scale = 1);
/// log(t_sf). Gradient: -g exp(logpdf - logsf) for x.
Tensor t_logsf(const Operand& x, const Operand& df, const Operand& loc = 0, const Operand& scale = 1);
/// loc + scale z. In the tails z^2 = df (1 - y) / y with y = betaincinv(df / 2, 1 / 2, 2 min(p, 1 - p)); near p = 1 / 2
/// y is taken from the complement. z is negative below p = 1 / 2. Gradient: g / pdf for p.
Tensor t_ppf(const Operand& p, const Operand& df, const Operand& loc = 0, const Operand& scale = 1);
/// t_ppf mirrored at loc. Gradient: -g / pdf for p.
Tensor t_isf(const Operand& p, const Operand& df, const Operand& loc = 0, const Operand& scale = 1);
/// The x with t_logcdf y, computed in float64. Gradient: g exp(y) / pdf for y.
Tensor t_ilogcdf(const Operand& y, const Operand& df, const Operand& loc = 0, const Operand& scale = 1);
/// t_ilogcdf mirrored at loc. Gradient: -g exp(y) / pdf for y.
Tensor t_ilogsf(const Operand& y, const Operand& df, const Operand& loc = 0, const Operand& scale = 1);

/// Student's distribution, a normal variate over the root of a gamma variate. It is infinite where it overflows, as it
/// may for df < 0.05, with gradient 0 for df. Gradient: g for loc, g z for scale, for df the implicit one.
Tensor t_rvs(Generator& generator, const Shape& shape, const Operand& df, const Operand& loc = 0,
             const Operand& scale = 1, DType dtype = DType::float64);

}  // namespace reel
