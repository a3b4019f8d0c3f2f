// log and log1p on a vector, and functions computed from them: softplus, logaddexp, arcsinh, arccosh, arctanh. With x =
// m 2^k, f = m - 1 and s = f / (2 + f): log x = k ln 2 + f - f^2/2 + s (f^2/2 + z R(z)), z = s^2, as in Sun's fdlibm,
// with our own fit R. float needs no division: f - f^2/2 + f^3 P(f).
#pragma once
#include "kernels/math/exp.hpp"

namespace reel::kernels {
namespace math {

// The small terms of log m: f^3 P(f) of a float's f, z R(z) of a double's z. They are far smaller than the sum that
// they are added to, so their rounding errors do not count.
[[gnu::always_inline]] inline Vec<float> log_tail(Vec<float> f) {
  return f * f * f *
         polynomial(f, 0x1.555546p-2F, -0x1.ffffeep-3F, 0x1.99a53ap-3F, -0x1.5562e8p-3F, 0x1.233392p-3F,
                    -0x1.fb436cp-4F, 0x1.e64650p-4F, -0x1.e2e492p-4F, 0x1.1b5186p-4F);
}
[[gnu::always_inline]] inline Vec<double> log_tail(Vec<double> z) {
  return z * polynomial(z, 0x1.5555555555592p-1, 0x1.999999997ff5dp-2, 0x1.24924941de48bp-2, 0x1.c71c521616f29p-3,
                        0x1.74663cb6641bcp-3, 0x1.39a1eaaa087c4p-3, 0x1.2f03c9635dd13p-3);
}

// k ln 2 + log m + d / m. d is of the size of the last place of m; it is read only if With.
template <bool With>
[[gnu::always_inline]] inline Vec<float> log_of(Vec<float> m, Vec<float> k, Vec<float> d) {
  using C = ExpConstants<float>;
  const Vec<float> f = m - 1;
  Vec<float> low = fma(k, C::ln2_low, log_tail(f));
  if constexpr (With) low = fma(d, 1 - f * (1 - f), low);
  return fma(k, C::ln2_high, f + fma(f * f, -0.5F, low));
}
template <bool With>
[[gnu::always_inline]] inline Vec<double> log_of(Vec<double> m, Vec<double> k, Vec<double> d) {
  using C = ExpConstants<double>;
  using L = Vec<double>;
  const L f = m - 1, s = f / (2 + f), h = 0.5 * f * f;
  L low = fma(s, h + log_tail(s * s), k * C::ln2_low);
  if constexpr (With) low = fma(d, 1 - 2 * s * (1 - s), low);
  return fma(k, C::ln2_high, f - (h - low));
}

[[gnu::always_inline]] inline Vec<float> log_of_mantissa(Vec<float> m) {
  const Vec<float> f = m - 1;
  return f + fma(f * f, -0.5F, log_tail(f));
}
[[gnu::always_inline]] inline Vec<double> log_of_mantissa(Vec<double> m) {
  const Vec<double> f = m - 1, s = f / (2 + f), h = 0.5 * f * f;
  return f - (h - s * (h + log_tail(s * s)));
}

// y, with the special results: -inf at 0, NaN below 0, x at infinity and NaN. On AVX-512 the parts that split() returns
// give these results already.
template <class T>
[[gnu::always_inline]] inline Vec<T> log_specials(Vec<T> x, Vec<T> y) {
  if constexpr (instruction_set == InstructionSet::avx512) {
    return y;
  } else {
    using N = std::numeric_limits<T>;
    using L = Vec<T>;
    return where(x > 0, where(x < N::infinity(), y, x), where(x == 0, L(-N::infinity()), L(N::quiet_NaN())));
  }
}

template <class T>
[[gnu::always_inline]] inline Vec<T> log_inline(Vec<T> x) {
  const auto [m, k] = split(x);
  return log_specials(x, log_of<false>(m, k, Vec<T>(0)));
}

// log(1 + x)
template <class T>
[[gnu::always_inline]] inline Vec<T> log1p_inline(Vec<T> x) {
  using N = std::numeric_limits<T>;
  using L = Vec<T>;
  const L u = 1 + x, back = u - 1, lost = (1 - (u - back)) + (x - back);
  const auto [m, k] = split(u);
  const L y = log_of<true>(m, k, lost * exponential_of_two(-lesser_of(L(Format<T>::bias - 1), k)));
  return where(u > 0, where(x < N::infinity(), y, x), where(x == -1, L(-N::infinity()), L(N::quiet_NaN())));
}

// log(1 + x) for 0 <= x <= 1.
template <class T>
[[gnu::always_inline]] inline Vec<T> log1p_of_fraction(Vec<T> x) {
  using L = Vec<T>;
  const L u = 1 + x, lost = x - (u - 1);
  const auto upper = u > static_cast<T>(1.41421356237309504880);
  const L unit = where(upper, L(T(0.5)), L(1));
  return log_of<true>(u * unit, where(upper, L(1), L(0)), lost * unit);
}

}  // namespace math

template <class T>
[[gnu::noinline]] Vec<T> log(Vec<T> x) {
  if constexpr (is_scalar)
    return std::log(x.v);
  else
    return math::log_inline(x);
}

template <class T>
[[gnu::noinline]] Vec<T> log2(Vec<T> x) {
  if constexpr (is_scalar) {
    return std::log2(x.v);
  } else {
    const auto [m, k] = math::split(x);
    return math::log_specials(x, fma(math::log_of_mantissa(m), static_cast<T>(1.4426950408889634074), k));
  }
}

template <class T>
[[gnu::noinline]] Vec<T> log10(Vec<T> x) {
  if constexpr (is_scalar) {
    return std::log10(x.v);
  } else {
    // log10(2) in two parts, so that k times the first is exact.
    constexpr T high = std::same_as<T, float> ? T(0x1.344p-2) : T(0x1.34413508p-2);
    constexpr T low = std::same_as<T, float> ? T(0x1.3509f8p-18) : T(0x1.f79fef311f12bp-34);
    const auto [m, k] = math::split(x);
    return math::log_specials(
        x, fma(k, high, fma(math::log_of_mantissa(m), static_cast<T>(0.43429448190325182765), k * low)));
  }
}

template <class T>
[[gnu::noinline]] Vec<T> log1p(Vec<T> x) {
  if constexpr (is_scalar)
    return std::log1p(x.v);
  else
    return copysign(math::log1p_inline(x), x);  // keeps -0
}

// log(x / (1 - x)), as the logarithm of 1 + (1 - 2 m) / m for the distance m from the nearer end: 1 - 2 m is exact near
// 1/2, where the logarithm is small. The quotient would overflow for subnormal m, which is scaled; 1 - 2 m is 1 there.
template <class T>
[[gnu::noinline]] Vec<T> logit(Vec<T> x) {
  constexpr T least = std::numeric_limits<T>::min(), scale = T(0x1p64), log_of_scale = T(44.361419555836499802);
  const Vec<T> m = lesser_of(x, 1 - x) + 0;  // 0 for -0
  const auto subnormal = m < least;
  const Vec<T> u = where(subnormal, m * scale, m);
  const Vec<T> magnitude = log1p((1 - 2 * u) / u) + where(subnormal, Vec<T>(log_of_scale), Vec<T>(0));
  return where(x < T(0.5), -magnitude, magnitude);
}

namespace math {

// (arctanh(t) - t) / t^3 with w = t^2 <= 1/9, by test/special/make_fits.py.
[[gnu::always_inline]] inline Vec<float> arctanh_rest(Vec<float> w) {
  return polynomial(w, 0x1.555556p-2F, 0x1.9998d2p-3F, 0x1.24c9bep-3F, 0x1.bc7be0p-4F, 0x1.dbef8ep-4F);
}
[[gnu::always_inline]] inline Vec<double> arctanh_rest(Vec<double> w) {
  return polynomial(w, 0x1.5555555555555p-2, 0x1.999999999a418p-3, 0x1.24924923d0cb1p-3, 0x1.c71c7273cd4dcp-4,
                    0x1.745cf03af86e5p-4, 0x1.3b18be9653a85p-4, 0x1.10abbe149f39fp-4, 0x1.eb9d2c9df957ep-5,
                    0x1.683cdca2a27cep-5, 0x1.4b47d0848d30cp-4);
}

}  // namespace math

// log(x / y) for positive numbers. It does not cancel for close x and y. Otherwise it takes the quotient where that is
// in the range of float, with the bits of log_ratio() in lib/ops/derivatives.hpp.
template <class T>
[[gnu::noinline]] Vec<T> log_ratio(Vec<T> x, Vec<T> y) {
  constexpr T high = T(0x1p60), low = 1 / high;
  const auto near = (x <= 4 * y) & (y <= 4 * x);
  const Vec<T> close = log1p(where(near, x - y, 0) / where(near, y, 1));
  if (all(near)) return close;
  const auto safe = (lesser_of(x, y) > low) & (greater_of(x, y) < high);
  const Vec<T> far = log(where(safe, x, 1) / where(safe, y, 1));
  return where(near, close, all(near | safe) ? far : where(safe, far, log(x) - log(y)));
}

// x log(x / y) - x + y, within 4 ulp. With a power of two c, d = x - c y and t = d / (x + c y) it is
// (c log c - c + 1) y + d (log c + t + (t^2 + t^3) arctanh_rest(t^2)). c is the power next to x / y towards 1. Then d
// is exact and no term is negative. Where c leaves the range or c y is inexact, log(x / y) is computed instead.
template <class T>
[[gnu::noinline]] Vec<T> kl_div(Vec<T> x, Vec<T> y) {
  using L = Vec<T>;
  using N = std::numeric_limits<T>;
  constexpr T half = T(0.5), high = sizeof(T) == 8 ? T(0x1p1000) : T(0x1p100), low = 1 / high;
  const auto both = (x > 0) & (y > 0);
  const L u = where(both, x, 1), v = where(both, y, 1);
  const auto above = half * u > v, below = half * v > u;
  auto in_range = !(above | below);
  L center = v, log_c = 0, at_center = 0, quotient = 1;
  if (!all(in_range)) {
    quotient = u / v;
    in_range = in_range | ((quotient > where(u < N::min(), L(T(0.125)), L(low))) & (quotient < high));
    const L power = math::from_bits<T>(math::bits(quotient) & math::Bits<T>(math::bits_of(N::infinity())));
    const L c = where(in_range, where(above, power, where(below, power + power, L(1))), L(1));
    center = where(in_range, c * v, u);
    log_c = math::split(c).k * T(0.69314718055994530942);
    at_center = v * fma(c, log_c, 1 - c);
  }
  const L d = u - center, t = half * d / (u - half * d), w = t * t;
  L z = fma(d, fma(fma(w, t, w), math::arctanh_rest(w), t + log_c), at_center);
  if (!all(in_range)) {
    const auto of_quotient = (quotient > low) & (quotient < high);
    const L apart = log(u) - log(v);
    z = where(in_range, z, fma(u, where(of_quotient, log(where(of_quotient, quotient, 1)), apart) - 1, v));
    z = where(((u > N::max()) | (v > N::max())) & (u != v), L(N::infinity()), z);
  }
  if (all(both)) return z;
  const auto zero = (x == 0) & (y >= 0), number = (x == x) & (y == y);
  return where(both, z, where(zero, y - x, where(number, L(N::infinity()), x + y)));
}

// log(1 + e^x)
template <class T>
[[gnu::noinline]] Vec<T> softplus(Vec<T> x) {
  return greater_of(Vec<T>(0), x) + math::log1p_of_fraction(math::exp_inline(-abs(x)));
}

// log(e^x + e^y). Equal infinities give themselves. Near a zero of the function the error is an ulp of the larger
// operand.
template <class T>
[[gnu::noinline]] Vec<T> logaddexp(Vec<T> x, Vec<T> y) {
  const Vec<T> apart = where(x == y, 0, abs(x - y));
  return where(x > y, x, y) + math::log1p_of_fraction(math::exp_inline(-apart));  // a NaN operand makes `apart` NaN
}

template <class T>
[[gnu::noinline]] Vec<T> arcsinh(Vec<T> x) {
  if constexpr (is_scalar) {
    return std::asinh(x.v);
  } else {
    using L = Vec<T>;
    constexpr T large = std::same_as<T, float> ? T(0x1p13) : T(0x1p28);  // log(2 x) absorbs 1 / (4 x^2)
    constexpr T ln2 = static_cast<T>(0.69314718055994530942);
    const L a = abs(x), s = a * a;
    const auto far = a > large;
    const L y = math::log1p_inline(where(far, a - 1, a + s / (1 + sqrt(1 + s))));
    return copysign(y + where(far, L(ln2), L(0)), x);
  }
}

template <class T>
[[gnu::noinline]] Vec<T> arccosh(Vec<T> x) {
  if constexpr (is_scalar) {
    return std::acosh(x.v);
  } else {
    using L = Vec<T>;
    constexpr T large = std::same_as<T, float> ? T(0x1p13) : T(0x1p28);
    constexpr T ln2 = static_cast<T>(0.69314718055994530942);
    const L t = x - 1;
    const auto far = x > large;
    const L y = math::log1p_inline(where(far, t, t + sqrt(t * (t + 2))));
    return where(x >= 1, y + where(far, L(ln2), L(0)), L(std::numeric_limits<T>::quiet_NaN()));
  }
}

template <class T>
[[gnu::noinline]] Vec<T> arctanh(Vec<T> x) {
  if constexpr (is_scalar) {
    return std::atanh(x.v);
  } else {
    const Vec<T> a = abs(x);
    return copysign(0.5 * math::log1p_inline(2 * a / (1 - a)), x);
  }
}

}  // namespace reel::kernels
