// Operands of distributions that are composed of several ops, in the dtype to compute in; values outside the support.
#pragma once
#include <initializer_list>
#include <reel/ops/make.hpp>

#include "ops/elementwise/composed.hpp"
#include "ops/promote.hpp"
#include "stats/constants.hpp"

namespace reel::ops {

struct Converted {
  DType result;  // to which the value is cast at the end
  detail::List<Tensor> x;
  /// TypeError for complex operands. Integers and booleans become float64, float16 and bfloat16 float32.
  Converted(const char* op, std::initializer_list<const Operand*> operands) {
    const Promoted d = promote_operands(op, operands, Accept::real);
    result = d.result;
    for (const Operand* operand : operands) x.push_back(to_tensor(op, *operand, d.wide, "an operand"));
  }
};
/// The shape that all broadcast to. ShapeError naming the op.
inline Shape broadcast_all(const char* op, const detail::List<Tensor>& x) {
  Shape shape;
  for (const Tensor& t : x) shape = broadcast_shapes(op, shape, t.shape());
  return shape;
}

// Parameters, or NaN where they are out of range.
inline Tensor valid_or_nan(const Tensor& valid, const Tensor& x) { return where(valid, x, not_a_number); }
inline Tensor positive_or_nan(const Tensor& x) { return valid_or_nan(greater(x, 0), x); }
inline Tensor probability_or_nan(const Tensor& x) {
  return valid_or_nan(logical_and(greater_equal(x, 0), less_equal(x, 1)), x);
}
inline Lane positive_or_nan(const Lane& x) { return where(x > 0, x, not_a_number); }
inline Lane probability_or_nan(const Lane& p) { return where(p >= 0 && p <= 1, p, not_a_number); }

/// Square matrices whose lower triangle is read. A diagonal element that is not positive becomes NaN: triangular_solve
/// would refuse 0. ShapeError naming the op, also for the largest rank, which leaves no axis for columns.
inline Tensor valid_factor(const char* op, const Tensor& factor, const detail::List<Tensor>& all) {
  for (const Tensor& t : all) require_rank(op, t.rank() + 1);
  const Tensor diagonal_only = eye(factor.shape()[-1], DType::boolean);
  return where(logical_and(diagonal_only, logical_not(greater(factor, 0))), not_a_number, factor);
}

// Distribution functions of a distribution.

enum class Tail { cdf, sf, logcdf, logsf };
constexpr bool is_lower(Tail t) { return t == Tail::cdf || t == Tail::logcdf; }
constexpr bool is_log(Tail t) { return t >= Tail::logcdf; }
// The value where the probability is 0 or 1.
constexpr double none_of(Tail t) { return is_log(t) ? -infinity : 0; }
constexpr double all_of(Tail t) { return is_log(t) ? 0 : 1; }
constexpr double at_bottom(Tail t) { return is_lower(t) ? none_of(t) : all_of(t); }
constexpr double at_top(Tail t) { return is_lower(t) ? all_of(t) : none_of(t); }
constexpr Tail opposite(Tail t) { return static_cast<Tail>(static_cast<int>(t) ^ 1); }

/// The value, or `low` or `high` if x is outside the support on that side. NaN values stay NaN.
inline Tensor beside(const Tensor& below, double low, const Tensor& above, double high, const Tensor& inside) {
  return where(isnan(inside), inside, where(below, low, where(above, high, inside)));
}

/// The value, or -inf if the point is outside the support. NaN values stay NaN.
inline Tensor minus_infinity_outside(const Tensor& value, const Tensor& outside) {
  return where(logical_and(outside, logical_not(isnan(value))), -infinity, value);
}

}  // namespace reel::ops
