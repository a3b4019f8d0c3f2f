// The chi-square distribution of df degrees of freedom: the gamma distribution of shape df / 2 and scale 2.
// Names, operands, dtypes, errors, support and gradients as <reel/stats/distribution.hpp> says.
#pragma once
#include <reel/stats/distribution.hpp>

namespace REEL_API reel {

/// log(chi2_pdf). Gradient: g ((df / 2 - 1) / z - 1 / 2) / scale for x.
Tensor chi2_logpdf(const Operand& x, const Operand& df, const Operand& loc = 0, const Operand& scale = 1);
/// The gamma distribution of shape df / 2 and scale 2.
Tensor chi2_pdf(const Operand& x, const Operand& df, const Operand& loc = 0, const Operand& scale = 1);
/// gammainc(df / 2, z / 2). Gradient: g pdf for x.
Tensor chi2_cdf(const Operand& x, const Operand& df, const Operand& loc = 0, const Operand& scale = 1);
/// gammaincc(df / 2, z / 2). Gradient: -g pdf for x.
Tensor chi2_sf(const Operand& x, const Operand& df, const Operand& loc = 0, const Operand& scale = 1);
/// log(chi2_cdf). Gradient: g exp(logpdf - logcdf) for x.
Tensor chi2_logcdf(const Operand& x, const Operand& df, const Operand& loc = 0, const Operand& scale = 1);
/// log(chi2_sf). Gradient: -g exp(logpdf - logsf) for x.
Tensor chi2_logsf(const Operand& x, const Operand& df, const Operand& loc = 0, const Operand& scale = 1);
/// loc + 2 scale gammaincinv(df / 2, p). Gradient: g / pdf for p.
Tensor chi2_ppf(const Operand& p, const Operand& df, const Operand& loc = 0, const Operand& scale = 1);
/// loc + 2 scale gammainccinv(df / 2, p). Gradient: -g / pdf for p.
Tensor chi2_isf(const Operand& p, const Operand& df, const Operand& loc = 0, const Operand& scale = 1);
/// The x with chi2_logcdf y. Gradient: g exp(y) / pdf for y.
Tensor chi2_ilogcdf(const Operand& y, const Operand& df, const Operand& loc = 0, const Operand& scale = 1);
/// The x with chi2_logsf y. Gradient: -g exp(y) / pdf for y.
Tensor chi2_ilogsf(const Operand& y, const Operand& df, const Operand& loc = 0, const Operand& scale = 1);

/// Chi-square: the gamma distribution of shape df / 2 and scale 2. Gradient: as that of gamma_rvs.
Tensor chi2_rvs(Generator& generator, const Shape& shape, const Operand& df, const Operand& loc = 0,
                const Operand& scale = 1, DType dtype = DType::float64);
/// gamma_kl(df1 / 2, 2, df2 / 2, 2).
Tensor chi2_kl(const Operand& df1, const Operand& df2);

}  // namespace reel
