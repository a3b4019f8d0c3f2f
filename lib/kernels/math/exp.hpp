// exp and its family on a lane: exp, exp2, expm1, sinh, cosh, tanh. One reduction serves all:
// x = n ln 2 + r, |r| <= ln 2 / 2, and a minimax polynomial in r (own Remez fits; weights are the relative error of the
// result).
#pragma once
#include "kernels/math/bits.hpp"

namespace reel::kernels {
namespace math {

template <class T>
struct ExpConstants;
template <>
struct ExpConstants<float> {
  static constexpr float log2_e = 0x1.715476p+0F;
  static constexpr float ln2_high = 0x1.62e4p-1F, ln2_low = 0x1.7f7d1cp-20F;  // n * ln2_high is exact
  static constexpr float lowest = -104.5F, highest = 89.5F;                   // exp is 0 below, infinite above
  static constexpr float expm1_highest = 88.73F;                              // infinite, by the last power of two
  static constexpr float expm1_lowest = -20;
};
template <>
struct ExpConstants<double> {
  static constexpr double log2_e = 0x1.71547652b82fep+0;
  static constexpr double ln2_high = 0x1.62e42fee00000p-1, ln2_low = 0x1.a39ef35793c76p-33;
  static constexpr double lowest = -746, highest = 711, expm1_highest = 709.8;
  static constexpr double expm1_lowest = -40;
};

template <class T, class I>
struct Reduced {
  Lane<T, I> n, r;
};
template <class T, class I>
[[gnu::always_inline]] inline Reduced<T, I> reduce_by_ln2(Lane<T, I> x) {
  using C = ExpConstants<T>;
  const Lane<T, I> n = fma(x, C::log2_e, rounder<T>) - rounder<T>;
  return {n, fma(n, -C::ln2_low, fma(n, -C::ln2_high, x))};
}

// e^r - 1, |r| <= ln 2 / 2.
template <class I>
[[gnu::always_inline]] inline Lane<float, I> expm1_near_zero(Lane<float, I> r) {
  const auto q = polynomial(r, 0.5F, 0x1.5554b0p-3F, 0x1.5554c8p-5F, 0x1.1227c6p-7F, 0x1.6d7200p-10F);
  return fma(r * r, q, r);
}
template <class I>
[[gnu::always_inline]] inline Lane<double, I> expm1_near_zero(Lane<double, I> r) {
  const auto q = polynomial(r, 0.5, 0x1.555555555555ap-3, 0x1.5555555553a80p-5, 0x1.111111110f0a4p-7,
                            0x1.6c16c17a34d5cp-10, 0x1.a01a01b2cb850p-13, 0x1.a019b2d8a7803p-16, 0x1.71ddf04859bdcp-19,
                            0x1.2898408e58ca4p-22, 0x1.af6d88f3db3b1p-26);
  return fma(r * r, q, r);
}

// Odd and even part of e^r - 1: sinh r and cosh r - 1, 0 <= r <= ln 2 so that the two never cancel; z = r^2.
template <class I>
[[gnu::always_inline]] inline Lane<float, I> sinh_near_zero(Lane<float, I> r, Lane<float, I> z) {
  return fma(r * z, polynomial(z, 0x1.55555cp-3F, 0x1.110b18p-7F, 0x1.a576fep-13F), r);
}
template <class I>
[[gnu::always_inline]] inline Lane<double, I> sinh_near_zero(Lane<double, I> r, Lane<double, I> z) {
  return fma(r * z,
             polynomial(z, 0x1.5555555555553p-3, 0x1.1111111111833p-7, 0x1.a01a019e98b4cp-13, 0x1.71de3caa7d83dp-19,
                        0x1.ae60b02193433p-26, 0x1.63f2ae0c79b25p-33),
             r);
}
template <class I>
[[gnu::always_inline]] inline Lane<float, I> coshm1_near_zero(Lane<float, I> z) {
  return z * polynomial(z, 0.5F, 0x1.555560p-5F, 0x1.6c0e16p-10F, 0x1.a58334p-16F);
}
template <class I>
[[gnu::always_inline]] inline Lane<double, I> coshm1_near_zero(Lane<double, I> z) {
  return z * polynomial(z, 0x1.fffffffffffecp-2, 0x1.5555555556f1cp-5, 0x1.6c16c16956e9dp-10, 0x1.a01a05ec69ffcp-16,
                        0x1.27e198671f62dp-22, 0x1.218bf5976afc6p-29);
}

template <class T, class I>
[[gnu::always_inline]] inline Lane<T, I> clamp(T low, T high, Lane<T, I> x) {
  return lesser_of(Lane<T, I>(high), greater_of(Lane<T, I>(low), x));  // a NaN x stays
}

template <class T, class I>
[[gnu::always_inline]] inline Lane<T, I> exp_inline(Lane<T, I> x) {
  using C = ExpConstants<T>;
  const auto [n, r] = reduce_by_ln2(clamp(C::lowest, C::highest, x));
  return scale(1 + expm1_near_zero(r), n);
}

// For x up to ExpConstants::expm1_highest.
template <class T, class I>
[[gnu::always_inline]] inline Lane<T, I> expm1_inline(Lane<T, I> x) {
  using C = ExpConstants<T>;
  const auto [n, r] = reduce_by_ln2(greater_of(Lane<T, I>(C::expm1_lowest), x));
  const Lane<T, I> half = exponential_of_two(n - 1);
  return 2 * fma(half, expm1_near_zero(r), half - T(0.5));
}

// e^|x| = 2^n (1 + sinh r + coshm1 r), n rounded down; w = 4^-n, or something as negligible.
template <class T, class I>
struct Hyperbolic {
  Lane<T, I> sinh, coshm1, w, n;
};
template <class T, class I>
[[gnu::always_inline]] inline Hyperbolic<T, I> hyperbolic(Lane<T, I> x) {
  using C = ExpConstants<T>;
  using L = Lane<T, I>;
  const L a = lesser_of(L(C::highest), abs(x));
  const L n = (fma(a, C::log2_e, T(-0.5)) + rounder<T>)-rounder<T>;
  const L r = fma(n, -C::ln2_low, fma(n, -C::ln2_high, a)), z = r * r;
  return {sinh_near_zero(r, z), coshm1_near_zero(z), exponential_of_two(-2 * lesser_of(L(Format<T>::mantissa), n)), n};
}

}  // namespace math

template <class T, class I>
[[gnu::noinline]] Lane<T, I> exp(Lane<T, I> x) {
  if constexpr (is_scalar_lane<T, I>)
    return std::exp(x.v);
  else
    return math::exp_inline(x);
}

template <class T, class I>
[[gnu::noinline]] Lane<T, I> exp2(Lane<T, I> x) {
  if constexpr (is_scalar_lane<T, I>) {
    return std::exp2(x.v);
  } else {
    using F = math::Format<T>;
    constexpr T ln2 = static_cast<T>(0.69314718055994530942);
    const Lane<T, I> c = math::clamp(T(-F::bias - F::mantissa - 4), T(F::bias + 2), x);
    const Lane<T, I> n = (c + math::rounder<T>)-math::rounder<T>;
    return math::scale(1 + math::expm1_near_zero((c - n) * ln2), n);
  }
}

template <class T, class I>
[[gnu::noinline]] Lane<T, I> expm1(Lane<T, I> x) {
  if constexpr (is_scalar_lane<T, I>) {
    return std::expm1(x.v);
  } else {
    using C = math::ExpConstants<T>;
    const Lane<T, I> y = math::expm1_inline(lesser_of(Lane<T, I>(C::expm1_highest), x));
    return where(abs(x) < std::numeric_limits<T>::epsilon() / 4, x, y);  // keeps -0 and subnormal numbers
  }
}

template <class T, class I>
[[gnu::noinline]] Lane<T, I> sinh(Lane<T, I> x) {
  if constexpr (is_scalar_lane<T, I>) {
    return std::sinh(x.v);
  } else {
    const auto h = math::hyperbolic(x);
    return copysign(math::scale((1 - h.w) + fma(1 + h.w, h.sinh, (1 - h.w) * h.coshm1), h.n - 1), x);
  }
}

template <class T, class I>
[[gnu::noinline]] Lane<T, I> cosh(Lane<T, I> x) {
  if constexpr (is_scalar_lane<T, I>) {
    return std::cosh(x.v);
  } else {
    const auto h = math::hyperbolic(x);
    return math::scale((1 + h.w) + fma(1 - h.w, h.sinh, (1 + h.w) * h.coshm1), h.n - 1);
  }
}

template <class T, class I>
[[gnu::noinline]] Lane<T, I> tanh(Lane<T, I> x) {
  if constexpr (is_scalar_lane<T, I>) {
    return std::tanh(x.v);
  } else {
    using L = Lane<T, I>;
    const L t = math::expm1_inline(lesser_of(L(64), 2 * abs(x)));
    return copysign(t / (t + 2), x);
  }
}

}  // namespace reel::kernels
