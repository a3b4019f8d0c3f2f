// The beta distribution of shapes a and b: density z^(a - 1) (1 - z)^(b - 1) / (B(a, b) scale), 0 <= z <= 1.
// Names, operands, dtypes, errors, support and gradients as <reel/stats/distribution.hpp> says.
#pragma once
#include <reel/stats/distribution.hpp>

namespace REEL_API reel {

/// log(beta_pdf). Gradient: g ((a - 1) / z - (b - 1) / (1 - z)) / scale for x, g (log(z) - digamma(a) + digamma(a + b))
/// for a.
Tensor beta_logpdf(const Operand& x, const Operand& a, const Operand& b, const Operand& loc = 0,
                   const Operand& scale = 1);
/// z^(a - 1) (1 - z)^(b - 1) / (B(a, b) scale), 0 <= z <= 1.
Tensor beta_pdf(const Operand& x, const Operand& a, const Operand& b, const Operand& loc = 0, const Operand& scale = 1);
/// betainc(a, b, z). Gradient: g pdf for x.
Tensor beta_cdf(const Operand& x, const Operand& a, const Operand& b, const Operand& loc = 0, const Operand& scale = 1);
/// betaincc(a, b, z). Gradient: -g pdf for x.
Tensor beta_sf(const Operand& x, const Operand& a, const Operand& b, const Operand& loc = 0, const Operand& scale = 1);
/// log(beta_cdf). Gradient: g exp(logpdf - logcdf) for x.
Tensor beta_logcdf(const Operand& x, const Operand& a, const Operand& b, const Operand& loc = 0,
                   const Operand& scale = 1);
/// log(beta_sf). Gradient: -g exp(logpdf - logsf) for x.
Tensor beta_logsf(const Operand& x, const Operand& a, const Operand& b, const Operand& loc = 0,
                  const Operand& scale = 1);
/// loc + scale betaincinv(a, b, p). Gradient: g / pdf for p.
Tensor beta_ppf(const Operand& p, const Operand& a, const Operand& b, const Operand& loc = 0, const Operand& scale = 1);
/// loc + scale betainccinv(a, b, p). Gradient: -g / pdf for p.
Tensor beta_isf(const Operand& p, const Operand& a, const Operand& b, const Operand& loc = 0, const Operand& scale = 1);
/// The x with beta_logcdf y. Gradient: g exp(y) / pdf for y.
Tensor beta_ilogcdf(const Operand& y, const Operand& a, const Operand& b, const Operand& loc = 0,
                    const Operand& scale = 1);
/// The x with beta_logsf y. Gradient: -g exp(y) / pdf for y.
Tensor beta_ilogsf(const Operand& y, const Operand& a, const Operand& b, const Operand& loc = 0,
                   const Operand& scale = 1);

/// Beta, of shapes a and b, as a quotient of gamma variates. Gradient: g for loc, g z for scale, for a and b the
/// implicit one, which is 0 at samples that are rounded to 0 or 1.
Tensor beta_rvs(Generator& generator, const Shape& shape, const Operand& a, const Operand& b, const Operand& loc = 0,
                const Operand& scale = 1, DType dtype = DType::float64);
/// Of beta distributions on [0, 1]: dirichlet_kl of two elements. Gradient: for a2 g (digamma(a2) - digamma(a2 + b2) -
/// digamma(a1) + digamma(a1 + b1)).
Tensor beta_kl(const Operand& a1, const Operand& b1, const Operand& a2, const Operand& b2);

}  // namespace reel
