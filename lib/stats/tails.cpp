// Operands and ends of distribution functions and quantiles.
#include "stats/tails.hpp"

#include <reel/special.hpp>

#include "special/functions.hpp"

namespace reel::ops {

using Function = loops::SpecialFunction;

Tensor incomplete_gamma(const char* op, Tail t, const Tensor& a, const Tensor& x) {
  switch (t) {
    case Tail::cdf:
      return gammainc(a, x);
    case Tail::sf:
      return gammaincc(a, x);
    case Tail::logcdf:
      return apply_special(op, Function::log_gammainc, {&a, &x});
    default:
      return apply_special(op, Function::log_gammaincc, {&a, &x});
  }
}
Tensor incomplete_beta(const char* op, Tail t, const Tensor& a, const Tensor& b, const Tensor& x) {
  switch (t) {
    case Tail::cdf:
      return betainc(a, b, x);
    case Tail::sf:
      return betaincc(a, b, x);
    case Tail::logcdf:
      return apply_special(op, Function::log_betainc, {&a, &b, &x});
    default:
      return apply_special(op, Function::log_betaincc, {&a, &b, &x});
  }
}

Tensor invert_incomplete_gamma(const char* op, Tail t, const Tensor& a, const Tensor& p) {
  switch (t) {
    case Tail::cdf:
      return gammaincinv(a, p);
    case Tail::sf:
      return gammainccinv(a, p);
    case Tail::logcdf:
      return apply_special(op, Function::log_gammaincinv, {&a, &p});
    default:
      return apply_special(op, Function::log_gammainccinv, {&a, &p});
  }
}
Tensor invert_incomplete_beta(const char* op, Tail t, const Tensor& a, const Tensor& b, const Tensor& p) {
  switch (t) {
    case Tail::cdf:
      return betaincinv(a, b, p);
    case Tail::sf:
      return betainccinv(a, b, p);
    case Tail::logcdf:
      return apply_special(op, Function::log_betaincinv, {&a, &b, &p});
    default:
      return apply_special(op, Function::log_betainccinv, {&a, &b, &p});
  }
}

Placed::Placed(const char* op, std::initializer_list<const Operand*> operands, double low, double high)
    : c(op, operands) {
  broadcast_all(op, c.x);
  const std::size_t n = c.x.size();
  for (std::size_t k = 1; k + 2 < n; ++k) c.x[k] = positive_or_nan(c.x[k]);
  const Tensor d = c.x[0] - c.x[n - 2], scale = positive_or_nan(c.x[n - 1]), raw = d / scale;
  below = high == infinity && low == -infinity ? less_equal(raw, low) : less(raw, low);
  above = high == infinity ? greater_equal(raw, high) : greater(raw, high);
  z = where(logical_or(below, above), 0.5 * scale, d) / scale;
}
Tensor Placed::finish(Tail t, const Tensor& inside) const {
  return cast_to(beside(below, at_bottom(t), above, at_top(t), inside), c.result);
}

Quantile::Quantile(const char* op, std::initializer_list<const Operand*> operands) : c(op, operands) {
  broadcast_all(op, c.x);
  for (std::size_t k = 1; k + 2 < c.x.size(); ++k) c.x[k] = positive_or_nan(c.x[k]);
}
Tensor Quantile::finish(const Tensor& standard) const {
  const std::size_t n = c.x.size();
  return cast_to(c.x[n - 2] + positive_or_nan(c.x[n - 1]) * standard, c.result);
}

}  // namespace reel::ops
