// exp, exp2, expm1, sinh, cosh and tanh on a vector. All reduce by x = n ln 2 + r, |r| <= ln 2 / 2, and evaluate
// a minimax polynomial in r. The polynomials are our own Remez fits, weighted by the relative error of the
// result.
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
  static constexpr float lowest = -104.5F, highest = 89.5F;                   // exp underflows below, overflows above
  static constexpr float expm1_highest = 88.73F;                              // here the last power of two overflows
  static constexpr float expm1_lowest = -20;
};
template <>
struct ExpConstants<double> {
  static constexpr double log2_e = 0x1.71547652b82fep+0;
  static constexpr double ln2_high = 0x1.62e42fee00000p-1, ln2_low = 0x1.a39ef35793c76p-33;
  static constexpr double lowest = -746, highest = 711, expm1_highest = 709.8;
  static constexpr double expm1_lowest = -40;
};

template <class T>
struct Reduced {
  Vec<T> n, r;
};
template <class T>
[[gnu::always_inline]] inline Reduced<T> reduce_by_ln2(Vec<T> x) {
  using C = ExpConstants<T>;
  const Vec<T> n = fma(x, C::log2_e, rounder<T>) - rounder<T>;
  return {n, fma(n, -C::ln2_low, fma(n, -C::ln2_high, x))};
}

// (e^r - 1 - r) / r^2, |r| <= ln 2 / 2.
[[gnu::always_inline]] inline Vec<float> expm1_tail(Vec<float> r) {
  return polynomial(r, 0.5F, 0x1.5554b0p-3F, 0x1.5554c8p-5F, 0x1.1227c6p-7F, 0x1.6d7200p-10F);
}
[[gnu::always_inline]] inline Vec<double> expm1_tail(Vec<double> r) {
  return polynomial(r, 0.5, 0x1.555555555555ap-3, 0x1.5555555553a80p-5, 0x1.111111110f0a4p-7, 0x1.6c16c17a34d5cp-10,
                    0x1.a01a01b2cb850p-13, 0x1.a019b2d8a7803p-16, 0x1.71ddf04859bdcp-19, 0x1.2898408e58ca4p-22,
                    0x1.af6d88f3db3b1p-26);
}
// e^r - 1, |r| <= ln 2 / 2.
template <class T>
[[gnu::always_inline]] inline Vec<T> expm1_near_zero(Vec<T> r) {
  return fma(r * r, expm1_tail(r), r);
}

// The odd and the even part of e^r - 1, sinh r and cosh r - 1, with z = r^2. They never cancel, since 0 <= r <= ln 2.
[[gnu::always_inline]] inline Vec<float> sinh_near_zero(Vec<float> r, Vec<float> z) {
  return fma(r * z, polynomial(z, 0x1.55555cp-3F, 0x1.110b18p-7F, 0x1.a576fep-13F), r);
}
[[gnu::always_inline]] inline Vec<double> sinh_near_zero(Vec<double> r, Vec<double> z) {
  return fma(r * z,
             polynomial(z, 0x1.5555555555553p-3, 0x1.1111111111833p-7, 0x1.a01a019e98b4cp-13, 0x1.71de3caa7d83dp-19,
                        0x1.ae60b02193433p-26, 0x1.63f2ae0c79b25p-33),
             r);
}
[[gnu::always_inline]] inline Vec<float> coshm1_near_zero(Vec<float> z) {
  return z * polynomial(z, 0.5F, 0x1.555560p-5F, 0x1.6c0e16p-10F, 0x1.a58334p-16F);
}
[[gnu::always_inline]] inline Vec<double> coshm1_near_zero(Vec<double> z) {
  return z * polynomial(z, 0x1.fffffffffffecp-2, 0x1.5555555556f1cp-5, 0x1.6c16c16956e9dp-10, 0x1.a01a05ec69ffcp-16,
                        0x1.27e198671f62dp-22, 0x1.218bf5976afc6p-29);
}

template <class T>
[[gnu::always_inline]] inline Vec<T> clamp(T low, T high, Vec<T> x) {
  return lesser_of(Vec<T>(high), greater_of(Vec<T>(low), x));  // a NaN x stays NaN
}

