// The geometric distribution: trials up to the first success of probability p.
#include <reel/stats/geom.hpp>

#include "stats/discrete.hpp"

namespace reel::ops {
namespace {

Lane geom_of(bool logarithm, const Lane* x) {
  const Chance c(where(x[1] > 0, x[1], not_a_number));
  const Count w(x[0], 1, x[0], 1);
  const Lane p = where(c.end, c.p, 1);
  const Lane y = with_ends(logarithm, c.end, log(c.inside) + xlog1py(w.k - 1, -c.inside), p * power(1 - p, w.k - 1));
  return w.finish(y, logarithm ? -infinity : 0);
}

Tensor geom_tail(const char* op, Tail t, const Operand& x, const Operand& p) {
  const tape::OpScope scope(x);
  const CountOperands numbers(op, {&x, &p}, 1);
  const Tensor chance = valid_or_nan(greater(numbers.c.x[1], 0), probability_or_nan(numbers.c.x[1]));
  // The powers of 1 - p have derivatives at p = 1, their logarithms have not.
  const Tensor certain = equal(chance, 1), rest = power(1 - chance, numbers.k);
  const Tensor replaced = t == Tail::logsf ? logical_and(certain, numbers.below) : certain;
  const Tensor logarithm = xlog1py(numbers.k, -where(replaced, 0.5, chance));
  const Tensor inside = t == Tail::cdf      ? where(certain, 1 - rest, -expm1(logarithm))
                        : t == Tail::sf     ? where(certain, rest, exp(logarithm))
                        : t == Tail::logcdf ? where(certain, log1p(-where(certain, rest, 0.5)), log1mexp(-logarithm))
                                            : logarithm;
  return numbers.finish(t, inside);
}

// By the logarithm, which may be one off to rounding.
Tensor geom_quantile(const char* op, bool upper, const Operand& q, const Operand& p) {
  const tape::OpScope scope(q);
  CountQuantile c(op, upper, q, p);
  c.p = valid_or_nan(greater(c.p, 0), c.p);
  const Tensor certain = equal(c.p, 1), rest = where(certain, 0.5, c.p);
  const auto logsf_at = [&](const Tensor& k) { return xlog1py(k, -rest); };
  // Whether k is large enough.
  const auto reaches = [&](const Tensor& k) {
    return upper ? less_equal(exp(logsf_at(k)), c.bound) : greater_equal(-expm1(logsf_at(k)), c.bound);
  };
  const auto falls_short = [&](const Tensor& k) {
    return upper ? greater(exp(logsf_at(k)), c.bound) : less(-expm1(logsf_at(k)), c.bound);
  };
  const Tensor k = maximum(ceil((upper ? log(c.bound) : log1p(-c.bound)) / log1p(-rest)), 1);
  const Tensor near = where(logical_and(greater(k, 1), reaches(k - 1)), k - 1, where(falls_short(k), k + 1, k));
  return c.finish(upper, 1, where(certain, 1, near));
}

}  // namespace
}  // namespace reel::ops

REEL_DISCRETE_1(geom)
