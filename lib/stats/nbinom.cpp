// The negative binomial distribution: failures before n successes of probability p.
#include <reel/stats/nbinom.hpp>

#include "stats/discrete.hpp"

namespace reel::ops {
namespace {

// n / (n + k) times the binomial probability of n.
Lane nbinom_of(bool logarithm, const Lane* x) {
  const Lane n = where(x[1] > 0, x[1], not_a_number);
  const Chance c(where(x[2] > 0, x[2], not_a_number));
  const Count w(x[0], 0, x[0], 0);
  const Lane p = where(c.end, c.p, 1), part = n / (n + w.k);
  const Lane y = with_ends(logarithm, c.end, log_binomial(n, w.k, c.inside, 1 - c.inside) - log1p(w.k / n),
                           part * choices(n, w.k) * power(p, n) * power(1 - p, w.k));
  return w.finish(y, logarithm ? -infinity : 0);
}

Tensor nbinom_tail(const char* op, Tail t, const Operand& x, const Operand& n, const Operand& p) {
  const tape::OpScope scope(x);
  const CountOperands numbers(op, {&x, &n, &p}, 0);
  const Tensor chance = valid_or_nan(greater(numbers.c.x[2], 0), probability_or_nan(numbers.c.x[2])),
               count = positive_or_nan(numbers.c.x[1]);
  return numbers.finish(t, incomplete_beta(op, t, count, numbers.k + 1, chance));
}

Tensor nbinom_quantile(const char* op, bool upper, const Operand& q, const Operand& n, const Operand& p) {
  return count_quantile(op, upper ? loops::SpecialFunction::nbinom_isf : loops::SpecialFunction::nbinom_ppf, upper,
                        {&q, &n, &p});
}

}  // namespace
}  // namespace reel::ops

REEL_DISCRETE_2(nbinom)
