// The gamma distribution of shape a: density z^(a - 1) exp(-z) / (Gamma(a) scale), z >= 0.
// Names, operands, dtypes, errors, support and gradients as <reel/stats/distribution.hpp> says.
#pragma once
#include <reel/stats/distribution.hpp>

namespace REEL_API reel {

/// log(gamma_pdf). Gradient: g ((a - 1) / z - 1) / scale for x, g (log(z) - digamma(a)) for a.
Tensor gamma_logpdf(const Operand& x, const Operand& a, const Operand& loc = 0, const Operand& scale = 1);
/// z^(a - 1) exp(-z) / (Gamma(a) scale), z >= 0.
Tensor gamma_pdf(const Operand& x, const Operand& a, const Operand& loc = 0, const Operand& scale = 1);
/// gammainc(a, z). Gradient: g pdf for x.
Tensor gamma_cdf(const Operand& x, const Operand& a, const Operand& loc = 0, const Operand& scale = 1);
/// gammaincc(a, z). Gradient: -g pdf for x.
Tensor gamma_sf(const Operand& x, const Operand& a, const Operand& loc = 0, const Operand& scale = 1);
/// log(gamma_cdf). Gradient: g exp(logpdf - logcdf) for x.
Tensor gamma_logcdf(const Operand& x, const Operand& a, const Operand& loc = 0, const Operand& scale = 1);
/// log(gamma_sf). Gradient: -g exp(logpdf - logsf) for x.
Tensor gamma_logsf(const Operand& x, const Operand& a, const Operand& loc = 0, const Operand& scale = 1);
/// loc + scale gammaincinv(a, p). Gradient: g / pdf for p.
Tensor gamma_ppf(const Operand& p, const Operand& a, const Operand& loc = 0, const Operand& scale = 1);
/// loc + scale gammainccinv(a, p). Gradient: -g / pdf for p.
Tensor gamma_isf(const Operand& p, const Operand& a, const Operand& loc = 0, const Operand& scale = 1);
/// The x with gamma_logcdf y. Gradient: g exp(y) / pdf for y.
Tensor gamma_ilogcdf(const Operand& y, const Operand& a, const Operand& loc = 0, const Operand& scale = 1);
/// The x with gamma_logsf y. Gradient: -g exp(y) / pdf for y.
Tensor gamma_ilogsf(const Operand& y, const Operand& a, const Operand& loc = 0, const Operand& scale = 1);

/// Gamma, of shape a. 0 where it underflows, as it may for a < 0.05, with gradient 0. Gradient: g for loc, g z for
/// scale, for a the implicit one.
Tensor gamma_rvs(Generator& generator, const Shape& shape, const Operand& a, const Operand& loc = 0,
                 const Operand& scale = 1, DType dtype = DType::float64);
/// Of gamma distributions of shape a and loc 0: (a1 - a2) digamma(a1) - lgamma(a1) + lgamma(a2) - a2 log(r) + a1 (r -
/// 1), r = scale1 / scale2. Gradient: for a2 g (digamma(a2) - digamma(a1) - log(r)).
Tensor gamma_kl(const Operand& a1, const Operand& scale1, const Operand& a2, const Operand& scale2);

}  // namespace reel
