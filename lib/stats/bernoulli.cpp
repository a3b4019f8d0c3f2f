// The Bernoulli distribution: one trial of probability p.
#include <reel/stats/bernoulli.hpp>

#include "stats/discrete.hpp"

namespace reel::ops {
namespace {

Lane bernoulli_of(bool logarithm, const Lane* x) {
  const Chance c(x[1]);
  const Count w(x[0], 0, 0 * x[0] + 1, 0);
  const LaneMask one = equal(w.k, 1);
  const Lane log_inside = where(one, log(where(one, c.inside, 1)), log1p(-where(one, 0, c.inside)));
  const Lane chance = where(one, c.p, 1 - c.p);
  return w.finish(logarithm ? with_ends(true, c.end, log_inside, chance) : chance, logarithm ? -infinity : 0);
}

Tensor bernoulli_tail(const char* op, Tail t, const Operand& x, const Operand& p) {
  const tape::OpScope scope(x);
  const CountOperands numbers(op, {&x, &p}, 0);
  const Tensor probability = probability_or_nan(numbers.c.x[1]) + 0 * numbers.k, above = greater_equal(numbers.k, 1);
  // Outside, p = 0 or 1 would have an infinite slope.
  const Tensor chance = where(logical_and(logical_or(numbers.below, above), isfinite(probability)), 0.5, probability);
  const Tensor inside = t == Tail::cdf      ? 1 - chance
                        : t == Tail::sf     ? chance
                        : t == Tail::logcdf ? log1p(-chance)
                                            : log(chance);
  return numbers.finish(t, above, inside);
}

Tensor bernoulli_quantile(const char* op, bool upper, const Operand& q, const Operand& p) {
  const tape::OpScope scope(q);
  const CountQuantile c(op, upper, q, p);
  return c.finish(upper, 0, cast_to(upper ? less(c.bound, c.p) : greater(c.bound, 1 - c.p), c.level.dtype()));
}

}  // namespace
}  // namespace reel::ops

REEL_DISCRETE_1(bernoulli)
