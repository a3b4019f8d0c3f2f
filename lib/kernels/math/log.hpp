// log and log1p on a lane, and what is made of them: softplus, logaddexp, arcsinh, arccosh, arctanh. With x = m 2^k, f = m - 1,
// s = f / (2 + f): log x = k ln 2 + f - f^2/2 + s (f^2/2 + z R(z)), z = s^2 (the arrangement is Sun's fdlibm's, the fit our own);
// float needs no division: f - f^2/2 + f^3 P(f).
#pragma once
#include "kernels/math/exp.hpp"

namespace reel::kernels {
namespace math {

// log(m 2^k) + d / m for |d| of the size of m's last place.
template <bool With, class I>
[[gnu::always_inline]] inline Lane<float, I> log_of(Lane<float, I> m, Lane<float, I> k, Lane<float, I> d) {
  using C = ExpConstants<float>;
  using L = Lane<float, I>;
  const L f = m - 1, z = f * f;
  L p;
  if constexpr (std::same_as<I, isa::avx512>)  // fits of the two ranges of m
    p = polynomial(f, 0x1.555558p-2F, -0x1.000070p-2F, 0x1.9998ccp-3F, -0x1.551b38p-3F, 0x1.24427cp-3F, -0x1.0464d0p-3F, 0x1.e0b3a4p-4F,
                   -0x1.7b0842p-4F, 0x1.3e0140p-5F);
  else
    p = polynomial(f, 0x1.555546p-2F, -0x1.ffffeep-3F, 0x1.99a53ap-3F, -0x1.5562e8p-3F, 0x1.233392p-3F, -0x1.fb436cp-4F, 0x1.e64650p-4F,
                   -0x1.e2e492p-4F, 0x1.1b5186p-4F);
  L low = fma(k, C::ln2_low, f * z * p);
  if constexpr (With) low = fma(d, 1 - f * (1 - f), low);
  return fma(k, C::ln2_high, f + fma(z, -0.5F, low));
}
template <bool With, class I>
[[gnu::always_inline]] inline Lane<double, I> log_of(Lane<double, I> m, Lane<double, I> k, Lane<double, I> d) {
  using C = ExpConstants<double>;
  using L = Lane<double, I>;
  const L f = m - 1, s = f / (2 + f), z = s * s, h = 0.5 * f * f;
  L p;
  if constexpr (std::same_as<I, isa::avx512>)
    p = polynomial(z, 0x1.555555555554fp-1, 0x1.999999999c11ap-2, 0x1.24924921e9883p-2, 0x1.c71c748b50b06p-3, 0x1.745c4bddad93bp-3,
                   0x1.3b35a0937b4a0p-3, 0x1.0dcdaa2c24837p-3, 0x1.1b73b16e5f801p-3);
  else
    p = polynomial(z, 0x1.5555555555592p-1, 0x1.999999997ff5dp-2, 0x1.24924941de48bp-2, 0x1.c71c521616f29p-3, 0x1.74663cb6641bcp-3,
                   0x1.39a1eaaa087c4p-3, 0x1.2f03c9635dd13p-3);
  L low = fma(s, fma(z, p, h), k * C::ln2_low);
  if constexpr (With) low = fma(d, 1 - 2 * s * (1 - s), low);
  return fma(k, C::ln2_high, f - (h - low));
}

// The results at 0 (-inf), below it (NaN), at infinity and NaN; on AVX-512 the parts of x have led there already.
template <class T, class I>
[[gnu::always_inline]] inline Lane<T, I> log_specials(Lane<T, I> x, Lane<T, I> y) {
  if constexpr (std::same_as<I, isa::avx512>) {
    return y;
  } else {
    using N = std::numeric_limits<T>;
    using L = Lane<T, I>;
    return where(x > 0, where(x < N::infinity(), y, x), where(x == 0, L(-N::infinity()), L(N::quiet_NaN())));
  }
}

template <class T, class I>
[[gnu::always_inline]] inline Lane<T, I> log_inline(Lane<T, I> x) {
  const auto [m, k] = split(x);
  return log_specials(x, log_of<false>(m, k, Lane<T, I>(0)));
}

// log(1 + x + low), low far below x.
template <class T, class I>
[[gnu::always_inline]] inline Lane<T, I> log1p_inline(Lane<T, I> x) {
  using N = std::numeric_limits<T>;
  using L = Lane<T, I>;
  const L u = 1 + x, back = u - 1, lost = (1 - (u - back)) + (x - back);
  const auto [m, k] = split(u);
  const L y = log_of<true>(m, k, lost * exponential_of_two(-lesser_of(L(Format<T>::bias - 1), k)));
  return where(u > 0, where(x < N::infinity(), y, x), where(x == -1, L(-N::infinity()), L(N::quiet_NaN())));
}

}  // namespace math

template <class T, class I>
[[gnu::noinline]] Lane<T, I> log(Lane<T, I> x) {
  if constexpr (is_scalar_lane<T, I>)
    return std::log(x.v);
  else
    return math::log_inline(x);
}

template <class T, class I>
[[gnu::noinline]] Lane<T, I> log1p(Lane<T, I> x) {
  if constexpr (is_scalar_lane<T, I>)
    return std::log1p(x.v);
  else
    return copysign(math::log1p_inline(x), x);  // keeps -0
}

}  // namespace reel::kernels
