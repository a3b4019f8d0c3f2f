// Trigonometric functions and their inverses on a vector. sin, cos and tan subtract n pi/2, in three parts, by fused
// multiply-adds. That is exact enough for |x| below 2^30 (2^17 in float). Larger arguments, and machines without the
// instruction, use SLEEF.
#pragma once
#include "kernels/math/bits.hpp"
#include "kernels/math/sleef.hpp"

namespace reel::kernels {
namespace math {

template <class T>
struct CircleConstants;
template <>
struct CircleConstants<float> {
  static constexpr float two_over_pi = 0x1.45f306p-1F;
  static constexpr float part1 = 0x1.921fb6p+0F, part2 = -0x1.777a5cp-25F, part3 = -0x1.ee59dap-50F;  // pi/2
  static constexpr float limit = 0x1p17F;
};
template <>
struct CircleConstants<double> {
  static constexpr double two_over_pi = 0x1.45f306dc9c883p-1;
  static constexpr double part1 = 0x1.921fb54442d18p+0, part2 = 0x1.1a62633145c07p-54, part3 = -0x1.f1976b7ed8fbcp-110;
  static constexpr double limit = 0x1p30;
};

// With |r| <= pi/4 and z = r^2: (sin r - r) / r, and cos r - 1 + z/2.
[[gnu::always_inline]] inline Vec<float> sin_tail(Vec<float> z) {
  return z * polynomial(z, -0x1.555546p-3F, 0x1.11074ep-7F, -0x1.9947ecp-13F);
}
[[gnu::always_inline]] inline Vec<double> sin_tail(Vec<double> z) {
  return z * polynomial(z, -0x1.5555555555549p-3, 0x1.111111110f813p-7, -0x1.a01a019c0398ep-13, 0x1.71de356ac1f56p-19,
                        -0x1.ae5e5b83527bbp-26, 0x1.5d8fbf765c108p-33);
}
[[gnu::always_inline]] inline Vec<float> cos_tail(Vec<float> z) {
  return z * z * polynomial(z, 0x1.55554ap-5F, -0x1.6c0c7ap-10F, 0x1.99fcecp-16F);
}
[[gnu::always_inline]] inline Vec<double> cos_tail(Vec<double> z) {
  return z * z *
         polynomial(z, 0x1.555555555554cp-5, -0x1.6c16c16c15137p-10, 0x1.a01a019ca95c3p-16, -0x1.27e4f80303f1dp-22,
                    0x1.1ee9e6b52d12dp-29, -0x1.8fabb20118f76p-37);
}

template <class T>
[[gnu::always_inline]] inline Mask<T> quarter_turns_odd(Bits<T> quadrant) {
  constexpr int top = Format<T>::mantissa == 23 ? 31 : 63;
  return from_bits<T>((quadrant << top) | Bits<T>(bits_of(T(1)))) < Vec<T>(0);
}

// sin and cos of the remainder x - n pi/2. The lowest two bits of `quadrant` are those of n.
template <class T>
struct Circle {
  Vec<T> sin, cos;
  Bits<T> quadrant;

