#include "stats/discrete.hpp"

#include <reel/ops/parts.hpp>

namespace reel::ops {

Lane with_ends(bool logarithm, const LaneMask& end, const Lane& log_inside, const Lane& at_end) {
  if (!logarithm) return where(end, at_end, exp(log_inside));
  const LaneMask possible = end && at_end > 0;
  const Lane log_at_end = where(possible, log(where(possible, at_end, 1)), where(isnan(at_end), at_end, -infinity));
  return where(end, log_at_end, log_inside);
}

namespace {

// j log(j / n), n = j + k.
Lane times_log_share(const Lane& j, const Lane& k, const Lane& n) {
  const LaneMask small = j < k;
  return xlogy(j, where(small, j / n, 1)) + xlog1py(j, where(small, 0, -k / n));
}

}  // namespace

Lane choices(const Lane& j, const Lane& k) {
  constexpr double logarithm_max = 80;  // of 88, the logarithm of the greatest float
  const Lane n = j + k, positive = where(n > 0, n, 1);
  const Lane logarithm = log_poisson_at_mean(j) + log_poisson_at_mean(k) - log_poisson_at_mean(n) -
                         times_log_share(j, k, positive) - times_log_share(k, j, positive);
  return exp(minimum(logarithm, logarithm_max));
}

CountOperands::CountOperands(const char* op, std::initializer_list<const Operand*> operands, double low)
    : c(op, operands) {
  broadcast_all(op, c.x);
  below = less(c.x[0], low);
  k = stop_gradient(floor(where(logical_or(below, isinf(c.x[0])), low, c.x[0])));
}
Tensor CountOperands::finish(Tail t, const Tensor& above, const Tensor& inside) const {
  const Tensor value = beside(below, at_bottom(t), logical_or(above, equal(c.x[0], infinity)), at_top(t), inside);
  return cast_to(where(isnan(c.x[0]), not_a_number, value), c.result);
}

namespace {

// For a dtype narrower than float64 the least number that is rounded to q: half a unit in the last place below it, of a
// power of 2 a quarter.
Tensor lowest_of(const Tensor& q, DType d) {
  const int bits = d == DType::float32 ? 24 : d == DType::float16 ? 11 : d == DType::bfloat16 ? 8 : 0;
  if (bits == 0) return q;
  const Frexp parts = reel::frexp(q);
  const Tensor below =
      reel::ldexp(where(equal(parts.mantissa, 0.5), full({}, 0.25, q.dtype()), 0.5), parts.exponent - bits);
  return where(logical_or(equal(q, 0), equal(q, 1)), q, q - below);
}
// The greatest number that is rounded to q: half a unit in the last place above it.
Tensor highest_of(const Tensor& q, DType d) {
  const int bits = d == DType::float32 ? 24 : d == DType::float16 ? 11 : d == DType::bfloat16 ? 8 : 0;
  if (bits == 0) return q;
  const Tensor above = reel::ldexp(full({}, 0.5, q.dtype()), reel::frexp(q).exponent - bits);
  return where(logical_or(equal(q, 0), equal(q, 1)), q, q + above);
}
Tensor half_lowest_of(const Tensor& q, DType d) { return is_half(d) ? lowest_of(q, d) : q; }
Tensor half_highest_of(const Tensor& q, DType d) { return is_half(d) ? highest_of(q, d) : q; }

}  // namespace

Tensor count_quantile(const char* op, loops::SpecialFunction f, bool upper,
                      std::initializer_list<const Operand*> operands) {
  const tape::OpScope scope(**operands.begin());
  const Converted c(op, operands);
  Tensor x[3];
  for (std::size_t k = 0; k < c.x.size(); ++k) x[k] = cast_to(stop_gradient(c.x[k]), DType::float64);
  x[0] = upper ? highest_of(x[0], c.result) : lowest_of(x[0], c.result);
  return cast_to(c.x.size() == 2 ? apply_special(op, f, {&x[0], &x[1]}) : apply_special(op, f, {&x[0], &x[1], &x[2]}),
                 c.result);
}

CountQuantile::CountQuantile(const char* op, bool upper, const Operand& q, const Operand& parameter)
    : c(op, {&q, &parameter}) {
  broadcast_all(op, c.x);
  p = probability_or_nan(stop_gradient(c.x[1]));
  level = probability_or_nan(stop_gradient(c.x[0]));
  bound = upper ? half_highest_of(level, c.result) : half_lowest_of(level, c.result);
}
Tensor CountQuantile::finish(bool upper, double first, const Tensor& number) const {
  return cast_to(where(equal(level, upper ? 1 : 0), first - 1, number) + 0 * (level + p), c.result);
}

}  // namespace reel::ops
