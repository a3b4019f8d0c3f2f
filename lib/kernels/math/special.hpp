// lgamma, digamma and polygamma on a vector. float is computed in double. Errors are at most 3 ulp, or 1e-15 absolute
// near the zeros of lgamma and digamma. At poles lgamma is +inf; digamma is -inf at +-0 and NaN at the negative
// integers; polygamma of order n >= 1 is (-1)^(n+1) inf at 0 and the negative integers.
#pragma once
#include "core/system/math.hpp"
#include "kernels/math/basic.hpp"
#include "kernels/math/log.hpp"

namespace reel::kernels {
namespace math {

// f, a function of a vector of doubles, on a vector of floats.
template <class F>
[[gnu::noinline]] Vec<float> in_double(F f, Vec<float> x) {
  using D = Vec<double>;
  constexpr std::ptrdiff_t n = Vec<float>::size;
  alignas(64) float a[static_cast<std::size_t>(n)];
  alignas(64) double b[static_cast<std::size_t>(n)];
  x.store(a);
  for (std::ptrdiff_t i = 0; i < n; ++i) b[i] = a[i];
  for (std::ptrdiff_t i = 0; i < n; i += D::size) f(D::load(b + i)).store(b + i);
  for (std::ptrdiff_t i = 0; i < n; ++i) a[i] = static_cast<float>(b[i]);
  return Vec<float>::load(a);
}

// An argument of digamma and its derivatives, reduced to at least 1: x < 0 by the reflection to 1 - x, 0 <= x < 1 by
// the recurrence to x + 1. y is the reduced argument less 1/2, which the series take. pole is the distance to the
// nearest pole.
struct GammaArgument {
  using L = Vec<double>;
  Mask<double> negative, first;
  L y, pole;

