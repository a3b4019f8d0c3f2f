// What the distributions of <reel/stats.hpp> have in common. The header of a distribution F declares, by SciPy's names:
//   F_logpdf(x, ...)  the logarithm of the density; of a discrete distribution F_logpmf(k, ...), of the probability
//   F_pdf(x, ...)     the density; of a discrete distribution F_pmf(k, ...), the probability
//   F_cdf(x, ...)     the probability of at most x
//   F_logcdf(x, ...)  its logarithm
//   F_sf(x, ...)      the probability of more than x
//   F_logsf(x, ...)   its logarithm
//   F_ppf(p, ...)     the quantile: x of cdf p
//   F_isf(p, ...)     x of sf p
//   F_ilogcdf(y, ...) x of logcdf y, also where exp(y) underflows
//   F_ilogsf(y, ...)  x of logsf y, also where exp(y) underflows
//   F_rvs(generator, shape, ...) samples
//   F_kl(...)         the Kullback-Leibler divergence of two members of F, by the parameters of either
// with the shape parameters, loc and scale as operands. Some distributions lack some of them.
#pragma once
#include <reel/api.hpp>
#include <reel/ops/make.hpp>
#include <reel/tensor.hpp>

// ---- Continuous distributions, with z = (x - loc) / scale
//
// Each function is elementwise: operands broadcast (ShapeError otherwise) and are promoted; integers and booleans
// compute as float64, float16 and bfloat16 in float32, rounded once. TypeError for complex operands. All functions are
// differentiable to every order by every operand. None is a difference that cancels: a probability of 1e-300 has all
// its digits in either tail. Densities, and all functions in <reel/stats/continuous.hpp>, are one pass over memory and
// one entry on a tape.
//
// Outside the support, at infinite x too, logpdf is -inf and the others are the constants that they must be, with
// gradient 0. An end of the support where the density is 0 counts as outside for pdf and logpdf. At other ends the
// gradient is that of the formula: it may be infinite, and it is NaN where one factor is 0 and another infinite; for a
// parameter of shape that is exactly 1, log(z) counts as 0 there. NaN where an operand is NaN, where scale or a
// parameter of shape is not above 0, and, of quantiles, where p is outside [0, 1] or y above 0. Quantiles of 0 and 1
// are the ends of the support, with the gradient of the formula there. F_ilogcdf and F_ilogsf compute in float64.
//
// By loc the gradient of a cdf is -g pdf, by scale -g z pdf, g being the cotangent and pdf the density at x. That of
// F_ppf by a parameter is minus that of F_cdf, over pdf.
//
// Of vectors, multivariate_normal and dirichlet, leading axes broadcast, and ShapeError says which do not fit together.

// ---- gamma, chi2, beta and t; of the discrete ones poisson, binom and nbinom
//
// Errors of densities are a few roundings of the value near the mode too, for parameters of any size (Loader 2000);
// with shape parameters and numbers below 10 the logarithm has an absolute error of some 1e-15.
//
// Tails are the incomplete gamma and beta functions of <reel/special.hpp>, with their accuracy in both tails. Their
// logarithms are those of the same series and continued fractions (DLMF 8.11.4, 8.9.2, 8.17.22): neither they nor their
// derivatives underflow, however far out. They take some microseconds an element.
//
// The gradient of a tail by a shape parameter is that of the incomplete function (see gammainc and betainc); by the df
// of t its relative error grows with df, to 1e-16 df. At an end of the support, derivatives of the logarithms by shape
// parameters may be NaN. For shape parameters, degrees of freedom and numbers n above 1e9 the relative error is some
// 1e-20 times the parameter, and derivatives by it have an absolute error of some 1e-20.

// ---- Discrete distributions: poisson, binom, nbinom, bernoulli, geom
//
// Operands, dtypes, errors and NaN as above. k is a number, without a gradient: at one that is not whole or not
// possible the probability is 0, of gradient 0. Parameters outside their range give NaN. At p = 0, p = 1 and mu = 0
// only one number is possible: the logarithm of another's probability is -inf with gradient 0, while probabilities have
// the derivatives of their closed form, from inside the range.
//
// In tails x counts as floor(x), without a gradient. nbinom has gradients by n, binom has none. The quantile F_ppf(q)
// is the smallest number whose F_cdf, as it is rounded, is at least q; for q = 0 that before the first one, for q = 1
// the last one, which may be infinite. F_isf(q) is the smallest number whose F_sf, as it is rounded, is at most q,
// without loss where q is small. Neither has a gradient. Those of poisson, binom and nbinom take some microseconds an
// element. For binom with a variance above 1e10, and for nbinom with n (1 - p) above 1e8, the quantile is that of the
// expansion of Cornish and Fisher: its error is below 1e-11 standard deviations, and it may be a neighbour of that
// number. There is no F_ilogcdf or F_ilogsf: where exp(y) underflows, search F_logcdf or F_logsf.

// ---- Samples
//
// Samples of continuous distributions are reparametrised: the gradient by a parameter is that of the quantile at a
// fixed probability, to every order. They are quantiles of uniform numbers, which are never 0 or 1. The draws have the
// same bits for every number of threads and every instruction set. Later versions may change them, unlike those of
// random_uniform and its kin: store samples, not seeds. Those of discrete distributions are float64 by default and have
// no gradient; they take some microseconds an element.
//
// The distributions gamma, chi2, beta, t, vonmises and dirichlet are drawn by rejection (Marsaglia and Tsang 2000; Best
// and Fisher 1979), in 0.1 to 0.5 microseconds an element. Their gradients are implicit: minus the derivative of the
// distribution function by the parameter, over the density (Figurnov, Mohamed and Mnih 2018). A gradient by a shape
// parameter takes some 10 microseconds an element, of vonmises 20, of t 100; samples without a gradient do not pay for
// it.
//
// Parameters broadcast to `shape` (ShapeError otherwise). The result has the dtype, which must be floating (TypeError);
// float16 and bfloat16 are drawn in float32 and rounded. A sample is NaN where a parameter is out of range. Each
// element has a random number of its own, so that the parameters of one element do not change the samples of others. A
// call that throws does not advance the generator.

// ---- Divergences
//
// The Kullback-Leibler divergence is the expectation under the first distribution of the difference of the log
// densities, in closed form. It is the sum of terms that are at least 0 as far as possible (kl_div), so that nearly
// equal distributions have small divergences of full accuracy; with shape parameters below 10 those of gamma, beta and
// Dirichlet distributions have an absolute error of some 1e-14. At least 0, but for rounding errors.
//
// Elementwise where nothing else is said: operands broadcast. Dtypes and errors as above, but those of beta and
// Dirichlet distributions compute in float64. NaN where an operand is NaN or out of range. Differentiable to every
// order by every operand.