  [[gnu::always_inline]] static Circle of(Vec<T> x) {
    using C = CircleConstants<T>;
    const Vec<T> t = fma(x, C::two_over_pi, rounder<T>), n = t - rounder<T>;
    const Vec<T> r = fma(n, -C::part3, fma(n, -C::part2, fma(n, -C::part1, x))), z = r * r;
    return {fma(r, sin_tail(z), r), fma(z, T(-0.5), 1) + cos_tail(z), bits(t)};
  }
  [[gnu::always_inline]] Mask<T> odd() const { return quarter_turns_odd<T>(quadrant); }
  // x, negated in quadrants 2 and 3, where `ahead` is added to the quadrant first.
  [[gnu::always_inline]] Vec<T> signed_by_quadrant(Vec<T> x, unsigned ahead) const {
    constexpr int top = Format<T>::mantissa == 23 ? 30 : 62;
    using U = typename Format<T>::Unsigned;
    return from_bits<T>(bits(x) ^ (((quadrant + Bits<T>(U(ahead))) << top) & Bits<T>(bits_of(T(-0.0)))));
  }
};

// tan as a quotient sin / cos. The quotient adds rounding errors of its own, so remainder and cosine carry theirs
// along.
template <class T>
[[gnu::always_inline]] inline Vec<T> tan_reduced(Vec<T> x) {
  using C = CircleConstants<T>;
  using L = Vec<T>;
  const L t = fma(x, C::two_over_pi, rounder<T>), n = t - rounder<T>;
  // r + lost = x - n pi/2, by error-free sums. The first difference is exact; the second may cancel.
  const L first = fma(n, -C::part1, x), p = n * C::part2, d = first - p, back = d - first;
  const L tail = ((first - (d - back)) - (p + back)) - fma(n, C::part3, fma(n, C::part2, -p));
  const L r = d + tail, lost = (d - r) + tail;
  const L z = r * r, half = z * T(0.5), w = 1 - half;
  const L s = r + fma(r, sin_tail(z), lost * w);
  const L c = w + (((1 - w) - half) + (cos_tail(z) - lost * r));
  const auto odd = quarter_turns_odd<T>(bits(t));
  return where(odd, -c, s) / where(odd, s, c);
}

// (arctan t - t) / t^3 for |t| <= tan(pi/8), z = t^2. The polynomials are our own Remez fits.
[[gnu::always_inline]] inline Vec<float> arctan_tail(Vec<float> z) {
  return polynomial(z, -0x1.55554ap-2F, 0x1.9991dep-3F, -0x1.23b924p-3F, 0x1.b21adep-4F, -0x1.f2acb4p-5F);
}
[[gnu::always_inline]] inline Vec<double> arctan_tail(Vec<double> z) {
  return polynomial(z, -0x1.555555555553cp-2, 0x1.999999999564fp-3, -0x1.24924922a0744p-3, 0x1.c71c70e10da0ap-4,
                    -0x1.745cf84c66a23p-4, 0x1.3b110f0ff803cp-4, -0x1.10eb455d5748cp-4, 0x1.df08b6f9f4d24p-5,
                    -0x1.9cb4dcf23a63dp-5, 0x1.37891f3396bf6p-5, -0x1.24c15b7526ac1p-6);
}

// y, negated where the sign bit of x is set.
template <class T>
[[gnu::always_inline]] inline Vec<T> times_sign_of(Vec<T> x, Vec<T> y) {
  return from_bits<T>(bits(y) ^ (bits(x) & Bits<T>(bits_of(T(-0.0)))));
}

// The angle of the point (x, y). |x| + |y| must be a normal number. In the first quadrant the angle is k pi/4
// plus the arctangent of a quotient t, |t| <= tan(pi/8): y / x, -x / y or, near the diagonal, (y - x) / (y +
// x).
template <class T>
[[gnu::always_inline]] inline Vec<T> angle(Vec<T> y, Vec<T> x) {
  using C = CircleConstants<T>;
  using L = Vec<T>;
  const L a = abs(x), b = abs(y), difference = b - a, sum = b + a;
  constexpr auto tan_of_eighth = static_cast<T>(0.41421356237309504880);  // tan(pi/8)
  const Mask<T> steep = b > a;
  const Mask<T> diagonal = abs(difference) < tan_of_eighth * sum;
  const L t = where(diagonal, difference, where(steep, -a, b)) / where(diagonal, sum, greater_of(a, b));
  const L z = t * t, arc = fma(t * z, arctan_tail(z), t);
  const L first = where(diagonal, L(1), where(steep, L(2), L(0))), k = where(x < 0, 4 - first, first);
  return times_sign_of(y, fma(k, C::part1 / 2, fma(k, C::part2 / 2, times_sign_of(x, arc))));
}

template <class T>
[[gnu::always_inline]] inline Mask<T> reducible(Vec<T> x) {
  return abs(x) < Vec<T>(CircleConstants<T>::limit);
}

// These take any argument, in any rounding mode.
template <class T>
[[gnu::always_inline]] inline Vec<T> sin_by_sleef(Vec<T> x) {
  return rounds_to_nearest() ? Sleef<T>::sin_u10(x) : each([](T a) { return std::sin(a); }, x);
}
template <class T>
[[gnu::always_inline]] inline Vec<T> cos_by_sleef(Vec<T> x) {
  return rounds_to_nearest() ? Sleef<T>::cos_u10(x) : each([](T a) { return std::cos(a); }, x);
}
template <class T>
[[gnu::always_inline]] inline Vec<T> tan_by_sleef(Vec<T> x) {
  return rounds_to_nearest() ? Sleef<T>::tan_u10(x) : each([](T a) { return std::tan(a); }, x);
}

}  // namespace math

template <class T>
[[gnu::noinline]] Vec<T> sin(Vec<T> x) {
  if constexpr (is_scalar) {
    return std::sin(x.v);
  } else if constexpr (!has_fma) {
    return math::sin_by_sleef(x);
  } else {
    const auto c = math::Circle<T>::of(x);
    const auto near = math::reducible(x);
    const Vec<T> y = where(x == 0, x, c.signed_by_quadrant(where(c.odd(), c.cos, c.sin), 0));  // keeps -0
    return all(near) ? y : where(near, y, math::sin_by_sleef(x));
  }
}

template <class T>
[[gnu::noinline]] Vec<T> cos(Vec<T> x) {
  if constexpr (is_scalar) {
    return std::cos(x.v);
  } else if constexpr (!has_fma) {
    return math::cos_by_sleef(x);
  } else {
    const auto c = math::Circle<T>::of(x);
    const auto near = math::reducible(x);
    const Vec<T> y = c.signed_by_quadrant(where(c.odd(), c.sin, c.cos), 1);
    return all(near) ? y : where(near, y, math::cos_by_sleef(x));
  }
}

namespace math {

// Both at once, by one reduction. The sine of -0 is 0.
template <class T>
struct SinCos {
  Vec<T> sin, cos;
};
template <class T>
[[gnu::always_inline]] inline SinCos<T> sin_and_cos(Vec<T> x) {
  if constexpr (is_scalar || !has_fma) {
    return {kernels::sin(x), kernels::cos(x)};
  } else {
    if (!all(reducible(x))) return {kernels::sin(x), kernels::cos(x)};
    const auto c = Circle<T>::of(x);
    const auto odd = c.odd();
    return {c.signed_by_quadrant(where(odd, c.cos, c.sin), 0), c.signed_by_quadrant(where(odd, c.sin, c.cos), 1)};
  }
}

}  // namespace math

template <class T>
[[gnu::noinline]] Vec<T> tan(Vec<T> x) {
  if constexpr (is_scalar) {
    return std::tan(x.v);
  } else if constexpr (!has_fma) {
    return math::tan_by_sleef(x);
  } else {
    const auto near = math::reducible(x);
    const Vec<T> y = where(x == 0, x, math::tan_reduced(x));
    return all(near) ? y : where(near, y, math::tan_by_sleef(x));
  }
}

template <class T>
[[gnu::noinline]] Vec<T> arcsin(Vec<T> x) {
  if constexpr (is_scalar)
    return std::asin(x.v);
  else
    return math::Sleef<T>::asin_u35(x);
}

template <class T>
[[gnu::noinline]] Vec<T> arccos(Vec<T> x) {
  if constexpr (is_scalar)
    return std::acos(x.v);
  else
    return math::Sleef<T>::acos_u35(x);
}

template <class T>
[[gnu::noinline]] Vec<T> arctan(Vec<T> x) {
  if constexpr (is_scalar)
    return std::atan(x.v);
  else
    return math::Sleef<T>::atan_u35(x);
}

template <class T>
[[gnu::noinline]] Vec<T> arctan2(Vec<T> y, Vec<T> x) {
  if constexpr (is_scalar) {
    return std::atan2(y.v, x.v);
  } else if constexpr (!has_fma) {
    return math::Sleef<T>::atan2_u35(y, x);
  } else {
    using L = Vec<T>;
    constexpr T low = sizeof(T) == 8 ? T(0x1p-1000) : T(0x1p-120);
    const L sum = abs(y) + abs(x);
    const auto good = (sum > low) & (sum < 1 / low);
    if (all(good)) return math::angle(y, x);
    return where(good, math::angle(where(good, y, L(1)), where(good, x, L(1))), math::Sleef<T>::atan2_u35(y, x));
  }
}

}  // namespace reel::kernels
