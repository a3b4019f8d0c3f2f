// The Poisson distribution of mean mu.
#include <reel/stats/poisson.hpp>

#include "stats/discrete.hpp"

namespace reel::ops {
namespace {

Lane poisson_of(bool logarithm, const Lane* x) {
  const Count w(x[0], 0, x[0], 0);
  const Lane mu = where(x[1] >= 0, x[1], not_a_number);
  const LaneMask end = equal(mu, 0);
  const Lane none = where(end, mu, 0);
  const Lane y =
      with_ends(logarithm, end, log_poisson(w.k, where(end, 1, mu)), power(none, w.k) * exp(-none - lgamma(w.k + 1)));
  return w.finish(y, logarithm ? -infinity : 0);
}

Tensor poisson_tail(const char* op, Tail t, const Operand& x, const Operand& mu) {
  const tape::OpScope scope(x);
  const CountOperands p(op, {&x, &mu}, 0);
  return p.finish(t, incomplete_gamma(op, opposite(t), p.k + 1, valid_or_nan(greater_equal(p.c.x[1], 0), p.c.x[1])));
}

Tensor poisson_quantile(const char* op, bool upper, const Operand& q, const Operand& mu) {
  return count_quantile(op, upper ? loops::SpecialFunction::poisson_isf : loops::SpecialFunction::poisson_ppf, upper,
                        {&q, &mu});
}

}  // namespace
}  // namespace reel::ops

REEL_DISCRETE_1(poisson)
