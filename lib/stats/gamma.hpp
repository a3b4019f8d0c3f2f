// What the distributions gamma and chi2 share.
#pragma once
#include "special/functions.hpp"
#include "stats/gamma_density.hpp"
#include "stats/tails.hpp"

namespace reel::ops {

/// A distribution function of gamma for the shape unit * a and z * unit. `unit` is 1 for gamma, 1/2 for chi2.
Tensor gamma_tail(const char* op, Tail t, const Operand& x, const Operand& a, const Operand& loc, const Operand& scale,
                  double unit);
/// The quantile of exp(y), by `f`, the inverse of the logarithm of an incomplete gamma function.
Tensor gamma_quantile_of_log(const char* op, loops::SpecialFunction f, std::initializer_list<const Operand*> operands,
                             double unit);

}  // namespace reel::ops
