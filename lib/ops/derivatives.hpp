// Functions that occur in derivatives of the pointwise table and are not public ops. These forms are part of programs,
// where a tape or a program differentiates them again. The kernels compute each function in one piece, with the same
// bits.
#pragma once
#include <reel/elementwise.hpp>

namespace reel {

// sigmoid(x), with a derivative that keeps the digits of the right tail: an op of the table without a public function.
Lane logistic(const Lane& x);

// sigmoid(-|x|), whose derivative at 0 is that of sigmoid(x).
inline Lane sigmoid_tail(const Lane& x) { return sigmoid(where(x > 0, -x, x)); }

// The derivative of z = logistic(x).
inline Lane logistic_derivative(const Lane& x, const Lane& z) {
  const Lane tail = sigmoid_tail(x);
  return where(z > 0.99, tail * (1 - tail), z * (1 - z));
}
inline Lane limited(const Lane& x, double bound) { return clip(x, -bound, bound); }
// exp(-x^2 / 2) is 0 from there on, and derivatives would be 0 times infinity.
inline Lane bounded(const Lane& x) { return clip(x, -100, 100); }
inline Lane silu_derivative(const Lane& x) {
  const Lane u = limited(x, 800), s = logistic(u);
  return s * (1 + u * (1 - s));
}
inline Lane over_hypot(const Lane& x, const Lane& z) {
  const auto origin = equal(z, 0), far = isinf(x);
  return where(origin, 0, where(far, sign(x), x)) / where(origin || far, 1, z);
}
inline Lane over_square(const Lane& x, const Lane& z) {
  const auto far = isinf(z);
  const Lane divisor = where(far, 1, z);
  return where(far, 0, x) / divisor / divisor;
}
inline Lane one_minus_square(const Lane& x) { return fma(-x, x, 1); }

inline Lane log_ndtr_derivative(const Lane& x) {
  const auto right = x > 0, far = x < -50;
  const Lane above = bounded(where(right, x, 0)), below = where(right || far, 0, x);
  const Lane near = where(right, 0.39894228040143267794 * exp(-0.5 * (above * above)) / ndtr(above),
                          0.79788456080286535588 / erfcx(-0.70710678118654752440 * below));
  const Lane r = 1 / where(far, x, -50), w = r * r;
  return where(far, -x - r * (1 - w * (2 - w * (10 - w * (74 - 706 * w)))), near);
}

inline Lane tail_slope(const Lane& g, double factor, const Lane& w, const Lane& z, const Lane& rest) {
  const auto end = isinf(z);
  const Lane at_end = where(equal(g, 0), 0, 1 / where(end, rest, 1));
  return where(end, at_end, factor * erfcx(w) / where(end, 1, rest));
}

// 1 / (1 + x^2); where x^2 may overflow it is (1 / x)^2 to the last place.
inline Lane arctan_derivative(const Lane& x) {
  const auto far = abs(x) >= 1e9;
  const Lane near = where(far, 0, x), q = 1 / where(far, x, 1 + near * near);
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
using reel::arctan_derivative, reel::bounded, reel::limited, reel::log_ndtr_derivative, reel::log_ratio, reel::logistic,
    reel::logistic_derivative, reel::one_minus_square, reel::over_hypot, reel::over_square, reel::sigmoid_tail,
    reel::silu_derivative, reel::tail_slope;
}

}  // namespace reel
