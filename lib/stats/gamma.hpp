// What the distributions gamma and chi2 share.
#pragma once
#include "stats/gamma_density.hpp"
#include "stats/tails.hpp"

namespace reel::ops {

/// A distribution function of gamma for the shape unit * a and z * unit. `unit` is 1 for gamma, 1/2 for chi2.
Tensor gamma_tail(const char* op, Tail t, const Operand& x, const Operand& a, const Operand& loc, const Operand& scale,
                  double unit);
/// The quantile where such a function is p.
Tensor gamma_quantile(const char* op, Tail t, const Operand& p, const Operand& a, const Operand& loc,
                      const Operand& scale, double unit);

}  // namespace reel::ops
