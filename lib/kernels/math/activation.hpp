// Activations on a vector that take more than one line of the table. They are computed from e^-|x|, which does not
// overflow, so the limits at +-inf are right.
#pragma once
#include "kernels/math/exp.hpp"

namespace reel::kernels {

// 1 / (1 + e^-x)
template <class T>
[[gnu::noinline]] Vec<T> sigmoid(Vec<T> x) {
  const Vec<T> e = math::exp_inline(-abs(x));
  return where(x < 0, e, 1) / (1 + e);
}

// sigmoid(-|x|)
template <class T>
[[gnu::noinline]] Vec<T> sigmoid_tail(Vec<T> x) {
  const Vec<T> e = math::exp_inline(-abs(x));
  return e / (1 + e);
}
// sigmoid(x), of which logistic_derivative() keeps the digits in the right tail.
template <class T>
[[gnu::always_inline]] inline Vec<T> logistic(Vec<T> x) {
  return sigmoid(x);
}
// The derivative of z = logistic(x): by z, whose distance from 1 has two digits less than the type above 0.99.
template <class T>
[[gnu::always_inline]] inline Vec<T> logistic_derivative(Vec<T> x, Vec<T> z) {
  const Vec<T> by_z = z * (1 - z);
  const auto right = z > 0.99;
  if (!any(right)) return by_z;
  const Vec<T> tail = sigmoid_tail(x);
  return where(right, tail * (1 - tail), by_z);
}
// x within [-bound, bound]; NaN stays.
template <class T>
[[gnu::always_inline]] inline Vec<T> limited(Vec<T> x, double bound) {
  return lesser_of(Vec<T>(bound), greater_of(Vec<T>(-bound), x));
}
// x where exp(-x^2 / 2) is not 0. Here that is right without it; lib/ops/derivatives.hpp differentiates it.
template <class T>
[[gnu::always_inline]] inline Vec<T> bounded(Vec<T> x) {
  return x;
}
// s (1 + x (1 - s)), s = sigmoid(x).
template <class T>
[[gnu::always_inline]] inline Vec<T> silu_derivative(Vec<T> x) {
  const Vec<T> u = limited(x, 800), s = logistic(u);
  return s * (1 + u * (1 - s));
}
// x / z, z = hypot(x, y): 0 at the origin, 1 or -1 for infinite x.
template <class T>
[[gnu::always_inline]] inline Vec<T> over_hypot(Vec<T> x, Vec<T> z) {
  constexpr T infinite = std::numeric_limits<T>::infinity();
  const auto origin = z == 0, odd = origin | (z == infinite);
  if (!any(odd)) return x / z;
  const auto far = isinf(x);
  return where(origin, 0, where(far, sign(x), x)) / where(origin | far, 1, z);
}
// x / z^2, z = hypot(x, y): 0 for infinite z, NaN at the origin.
template <class T>
[[gnu::always_inline]] inline Vec<T> over_square(Vec<T> x, Vec<T> z) {
  const auto far = z == std::numeric_limits<T>::infinity();
  return any(far) ? where(far, 0, x / z / z) : x / z / z;
}
// 1 - x^2, rounded once.
template <class T>
[[gnu::always_inline]] inline Vec<T> one_minus_square(Vec<T> x) {
  return fma_rounded_once(-x, x, Vec<T>(1));
}

// 1 / (1 + x^2). For |x| >= 1e9, where x^2 may overflow, (1 / x)^2 has the same value to the last place.
template <class T>
[[gnu::always_inline]] inline Vec<T> arctan_derivative(Vec<T> x) {
  const Vec<T> near = 1 / (1 + x * x);
  const auto far = abs(x) >= 1e9;
  if (!any(far)) return near;
  const Vec<T> inverse = 1 / x;
  return where(far, inverse * inverse, near);
}

// x sigmoid(x). The power of two is applied last, so that results near underflow (x far below 0) keep their digits.
template <class T>
[[gnu::noinline]] Vec<T> silu(Vec<T> x) {
  using L = Vec<T>;
  const L a = lesser_of(L(8 - math::ExpConstants<T>::lowest), abs(x));  // a e^-a underflows from here on
  const auto [n, r] = math::reduce_by_ln2(-a);
  const L m = math::expm1_near_zero(r);
  return where(x < 0, math::scale(fma(-a, m, -a), n), x) / (1 + math::scale(1 + m, n));
}

// x where x > 0, otherwise alpha (e^x - 1).
template <class T>
[[gnu::always_inline]] inline Vec<T> elu(Vec<T> x, std::type_identity_t<Vec<T>> alpha) {
  return where(x > 0, x, alpha * expm1(x));
}
template <class T>
[[gnu::always_inline]] inline Vec<T> selu(Vec<T> x) {
  return where(x > 0, 1.05070098735548049342 * x, 1.75809934084737685994 * expm1(x));
}

template <class T>
[[gnu::always_inline]] inline Vec<T> softsign(Vec<T> x) {
  const Vec<T> a = abs(x);
  return copysign(where(a < std::numeric_limits<T>::infinity(), a / (1 + a), where(isnan(a), a, 1)), x);
}

}  // namespace reel::kernels