  // For x >= 1 the pole is unused. It is set to 1/2, where the functions of it are finite.
  [[gnu::always_inline]] static GammaArgument of(L x) {
    const auto negative = x < 0, first = (x >= 0) & (x < 1);
    return {negative, first, where(negative, 0.5 - x, where(first, x + 0.5, x - 0.5)),
            where(negative, x - round(x), where(first, x, 0.5))};
  }
};

// digamma(x) = log y + C(t) / y^2, t = (y - 3/4) / (y + 3/4). log(x - 1/2) is so close to digamma(x) that the second
// term is small. Near the zero at 1.46 both terms are small.
[[gnu::noinline]] inline Vec<double> digamma_double(Vec<double> x) {
  using L = Vec<double>;
  using N = std::numeric_limits<double>;
  const auto a = GammaArgument::of(x);
  const L t = (a.y - 0.75) / (a.y + 0.75);
  const L c = horner(t, 0x1.158879c512d43p-5, 0x1.5424a1f6fa7cdp-6, -0x1.26163778189d8p-6, 0x1.ee66a408aac30p-9,
                     0x1.4472396c5f369p-9, -0x1.dec22c048accfp-10, 0x1.13b086e896e42p-10, -0x1.aadc7304ea632p-11,
                     0x1.13250f5755642p-11, -0x1.85909dccc24d4p-12, 0x1.25e8f0baf12dfp-12, -0x1.aedda5faf4ae0p-13,
                     0x1.524da034a2b47p-13, -0x1.0875f5d01bb75p-13, 0x1.a88fe64e4e820p-14, -0x1.67baf37ddc8cep-14,
                     0x1.4470501d71837p-14, -0x1.2778007767a5cp-14, 0x1.cd089e9b298b2p-15, -0x1.08438f27b2697p-15,
                     0x1.784c8ea05878cp-17, -0x1.e21397805f4a5p-20);
  // log y = k ln 2 + log m. All terms but the first are below 1.
  const auto [m, k] = split(a.y);
  const L head = k * ExpConstants<double>::ln2_high,
          tail = fma(k, ExpConstants<double>::ln2_low, log_of_mantissa(m)) + c / (a.y * a.y);
  L y = head + tail;
  if (any(a.negative | a.first)) {
    // Below 1, 1/x is subtracted; below 0, pi cot(pi f) = 1/f - 2f/(1-f^2) - f Q(f^2), f the distance to the pole.
    const L f = a.pole, z = f * f, inverse = 1 / f;
    const auto [one, rest_of_one] = exact_product(inverse, f);
    const L lost = where(abs(inverse) < 1e300, ((1 - one) - rest_of_one) * inverse, 0);
    const L q = polynomial(z, 0x1.4a34cc4a60fa6p+0, 0x1.51322ac7d84a7p-3, 0x1.1c261302448b8p-5, 0x1.0b36af89d1de8p-7,
                           0x1.04b8cd241102fp-9, 0x1.020ab0d6d4786p-11, 0x1.00d8ad542a6f6p-13, 0x1.016dec32aa5b3p-15,
                           0x1.e508cfb69ba22p-18, 0x1.60d94415da8d4p-19);
    const L rest = where(a.negative, fma(f, q, 2 * f / (1 - z)), 0);
    // The two large terms cancel near the zeros, so the rounding error of their difference is added back.
    const L sum = head - inverse, back = sum - head, sum_lost = (head - (sum - back)) - (inverse + back);
    y = where(a.negative | a.first, where(isfinite(inverse), sum + ((tail + rest) + (sum_lost - lost)), -inverse), y);
    y = where(a.negative & (f == 0), N::quiet_NaN(), where(x == 0, -N::infinity(), y));
  }
  return where(x == N::infinity(), x, y);
}

// polygamma(1, x) = G(t) / y with t = (y - 1) / (y + 1). The reflection subtracts it from pi^2 / sin^2(pi f) = 1/f^2 +
// 2(1+f^2)/(1-f^2)^2 + S(f^2).
[[gnu::noinline]] inline Vec<double> trigamma_double(Vec<double> x) {
  using L = Vec<double>;
  const auto a = GammaArgument::of(x);
  const L bounded = lesser_of(L(0x1p60), a.y), t = (bounded - 1) / (bounded + 1);
  const L g = horner(t, 0x1.de9e64df22ef3p-1, 0x1.b232e1d8c1a83p-3, -0x1.23d54f12f04b1p-2, 0x1.c6b94e0dc189dp-3,
                     -0x1.f5efc52046527p-4, 0x1.c1fadcbd72504p-5, -0x1.78d86cf500c90p-6, 0x1.343e6a612cf74p-7,
                     -0x1.de96cbe4d5319p-9, 0x1.6dbf4acda88cap-10, -0x1.1631e4529ceb2p-11, 0x1.97432250d3da2p-13,
                     -0x1.2eff25ea7045ep-14, 0x1.ba5de316d4f09p-16, -0x1.358d17cc210c7p-17, 0x1.96ec6628f1ce6p-19,
                     -0x1.af6eebcbc3e0ap-21, 0x1.3d58a4d86478ep-20, -0x1.3cf5665702de3p-19, 0x1.5c56689e4e496p-19,
                     -0x1.af9d9701e22e6p-20, 0x1.168e86b0dee64p-21, -0x1.1edecb5d69c2bp-24);
  const L y = g / a.y;
  if (!any(a.negative | a.first)) return y;
  const L z = a.pole * a.pole;
  const L unit = where(abs(a.pole) < 0x1p-460, L(0x1p460), L(1)), scaled = a.pole * unit,
          inverse = 1 / (scaled * scaled) * unit * unit;
  const L s = polynomial(z, 0x1.4a34cc4a60fa6p+0, 0x1.f9cb402bc46bdp-2, 0x1.632f97c2dbf9ep-3, 0x1.d39fb32a46963p-5,
                         0x1.254fe890f8f72p-6, 0x1.62ce320b54916p-8, 0x1.a175a596a1609p-10, 0x1.e0811bfcbf2dfp-12,
                         0x1.1261d33a7f9fap-13, 0x1.16d2f59ab1f69p-15, 0x1.ee9583632a3c6p-17);
  const L reflected = inverse + (2 * (1 + z) / ((1 - z) * (1 - z)) + s - y);
  return where(a.negative, reflected, where(a.first, inverse + y, y));
}

// The sum of (a + k)^-s over k >= 0 for a > 0. Terms are added until a is large enough for the Euler-Maclaurin formula.
[[gnu::noinline]] inline long double hurwitz_zeta(int s, long double a) {
  const auto inverse_power = [s](long double x) {
    long double r = 1, b = 1 / x;
    for (int e = s; e != 0; e >>= 1, b *= b)
      if ((e & 1) != 0) r *= b;
    return r;
  };
  long double sum = 0;
  const long double enough = 12 + s;
  for (; a < enough; a += 1) sum += inverse_power(a);
  // B(2j) / (2j)!, j = 1, 2, ...
  constexpr long double coefficients[] = {1.0L / 12,
                                          -1.0L / 720,
                                          1.0L / 30240,
                                          -1.0L / 1209600,
                                          1.0L / 47900160,
                                          -691.0L / 1307674368000,
                                          1.0L / 74724249600,
                                          -3617.0L / 10670622842880000,
                                          43867.0L / 5109094217170944000,
                                          -174611.0L / 802857662698291200000.0L};
  const long double power = inverse_power(a);
  sum += power * (a / (s - 1) + 0.5L);
  long double term = power * s / a;
  for (int j = 0; j < 10; ++j) {
    sum += coefficients[j] * term;
    term *= (s + 2.0L * j + 1) * (s + 2.0L * j + 2) / (a * a);
  }
  return sum;
}

// Polygamma of order 2 and up, in long double, which is extended precision where the machine has it: n! and the powers
// leave the range of double long before their product does. A negative x = f - m is reflected: the sum of (f + k)^-s
// over all integers k, less the terms on the far side.
struct Polygamma {
  double operator()(double order, double x) const {
    constexpr double largest = 1500;
    if (!(order >= 2 && order <= largest && order == std::floor(order)) || x != x ||
        x == -std::numeric_limits<double>::infinity())
      return std::numeric_limits<double>::quiet_NaN();
    const int n = static_cast<int>(order), s = n + 1;
    const double sign = n % 2 == 0 ? -1 : 1;
    if (x <= 0 && x == std::floor(x)) return sign * std::numeric_limits<double>::infinity();
    if (x == std::numeric_limits<double>::infinity()) return sign * 0.0;
    long double zeta = 0;
    if (x > 0) {
      zeta = hurwitz_zeta(s, x);
    } else {
      const long double f = static_cast<long double>(x) - std::nearbyint(static_cast<long double>(x)),
                        parity = s % 2 == 0 ? 1 : -1;
      long double power = 1;
      for (int i = 0; i < s; ++i) power /= f;
      zeta = power + hurwitz_zeta(s, 1 + f) +
             parity * (hurwitz_zeta(s, 1 - f) - hurwitz_zeta(s, 1 - static_cast<long double>(x)));
    }
    for (int i = 2; i <= n; ++i) zeta *= i;
    return sign * static_cast<double>(zeta);
  }
};

}  // namespace math

template <class T>
[[gnu::noinline]] Vec<T> lgamma(Vec<T> x) {
  if constexpr (is_scalar) {
    return os::log_gamma(x.v);
  } else {
    // SLEEF overflows too early. For x this large, x (log x - 1) is exact enough.
    constexpr T far = std::same_as<T, float> ? T(1e30) : T(1e300);
    const Vec<T> y = math::Sleef<T>::lgamma_u10(x);
    const auto large = (x > far) & isfinite(x);
    return any(large) ? where(large, x * (math::log_inline(x) - 1), y) : y;
  }
}

template <class T>
[[gnu::always_inline]] inline Vec<T> digamma(Vec<T> x) {
  if constexpr (std::same_as<T, float>)
    return math::in_double([](auto d) { return math::digamma_double(d); }, x);
  else
    return math::digamma_double(x);
}

// The derivative of order n of digamma, 0 <= n <= 1500. Other n give NaN.
template <class T>
[[gnu::noinline]] Vec<T> polygamma(Vec<T> n, Vec<T> x) {
  const auto first = n == 1, zeroth = n == 0;
  Vec<T> y = std::numeric_limits<T>::quiet_NaN();
  if (!all(first | zeroth)) y = each([](T order, T a) { return static_cast<T>(math::Polygamma()(order, a)); }, n, x);
  if (any(zeroth)) y = where(zeroth, digamma(x), y);
  if (!any(first)) return y;
  if constexpr (std::same_as<T, float>)
    return where(first, math::in_double([](auto d) { return math::trigamma_double(d); }, x), y);
  else
    return where(first, math::trigamma_double(x), y);
}

}  // namespace reel::kernels
