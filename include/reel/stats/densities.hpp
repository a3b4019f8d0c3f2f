// Densities and probabilities of further distributions by SciPy's names: their logarithm, and themselves. Elementwise;
// operands, dtypes, errors, ends of the support and NaN as in <reel/stats/continuous.hpp>, with z = (x - loc) / scale.
// Errors are a few roundings of the value near the mode too, for parameters of any size (Loader 2000); with shape
// parameters and numbers below 10 the logarithm has an absolute error of some 1e-15.
//
// Of a discrete distribution k is a number, without a gradient: at one that is not whole or not possible the
// probability is 0, of gradient 0. Parameters outside their range give NaN. At p = 0, p = 1 and mu = 0 only one number
// is possible: the logarithm of another's probability is -inf with gradient 0, while probabilities have the derivatives
// of their closed form, from inside the range.
#pragma once
#include <reel/api.hpp>
#include <reel/tensor.hpp>

namespace REEL_API reel {

/// log(gamma_pdf). Gradient: g ((a - 1) / z - 1) / scale for x, g (log(z) - digamma(a)) for a.
Tensor gamma_logpdf(const Operand& x, const Operand& a, const Operand& loc = 0, const Operand& scale = 1);
/// z^(a - 1) exp(-z) / (Gamma(a) scale), z >= 0.
Tensor gamma_pdf(const Operand& x, const Operand& a, const Operand& loc = 0, const Operand& scale = 1);
/// log(chi2_pdf). Gradient: g ((df / 2 - 1) / z - 1 / 2) / scale for x.
Tensor chi2_logpdf(const Operand& x, const Operand& df, const Operand& loc = 0, const Operand& scale = 1);
/// The gamma distribution of shape df / 2 and scale 2.
Tensor chi2_pdf(const Operand& x, const Operand& df, const Operand& loc = 0, const Operand& scale = 1);
/// log(beta_pdf). Gradient: g ((a - 1) / z - (b - 1) / (1 - z)) / scale for x, g (log(z) - digamma(a) + digamma(a + b))
/// for a.
Tensor beta_logpdf(const Operand& x, const Operand& a, const Operand& b, const Operand& loc = 0,
                   const Operand& scale = 1);
/// z^(a - 1) (1 - z)^(b - 1) / (B(a, b) scale), 0 <= z <= 1.
Tensor beta_pdf(const Operand& x, const Operand& a, const Operand& b, const Operand& loc = 0, const Operand& scale = 1);
/// log(t_pdf), without overflow of z^2. Gradient: -g (df + 1) z / ((df + z^2) scale) for x. The normal
/// distribution's for df = inf.
Tensor t_logpdf(const Operand& x, const Operand& df, const Operand& loc = 0, const Operand& scale = 1);
/// Student's t distribution: (1 + z^2 / df)^(-(df + 1) / 2) / (sqrt(df) B(1 / 2, df / 2) scale).
Tensor t_pdf(const Operand& x, const Operand& df, const Operand& loc = 0, const Operand& scale = 1);

/// log(poisson_pmf). Gradient: g (k / mu - 1) for mu.
Tensor poisson_logpmf(const Operand& k, const Operand& mu);
/// mu^k exp(-mu) / k!, mu >= 0, k >= 0.
Tensor poisson_pmf(const Operand& k, const Operand& mu);
/// log(binom_pmf). Gradient: g (k / p - (n - k) / (1 - p)) for p, none for n.
Tensor binom_logpmf(const Operand& k, const Operand& n, const Operand& p);
/// n! / (k! (n - k)!) p^k (1 - p)^(n - k), n a whole number, 0 <= p <= 1, 0 <= k <= n.
Tensor binom_pmf(const Operand& k, const Operand& n, const Operand& p);
/// log(nbinom_pmf). Gradient: g (n / p - k / (1 - p)) for p, g (digamma(k + n) - digamma(n) + log(p)) for n.
Tensor nbinom_logpmf(const Operand& k, const Operand& n, const Operand& p);
/// Gamma(k + n) / (k! Gamma(n)) p^n (1 - p)^k, n > 0 real, 0 < p <= 1, k >= 0: the number of failures before n
/// successes.
Tensor nbinom_pmf(const Operand& k, const Operand& n, const Operand& p);
/// log(bernoulli_pmf). Gradient: g / p for p where k is 1, -g / (1 - p) where it is 0.
Tensor bernoulli_logpmf(const Operand& k, const Operand& p);
/// p for k = 1, 1 - p for k = 0; 0 <= p <= 1.
Tensor bernoulli_pmf(const Operand& k, const Operand& p);
/// log(geom_pmf). Gradient: g (1 / p - (k - 1) / (1 - p)) for p.
Tensor geom_logpmf(const Operand& k, const Operand& p);
/// p (1 - p)^(k - 1), 0 < p <= 1, k >= 1: the number of the first success.
Tensor geom_pmf(const Operand& k, const Operand& p);

}  // namespace reel
