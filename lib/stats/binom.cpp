// The binomial distribution of n trials of probability p.
#include <reel/stats/binom.hpp>

#include "stats/discrete.hpp"

namespace reel::ops {
namespace {

Lane binom_of(bool logarithm, const Lane* x) {
  const Lane n = where(equal(x[1], round(x[1])) && x[1] >= 0 && isfinite(x[1]), round(x[1]), not_a_number);
  const Chance c(x[2]);
  const Count w(x[0], 0, n, 0);
  const Lane p = where(c.end, c.p, 1);
  const Lane y = with_ends(logarithm, c.end, log_binomial(w.k, n - w.k, c.inside, 1 - c.inside),
                           choices(w.k, n - w.k) * power(p, w.k) * power(1 - p, n - w.k));
  return w.finish(y, logarithm ? -infinity : 0);
}

Tensor binom_tail(const char* op, Tail t, const Operand& x, const Operand& n, const Operand& p) {
  const tape::OpScope scope(x);
  const CountOperands numbers(op, {&x, &n, &p}, 0);
  const Tensor& trials = numbers.c.x[1];
  const Tensor count =
      valid_or_nan(logical_and(logical_and(equal(trials, round(trials)), greater_equal(trials, 0)), isfinite(trials)),
                   stop_gradient(round(trials)));
  const Tensor chance = probability_or_nan(numbers.c.x[2]), above = greater_equal(numbers.k, count);
  const Tensor a = where(above, 1, numbers.k + 1), b = where(above, 1, count - numbers.k);
  return numbers.finish(t, above, incomplete_beta(op, opposite(t), a, b, chance));
}

Tensor binom_quantile(const char* op, bool upper, const Operand& q, const Operand& n, const Operand& p) {
  return count_quantile(op, upper ? loops::SpecialFunction::binom_isf : loops::SpecialFunction::binom_ppf, upper,
                        {&q, &n, &p});
}

}  // namespace
}  // namespace reel::ops

REEL_DISCRETE_2(binom)
