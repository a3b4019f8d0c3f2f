// Functions that occur in derivatives of the pointwise table and are not public ops. These forms are part of programs,
// where a tape or a program differentiates them again. The kernels compute each function in one piece, with the same
// bits.
#pragma once
#include <reel/elementwise.hpp>

namespace reel {

// sigmoid(-|x|), whose derivative at 0 is that of sigmoid(x).
inline Lane sigmoid_tail(const Lane& x) { return sigmoid(where(x > 0, -x, x)); }

// 1 / (1 + x^2); where x^2 may overflow it is (1 / x)^2 to the last place.
inline Lane arctan_derivative(const Lane& x) {
  const auto far = abs(x) > 1e9;
  const Lane q = 1 / where(far, x, 1 + x * x);
  return q * where(far, q, 1);
}

// log(x / y) for positive numbers. It does not cancel for close x and y. The quotient is formed where it is in the
// range of float: a derivative that is not finite would reach the gradient as 0 times infinity.
inline Lane log_ratio(const Lane& x, const Lane& y) {
  constexpr double high = 0x1p60, low = 1 / high;
  const auto near = logical_and(x <= 4 * y, y <= 4 * x), safe = logical_and(minimum(x, y) > low, maximum(x, y) < high);
  const Lane close = log1p(where(near, x - y, 0) / where(near, y, 1));
  const Lane quotient = where(safe, x, 1) / where(safe, y, 1);
  return where(near, close, where(safe, log(quotient), log(x) - log(y)));
}

// Argument-dependent lookup finds them here for lanes.
namespace detail::lanes {
using reel::arctan_derivative, reel::log_ratio, reel::sigmoid_tail;
}

}  // namespace reel
