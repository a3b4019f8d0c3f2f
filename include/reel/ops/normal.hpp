// The normal distribution: erfcx, the distribution function, its logarithm and its inverse. Floating dtypes; integers
// and booleans compute as float64. Errors are at most 3 units in the last place, and 4 for inverses and float32.
// elementwise() has them too.
#pragma once
#include <reel/api.hpp>
#include <reel/tensor.hpp>

namespace REEL_API reel {

/// exp(x^2) erfc(x), without overflow for x > -26. Gradient: g erfcx_derivative(1, x), which does not cancel.
Tensor erfcx(const Operand& x);
/// The n-th derivative of erfcx: (-2)^n n! exp(x^2) times the n-th repeated integral of erfc (DLMF 7.18). n is an
/// operand of whole numbers from 0 to 250; others give NaN. Gradient: none to n, g erfcx_derivative(n + 1, x) to x.
Tensor erfcx_derivative(const Operand& n, const Operand& x);
/// The distribution function of the standard normal distribution, erfc(-x / sqrt(2)) / 2. Gradient: g times the
/// density.
Tensor ndtr(const Operand& x);
/// log(ndtr(x)), accurate in both tails. Gradient: g density / ndtr(x), accurate for all x.
Tensor log_ndtr(const Operand& x);
/// The inverse of erf: +-inf at +-1, NaN outside. Gradient: g sqrt(pi) / 2 exp(z^2), infinite at the ends.
Tensor erfinv(const Operand& x);
/// The inverse of erfc, accurate down to the smallest number: inf at 0, -inf at 2, NaN outside. Gradient: -g sqrt(pi) /
/// 2 exp(z^2), accurate to the last places, infinite at the ends.
Tensor erfcinv(const Operand& x);
/// The inverse of ndtr: -inf at 0, inf at 1, NaN outside. Gradient: g sqrt(2 pi) exp(z^2 / 2), infinite at the ends.
Tensor ndtri(const Operand& x);

}  // namespace reel

// The functions that have a kernel, with their numbers of operands, as in <reel/ops/pointwise.hpp>.
// clang-format off
#define REEL_NORMAL_FUNCTIONS(F) \
  F(erfcx, 1) F(erfcx_derivative, 2) F(ndtr, 1) F(log_ndtr, 1) F(erfinv, 1) F(erfcinv, 1) F(ndtri, 1)
// clang-format on