template <class T>
[[gnu::always_inline]] inline Vec<T> exp_inline(Vec<T> x) {
  using C = ExpConstants<T>;
  const auto [n, r] = reduce_by_ln2(clamp(C::lowest, C::highest, x));
  return scale(1 + expm1_near_zero(r), n);
}

// For x up to ExpConstants::expm1_highest.
template <class T>
[[gnu::always_inline]] inline Vec<T> expm1_inline(Vec<T> x) {
  using C = ExpConstants<T>;
  const auto [n, r] = reduce_by_ln2(greater_of(Vec<T>(C::expm1_lowest), x));
  const Vec<T> half = exponential_of_two(n - 1);
  return 2 * fma(half, expm1_near_zero(r), half - T(0.5));
}

// e^|x| = 2^n (1 + sinh r + coshm1 r), with n rounded down. w is 4^-n, or a value as negligible.
template <class T>
struct Hyperbolic {
  Vec<T> sinh, coshm1, w, n;
};
template <class T>
[[gnu::always_inline]] inline Hyperbolic<T> hyperbolic(Vec<T> x) {
  using C = ExpConstants<T>;
  using L = Vec<T>;
  const L a = lesser_of(L(C::highest), abs(x));
  const L n = (fma(a, C::log2_e, T(-0.5)) + rounder<T>)-rounder<T>;
  const L r = fma(n, -C::ln2_low, fma(n, -C::ln2_high, a)), z = r * r;
  return {sinh_near_zero(r, z), coshm1_near_zero(z), exponential_of_two(-2 * lesser_of(L(Format<T>::mantissa), n)), n};
}

}  // namespace math

template <class T>
[[gnu::noinline]] Vec<T> exp(Vec<T> x) {
  if constexpr (is_scalar)
    return std::exp(x.v);
  else
    return math::exp_inline(x);
}

template <class T>
[[gnu::noinline]] Vec<T> exp2(Vec<T> x) {
  if constexpr (is_scalar) {
    return std::exp2(x.v);
  } else {
    using F = math::Format<T>;
    constexpr T ln2 = static_cast<T>(0.69314718055994530942);
    const Vec<T> c = math::clamp(T(-F::bias - F::mantissa - 4), T(F::bias + 2), x);
    const Vec<T> n = (c + math::rounder<T>)-math::rounder<T>;
    return math::scale(1 + math::expm1_near_zero((c - n) * ln2), n);
  }
}

template <class T>
[[gnu::noinline]] Vec<T> expm1(Vec<T> x) {
  if constexpr (is_scalar) {
    return std::expm1(x.v);
  } else {
    using C = math::ExpConstants<T>;
    const Vec<T> y = math::expm1_inline(lesser_of(Vec<T>(C::expm1_highest), x));
    return where(abs(x) < std::numeric_limits<T>::epsilon() / 4, x, y);  // keeps -0 and subnormal numbers
  }
}

template <class T>
[[gnu::noinline]] Vec<T> sinh(Vec<T> x) {
  if constexpr (is_scalar) {
    return std::sinh(x.v);
  } else {
    const auto h = math::hyperbolic(x);
    return copysign(math::scale((1 - h.w) + fma(1 + h.w, h.sinh, (1 - h.w) * h.coshm1), h.n - 1), x);
  }
}

template <class T>
[[gnu::noinline]] Vec<T> cosh(Vec<T> x) {
  if constexpr (is_scalar) {
    return std::cosh(x.v);
  } else {
    const auto h = math::hyperbolic(x);
    return math::scale((1 + h.w) + fma(1 - h.w, h.sinh, (1 + h.w) * h.coshm1), h.n - 1);
  }
}

template <class T>
[[gnu::noinline]] Vec<T> tanh(Vec<T> x) {
  if constexpr (is_scalar) {
    return std::tanh(x.v);
  } else {
    using L = Vec<T>;
    const L t = math::expm1_inline(lesser_of(L(64), 2 * abs(x)));
    return copysign(t / (t + 2), x);
  }
}

}  // namespace reel::kernels
