// The distributions F of <reel/stats/densities.hpp>, by SciPy's names: F_cdf is the probability of at most x, F_sf that
// of more than x, F_logcdf and F_logsf are their logarithms, F_ppf(p) is the x with F_cdf(x) = p, F_isf(p) that with
// F_sf(x) = p, F_ilogcdf(y) that with F_logcdf(x) = y, and F_ilogsf(y) that with F_logsf(x) = y, also where exp(y)
// underflows.
//
// They are the incomplete gamma and beta functions of <reel/special.hpp>, with their accuracy in both tails; z is
// (x - loc) / scale. The logarithms are those of the same series and continued fractions (DLMF 8.11.4, 8.9.2, 8.17.22):
// neither they nor their derivatives underflow, however far out. They are elementwise and take some microseconds an
// element. Operands, dtypes, errors, ends of the support and NaN are those of <reel/stats/continuous.hpp>.
//
// Derivatives exist to every order, by x and by the parameters. g is the cotangent, pdf the density at x. By loc the
// gradient of a cdf is -g pdf, by scale -g z pdf. By shape parameters it is that of the incomplete function (see
// gammainc and betainc); by the df of t its relative error grows with df, to 1e-16 df. That of F_ppf by a parameter is
// minus that of F_cdf, over pdf. At an end of the support, derivatives of the logarithms by shape parameters may be
// NaN.
//
// For shape parameters, degrees of freedom and numbers n above 1e9 the relative error is some 1e-20 times the
// parameter, and derivatives by it have an absolute error of some 1e-20.
//
// Of a discrete distribution x counts as floor(x), without a gradient. nbinom has gradients by n, binom has none. Its
// quantile F_ppf(q) is the smallest number whose F_cdf, as it is rounded, is at least q; for q = 0 that before the
// first one, for q = 1 the last one, which may be infinite. F_isf(q) is the smallest number whose F_sf, as it is
// rounded, is at most q, without loss where q is small. Neither has a gradient. Those of poisson, binom and nbinom take
// some microseconds an element. For binom with a variance above 1e10, and for nbinom with n (1 - p) above 1e8, the
// quantile is that of the expansion of Cornish and Fisher: its error is below 1e-11 standard deviations, and it may be
// a neighbour of that number. There is no F_ilogcdf or F_ilogsf: where exp(y) underflows, search F_logcdf or F_logsf.
#pragma once
#include <reel/api.hpp>
#include <reel/tensor.hpp>

namespace REEL_API reel {

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

/// gammaincc(x + 1, mu). Gradient: -g pmf(x) for mu.
Tensor poisson_cdf(const Operand& x, const Operand& mu);
/// gammainc(x + 1, mu). Gradient: g pmf(x) for mu.
Tensor poisson_sf(const Operand& x, const Operand& mu);
/// log(poisson_cdf). Gradient: -g exp(logpmf(x) - logcdf(x)) for mu.
Tensor poisson_logcdf(const Operand& x, const Operand& mu);
/// log(poisson_sf). Gradient: g exp(logpmf(x) - logsf(x)) for mu.
Tensor poisson_logsf(const Operand& x, const Operand& mu);
/// The quantile of q: at least 0, or -1 for q = 0.
Tensor poisson_ppf(const Operand& q, const Operand& mu);
/// The quantile of the upper tail: at least 0, or -1 for q = 1.
Tensor poisson_isf(const Operand& q, const Operand& mu);
/// betaincc(x + 1, n - x, p). Gradient: -g n q(x) for p, q being the probability of x for n - 1 trials.
Tensor binom_cdf(const Operand& x, const Operand& n, const Operand& p);
/// betainc(x + 1, n - x, p). Gradient: g n q(x) for p.
Tensor binom_sf(const Operand& x, const Operand& n, const Operand& p);
/// log(binom_cdf). Gradient: -g n q(x) / cdf for p.
Tensor binom_logcdf(const Operand& x, const Operand& n, const Operand& p);
/// log(binom_sf). Gradient: g n q(x) / sf for p.
Tensor binom_logsf(const Operand& x, const Operand& n, const Operand& p);
/// The quantile of q: 0 to n, or -1 for q = 0.
Tensor binom_ppf(const Operand& q, const Operand& n, const Operand& p);
/// The quantile of the upper tail: 0 to n, or -1 for q = 1.
Tensor binom_isf(const Operand& q, const Operand& n, const Operand& p);
/// betainc(n, x + 1, p). Gradient: g p^(n - 1) (1 - p)^x / beta(n, x + 1) for p, for n that of betainc.
Tensor nbinom_cdf(const Operand& x, const Operand& n, const Operand& p);
/// betaincc(n, x + 1, p). Gradients: those of nbinom_cdf with the other sign.
Tensor nbinom_sf(const Operand& x, const Operand& n, const Operand& p);
/// log(nbinom_cdf). Gradients: those of nbinom_cdf over cdf.
Tensor nbinom_logcdf(const Operand& x, const Operand& n, const Operand& p);
/// log(nbinom_sf). Gradients: those of nbinom_sf over sf.
Tensor nbinom_logsf(const Operand& x, const Operand& n, const Operand& p);
/// The quantile of q: at least 0, or -1 for q = 0.
Tensor nbinom_ppf(const Operand& q, const Operand& n, const Operand& p);
/// The quantile of the upper tail: at least 0, or -1 for q = 1.
Tensor nbinom_isf(const Operand& q, const Operand& n, const Operand& p);
/// 1 - p from 0 to 1. Gradient: -g for p.
Tensor bernoulli_cdf(const Operand& x, const Operand& p);
/// p from 0 to 1. Gradient: g for p.
Tensor bernoulli_sf(const Operand& x, const Operand& p);
/// log(bernoulli_cdf). Gradient: -g / (1 - p) from 0 to 1.
Tensor bernoulli_logcdf(const Operand& x, const Operand& p);
/// log(bernoulli_sf). Gradient: g / p from 0 to 1.
Tensor bernoulli_logsf(const Operand& x, const Operand& p);
/// The quantile of q: 0 up to 1 - p, then 1; -1 for q = 0.
Tensor bernoulli_ppf(const Operand& q, const Operand& p);
/// The quantile of the upper tail: 0 from p on, 1 below; -1 for q = 1.
Tensor bernoulli_isf(const Operand& q, const Operand& p);
/// 1 - (1 - p)^x, by expm1 and log1p. Gradient: g x (1 - p)^(x - 1) for p.
Tensor geom_cdf(const Operand& x, const Operand& p);
/// (1 - p)^x. Gradient: -g x (1 - p)^(x - 1) for p.
Tensor geom_sf(const Operand& x, const Operand& p);
/// log(geom_cdf). Gradient: g x (1 - p)^(x - 1) / cdf for p.
Tensor geom_logcdf(const Operand& x, const Operand& p);
/// log(geom_sf). Gradient: -g floor(x) / (1 - p) for p.
Tensor geom_logsf(const Operand& x, const Operand& p);
/// The quantile of q: at least 1, or 0 for q = 0.
Tensor geom_ppf(const Operand& q, const Operand& p);
/// The quantile of the upper tail: at least 1, or 0 for q = 1.
Tensor geom_isf(const Operand& q, const Operand& p);

}  // namespace reel
