// Dirichlet's distribution of vectors of sum 1.
// Names, operands, dtypes, errors, support and gradients as <reel/stats/distribution.hpp> says.
#pragma once
#include <reel/stats/distribution.hpp>

namespace REEL_API reel {

/// The log density of the Dirichlet distribution at x [..., n], whose elements are at least 0 and have the sum 1, for
/// parameters alpha [..., n] above 0; leading axes broadcast: sum(xlogy(alpha - 1, x)) + lgamma(sum(alpha)) -
/// sum(lgamma(alpha)). The support includes sums that differ from 1 by less than the square root of the operands'
/// rounding error. Gradient: for x g (alpha - 1) / x, for alpha g (log(x) + digamma(sum(alpha)) - digamma(alpha)).
Tensor dirichlet_logpdf(const Operand& x, const Operand& alpha);

/// Dirichlet's distribution: vectors along the last axis of the shape, with sums of 1. alpha broadcasts to the shape;
/// ShapeError for a shape without axes. Gamma samples, normalised by their logarithms: without underflow for small
/// alpha. Gradient: that of these formulas, with the implicit gradient of each logarithm; its expectation is right.
Tensor dirichlet_rvs(Generator& generator, const Shape& shape, const Operand& alpha, DType dtype = DType::float64);
/// Of Dirichlet distributions with parameters [..., n], over the last axis, without which the result is; leading axes
/// broadcast. ShapeError for other numbers of elements. Gradient: for alpha2 g (digamma(alpha2) - digamma(sum(alpha2))
/// - digamma(alpha1) + digamma(sum(alpha1))).
Tensor dirichlet_kl(const Operand& alpha1, const Operand& alpha2);

}  // namespace reel
