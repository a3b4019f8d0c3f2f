// Random samples of distributions, with gradients by their parameters, and random choices from a tensor.
//
// F_rvs(generator, shape, ...) draws from the distribution F of <reel/stats/continuous.hpp> or
// <reel/stats/densities.hpp>, by SciPy's names. Samples of continuous distributions are reparametrised: the gradient by
// a parameter is that of the quantile at a fixed probability, to every order. They are quantiles of uniform numbers,
// which are never 0 or 1. The draws have the same bits for every number of threads and every instruction set. Later
// versions may change them, unlike those of random_uniform and its kin: store samples, not seeds.
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
#pragma once
#include <reel/api.hpp>
#include <reel/ops/make.hpp>
#include <reel/tensor.hpp>

namespace REEL_API reel {

/// Normal. Gradient: g for loc, g z for scale, with z = (result - loc) / scale.
Tensor norm_rvs(Generator& generator, const Shape& shape, const Operand& loc = 0, const Operand& scale = 1,
                DType dtype = DType::float64);
/// Exponential. Gradient: g for loc, g z for scale.
Tensor expon_rvs(Generator& generator, const Shape& shape, const Operand& loc = 0, const Operand& scale = 1,
                 DType dtype = DType::float64);
/// Laplace. Gradient: g for loc, g z for scale.
Tensor laplace_rvs(Generator& generator, const Shape& shape, const Operand& loc = 0, const Operand& scale = 1,
                   DType dtype = DType::float64);
/// Logistic. Gradient: g for loc, g z for scale.
Tensor logistic_rvs(Generator& generator, const Shape& shape, const Operand& loc = 0, const Operand& scale = 1,
                    DType dtype = DType::float64);
/// Cauchy. Gradient: g for loc, g z for scale.
Tensor cauchy_rvs(Generator& generator, const Shape& shape, const Operand& loc = 0, const Operand& scale = 1,
                  DType dtype = DType::float64);
/// Gumbel, of maxima. Gradient: g for loc, g z for scale.
Tensor gumbel_r_rvs(Generator& generator, const Shape& shape, const Operand& loc = 0, const Operand& scale = 1,
                    DType dtype = DType::float64);
/// Uniform between loc and loc + scale. Gradient: g for loc, g z for scale.
Tensor uniform_rvs(Generator& generator, const Shape& shape, const Operand& loc = 0, const Operand& scale = 1,
                   DType dtype = DType::float64);
/// Pareto, of shape b. Gradient: g for loc, g z for scale, -g scale z log(z) / b for b.
Tensor pareto_rvs(Generator& generator, const Shape& shape, const Operand& b, const Operand& loc = 0,
                  const Operand& scale = 1, DType dtype = DType::float64);
/// Lognormal, s being the standard deviation of log(z). Gradient: g for loc, g z for scale, g scale z log(z) / s for s.
Tensor lognorm_rvs(Generator& generator, const Shape& shape, const Operand& s, const Operand& loc = 0,
                   const Operand& scale = 1, DType dtype = DType::float64);
/// Weibull, of minima, of shape c. Gradient: g for loc, g z for scale, -g scale z log(z) / c for c.
Tensor weibull_min_rvs(Generator& generator, const Shape& shape, const Operand& c, const Operand& loc = 0,
                       const Operand& scale = 1, DType dtype = DType::float64);
/// Gamma, of shape a. 0 where it underflows, as it may for a < 0.05, with gradient 0. Gradient: g for loc, g z for
/// scale, for a the implicit one.
Tensor gamma_rvs(Generator& generator, const Shape& shape, const Operand& a, const Operand& loc = 0,
                 const Operand& scale = 1, DType dtype = DType::float64);
/// Chi-square: the gamma distribution of shape df / 2 and scale 2. Gradient: as that of gamma_rvs.
Tensor chi2_rvs(Generator& generator, const Shape& shape, const Operand& df, const Operand& loc = 0,
                const Operand& scale = 1, DType dtype = DType::float64);
/// Beta, of shapes a and b, as a quotient of gamma variates. Gradient: g for loc, g z for scale, for a and b the
/// implicit one, which is 0 at samples that are rounded to 0 or 1.
Tensor beta_rvs(Generator& generator, const Shape& shape, const Operand& a, const Operand& b, const Operand& loc = 0,
                const Operand& scale = 1, DType dtype = DType::float64);
/// Student's distribution, a normal variate over the root of a gamma variate. It is infinite where it overflows, as it
/// may for df < 0.05, with gradient 0 for df. Gradient: g for loc, g z for scale, for df the implicit one.
Tensor t_rvs(Generator& generator, const Shape& shape, const Operand& df, const Operand& loc = 0,
             const Operand& scale = 1, DType dtype = DType::float64);
/// Von Mises's distribution (Best and Fisher 1979): an angle between loc - pi and loc + pi, uniform for kappa = 0. NaN
/// for kappa below 0. Above 1e150 it is the normal distribution of variance 1 / kappa, with a relative error of 1 /
/// kappa. Gradient: g for loc, for kappa the implicit one, by that of vonmises_cdf.
Tensor vonmises_rvs(Generator& generator, const Shape& shape, const Operand& kappa, const Operand& loc = 0,
                    DType dtype = DType::float64);
/// The normal distribution between loc + scale a and loc + scale b, a < b, which may be infinite: quantiles by the
/// logarithms of probabilities in the nearer tail, however far out. Gradient: g for loc, g z for scale, for a and b the
/// implicit one.
Tensor truncnorm_rvs(Generator& generator, const Shape& shape, const Operand& a, const Operand& b,
                     const Operand& loc = 0, const Operand& scale = 1, DType dtype = DType::float64);
/// Whole numbers, as float64 by default: quantiles of uniform numbers by F_ppf of <reel/stats/tails.hpp>, without a
/// gradient, in some microseconds an element. mu, n and p as there.
Tensor poisson_rvs(Generator& generator, const Shape& shape, const Operand& mu, DType dtype = DType::float64);
Tensor binom_rvs(Generator& generator, const Shape& shape, const Operand& n, const Operand& p,
                 DType dtype = DType::float64);
Tensor nbinom_rvs(Generator& generator, const Shape& shape, const Operand& n, const Operand& p,
                  DType dtype = DType::float64);
Tensor bernoulli_rvs(Generator& generator, const Shape& shape, const Operand& p, DType dtype = DType::float64);
Tensor geom_rvs(Generator& generator, const Shape& shape, const Operand& p, DType dtype = DType::float64);
/// Dirichlet's distribution: vectors along the last axis of the shape, with sums of 1. alpha broadcasts to the shape;
/// ShapeError for a shape without axes. Gamma samples, normalised by their logarithms: without underflow for small
/// alpha. Gradient: that of these formulas, with the implicit gradient of each logarithm; its expectation is right.
Tensor dirichlet_rvs(Generator& generator, const Shape& shape, const Operand& alpha, DType dtype = DType::float64);
/// Normal vectors along the last axis of the shape [..., n], with this mean, which broadcasts to it, and covariance
/// l l^T, l [..., n, n] lower triangular: mean + l z with z of norm_rvs. The upper triangle of l is not read.
/// ShapeError for other shapes. Gradient: g for mean, the lower triangle of g z^T for l.
Tensor multivariate_normal_rvs(Generator& generator, const Shape& shape, const Operand& mean,
                               const Operand& cholesky_factor, DType dtype = DType::float64);

/// A generator for each key, with a stream of its own: its seed is a hash of the seed and the key. The generator itself
/// does not advance, and what it has drawn does not matter. (JAX's fold_in.)
Generator split(const Generator& generator, std::uint64_t key) noexcept;
/// The parts of x along the axis, in random order. IndexError for an axis that x lacks. Gradient: brought back to the
/// places.
Tensor random_shuffle(Generator& generator, const Operand& x, std::int64_t axis = 0);
/// `count` parts of x along the axis, chosen at random, each any number of times or, without replacement, at most once.
/// ValueError for a count below 0, above what there is without replacement, or above 0 where there is none. Gradient:
/// added at the chosen places.
Tensor random_choice(Generator& generator, const Operand& x, std::int64_t count, bool replace = true,
                     std::int64_t axis = 0);
/// The same, with probabilities in proportion to the weights, floating or whole numbers of shape [parts along the
/// axis]. Without replacement each choice is one among the parts that are left, in proportion to their weights
/// (Efraimidis and Spirakis 2006), in the order of the result. ShapeError for other weights, ValueError where one is
/// negative, NaN or infinite, where all are 0, or where fewer than `count` are above 0 without replacement. The weights
/// have no gradient.
Tensor random_choice(Generator& generator, const Operand& x, std::int64_t count, const Tensor& weights,
                     bool replace = true, std::int64_t axis = 0);

}  // namespace reel
