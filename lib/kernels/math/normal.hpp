// Functions of the normal distribution on a vector: erfcx and its derivatives, log_ndtr, and the inverses erfinv,
// erfcinv, ndtri. float is computed in double, except for inverses. The polynomials are our own Chebyshev interpolants.
// Errors are at most 3 ulp, and 4 ulp for inverses and derivatives.
#pragma once
#include "kernels/math/gauss.hpp"
#include "kernels/math/log.hpp"
#include "kernels/math/special.hpp"

namespace reel::kernels {
namespace math {

inline constexpr double root_of_two = 0x1.6a09e667f3bcdp+0, root_of_two_lost = -0x1.bdd3413b26456p-54;
inline constexpr double inverse_root_pi = 0.56418958354775628695;

// (erfcx(x) - 1) / x for |x| <= 1/4
[[gnu::always_inline]] inline Vec<double> erfcx_near_zero(Vec<double> x) {
  return polynomial(x, -0x1.20dd750429b6dp+0, 0x1.ffffffffffea5p-1, -0x1.812746b037811p-1, 0x1.0000000025f6dp-1,
                    -0x1.341f6bc06738fp-2, 0x1.555555097c0f4p-3, -0x1.6023e883a0ddfp-4, 0x1.5555963e8722bp-5,
                    -0x1.3903b868b61d1p-6, 0x1.10f61760a2e23p-7, -0x1.c71cf8a40ff32p-9, 0x1.76d2910a35e7fp-10,
                    -0x1.207b6ba842f7ep-11);
}

// e^(x^2) erfc(x). Beyond 27 it is the asymptotic series. For negative x it is 2 e^(x^2) - erfcx(-x).
[[gnu::noinline]] inline Vec<double> erfcx_double(Vec<double> x) {
  using L = Vec<double>;
  const L a = abs(x);
  const auto near = scaled_erfc(lesser_of(L(27), a));
  L y = near.value + near.lost;
  const auto far = a > 27;
  if (any(far)) {
    const L inverse = 1 / greater_of(L(27), a), z = inverse * inverse;
    const L series = polynomial(z, 1, -0.5, 0.75, -1.875, 6.5625, -29.53125, 162.421875);
    y = where(far, inverse * (inverse_root_pi * series), y);
  }
  const auto negative = x < 0;
  if (any(negative)) {
    const auto e = exp_of_minus_square(where(negative, lesser_of(L(27), a), 0), -1.0);
    y = where(negative, scale(1 + e.m, e.k + 1) - y, y);
  }
  return where(a < 0.25, fma(x, erfcx_near_zero(x), 1), y);
}

// The derivative of erfcx: C(t) / (1 + 2x)^2 with t = (x - 3) / (x + 3); the rounding errors of numerator and
// denominator are carried along. For x < 1/4 it is 2x erfcx(x) - 2 / sqrt(pi), whose terms have one sign or cancel
// little.
[[gnu::noinline]] inline Vec<double> erfcx_slope_double(Vec<double> x) {
  using L = Vec<double>;
  const L a = abs(x), bounded = lesser_of(L(0x1p1000), a), t = (bounded - 3) / (bounded + 3);
  const auto c = compensated_sum(
      -0x1.5505d7303d7d9p+1,
      t * polynomial(t, 0x1.a4cdbfd763eabp-3, 0x1.6320a4dc30a18p-1, -0x1.bb88737fb5390p-1, 0x1.e3417ae5b015bp-2,
                     -0x1.3bd7aad568ed3p-6, -0x1.59dcb84c89378p-3, 0x1.011072b7f6b3ep-3, -0x1.042712ccbe34dp-5,
                     -0x1.450661621b677p-7, 0x1.06a3008e64f7dp-7, 0x1.f0796a163a3c8p-13, -0x1.845094eee1c96p-10,
                     0x1.1414a71c8cae6p-14, 0x1.292d87585a838p-12, -0x1.2e33be99071c4p-17, -0x1.e8d3e6444718ap-15,
                     -0x1.ae3d09e0ddcc6p-19, 0x1.97c39303e0b76p-17, 0x1.521d486f5ac7fp-19, -0x1.376a464fc5e73p-19,
                     -0x1.1770773ddf166p-20, 0x1.711428874a35dp-22, 0x1.591edb967b114p-22, -0x1.a1f522e712939p-26,
                     -0x1.43318ffce0d29p-24, -0x1.aba1d6f010d8ap-29, 0x1.9ee349a05bca7p-27, 0x1.970d0863d0fedp-31,
                     -0x1.100d4dc0d1f5ap-30));
  const L twice = 2 * bounded, sum = 1 + twice, back = sum - twice, lost = (1 - back) + (twice - (sum - back));
  const L q = c.value / sum / sum, y = q + (c.lost / (sum * sum) - 2 * q * (lost / sum));
  const auto direct = x < 0.25;
  return any(direct) ? where(direct, fma(2 * x, erfcx_double(x), -2 * inverse_root_pi), y) : y;
}

// The n-th derivative of erfcx for n >= 2, by y(n+1) = 2x y(n) + 2n y(n-1). Forward recurrence is used where the terms
// have one sign or cancel little. Elsewhere Miller's algorithm runs backward over the quotients y(n) / y(n-1), which
// are negative, from an order so high that the starting value does not matter.
struct ErfcxDerivative {
  static constexpr long double two_over_root_pi = 1.12837916709551257389615890312154517L;

  // Forward recurrence multiplies an error by up to e^(2 x sqrt(2n)).
  static bool upwards(double n, double x) { return x < 0.5 && x * std::sqrt(8 * n) < 6; }
  static double up(int n, double argument) {
    const long double x = argument;
    long double before = std::exp(x * x) * std::erfc(x), y = 2 * x * before - two_over_root_pi;
    for (int k = 1; k < n; ++k) {
      const long double next = 2 * x * y + 2 * k * before;
      before = y, y = next;
    }
    return static_cast<double>(y);
  }
  static double down(int n, double argument) {
    const long double x = argument;
    const double root = std::sqrt(2.0 * n) + 23 / argument;
    long double q = std::sqrt(x * x + static_cast<long double>(root * root)) - x, product = 1;
    for (int k = static_cast<int>(root * root / 2) + 24; k > 0; --k) {
      q = 2 * k / (q + 2 * x);
      if (k <= n) product *= q;
    }
    product *= two_over_root_pi / (2 * x + q);
    return static_cast<double>(n % 2 == 0 ? product : -product);
  }
  double operator()(double order, double x) const {
    constexpr double largest = 250;
    if (!(order >= 2 && order <= largest && order == std::floor(order)) || x != x)
      return std::numeric_limits<double>::quiet_NaN();
    const int n = static_cast<int>(order);
    const double sign = n % 2 == 0 ? 1 : -1;
    if (x > 1e200) return sign * 0.0;
    if (x < -30) return sign * std::numeric_limits<double>::infinity();
    return upwards(order, x) ? up(n, x) : down(n, x);
  }
};

// The inverses of erf and erfc are computed in T itself. With d = erf(z), q = erfc(|z|) and w = -log(q (2 - q)), which
// is -log(1 - d^2): z = d (sqrt(pi) / 2 + w P(w)) up to w = 5, where |d| is 0.9966. Beyond, |z| = s + R(t), s =
// sqrt(-log q) and t = (s - K) / (s + K). P interpolates at the Chebyshev nodes of 0 <= w <= 5, R at those from w = 5
// to the least q. Both are given in powers, of w and t, with an error below a fifth of an ulp, by
// test/special/make_fits.py.
[[gnu::always_inline]] inline Vec<float> erfinv_series(Vec<float> w) {
  return fma(w,
             polynomial(w, 0x1.db29fap-3F, 0x1.7a73eep-7F, -0x1.322d74p-9F, -0x1.07cae4p-13F, 0x1.6da102p-15F,
                        0x1.219c60p-18F, -0x1.121b08p-19F, 0x1.e9bee0p-23F, -0x1.38cc88p-27F),
             0x1.1b4ef6p-25F);
}
[[gnu::always_inline]] inline Vec<double> erfinv_series(Vec<double> w) {
  return fma(w,
             polynomial(w, 0x1.db29fb2fee5e3p-3, 0x1.7a72e72c1f2f2p-7, -0x1.3211025e23154p-9, -0x1.0c86b83f54815p-13,
                        0x1.87014b8b0c17cp-15, 0x1.0f1ef1ac04536p-19, -0x1.0fd175a612578p-20, -0x1.3fa7edd842155p-25,
                        0x1.85cc053891764p-26, 0x1.d4ed4913f0af4p-31, -0x1.46ea280e29675p-31, 0x1.829a298ac8aa1p-36,
                        -0x1.e21f009c642d8p-39, 0x1.6a00d0584d550p-38, -0x1.72d498971cdc8p-40, 0x1.163cd7e051bb8p-43,
                        0x1.6e1c2bb53b6b2p-48, -0x1.703403d0af759p-49, 0x1.49c330190c6dbp-52, -0x1.1beb65c2ed2b7p-56,
                        0x1.95b0e08473b9ep-62),
             0x1.4f38760a41abbp-54);
}
[[gnu::always_inline]] inline Vec<float> erfcinv_less_root(Vec<float> s) {
  return polynomial((s - 3) / (s + 3), -0x1.2415b2p-2F, 0x1.008750p-2F, 0x1.bf6318p-5F, -0x1.02f550p-3F, 0x1.63f286p-3F,
                    -0x1.2af488p-3F, 0x1.73aaccp-4F, -0x1.5c3ddap-6F);
}
[[gnu::always_inline]] inline Vec<double> erfcinv_less_root(Vec<double> s) {
  return polynomial((s - 6) / (s + 6), -0x1.96ea3d757982ep-3, 0x1.dfc763a6aeef3p-3, -0x1.2fd722766b5bfp-4,
                    0x1.8d2a8c9513060p-6, 0x1.9fe77a810147cp-6, -0x1.9f64a84530a4dp-5, 0x1.2aa53a07386a3p-4,
                    -0x1.4fac4531a74b2p-4, 0x1.65cf3747fc42dp-4, -0x1.58deb8feaf123p-4, 0x1.41181b41d7371p-4,
                    -0x1.13cd2deedd887p-4, 0x1.c4351b8dcc50bp-5, -0x1.4c25979e341abp-5, 0x1.b5760a155a445p-6,
                    -0x1.931d403a3d8b9p-7, -0x1.c3836d8a7afabp-10, 0x1.d7b9f9f729caep-7, -0x1.1ee1d0528810cp-6,
                    0x1.17e30e5f638e8p-6, -0x1.0733e9389909bp-5, 0x1.c1f964176acf9p-5, -0x1.7a709795e81d2p-5,
                    0x1.bbf28cfa0c29cp-7, 0x1.d95c7ddda8825p-10);
}

// z with erf(z) = d and erfc(|z|) = q, 0 <= q <= 1. `lower` is sqrt(pi) / 2 rounded down; the series have the rest,
// which is positive, so that the sign of d = -0 is kept.
template <class T>
[[gnu::noinline]] Vec<T> erf_inverse(Vec<T> d, Vec<T> q) {
  using L = Vec<T>;
  constexpr T lower = sizeof(T) == 4 ? T(0x1.c5bf88p-1) : T(0x1.c5bf891b4ef6ap-1);
  const L w = -log(q * (2 - q)), near = fma(d, lower, d * erfinv_series(w));
  const auto far = w > 5;
  if (!any(far)) return near;
  constexpr T largest = sizeof(T) == 4 ? T(10.25) : T(27.35);  // beyond s of the least q
  const L s = lesser_of(L(largest), sqrt(-log(q))), z = s + erfcinv_less_root(s);
  return where(far, copysign(where(q == 0, L(std::numeric_limits<T>::infinity()), z), d), near);
}

// For x < -1 by erfcx, whose logarithm is small beside x^2 / 2. For x > 0 by log1p of the other tail.
[[gnu::noinline]] inline Vec<double> log_ndtr_double(Vec<double> x) {
  using L = Vec<double>;
  constexpr double root_half = 0.70710678118654752440;
  const auto left = x<-1, right = x> 0;
  const L tail = normal_cdf(where(right, -x, x));
  L y = where(right, log1p(-tail), log(where(left | right, 0.5, tail)));
  if (any(left)) y = where(left, log(0.5 * erfcx_double(where(left, -root_half * x, 1))) - 0.5 * (x * x), y);
  return y;
}

}  // namespace math

// Defines a function from its double version; float is converted to double and back.
#define REEL_IN_DOUBLE(name)                                                    \
  template <class T>                                                            \
  [[gnu::always_inline]] inline Vec<T> name(Vec<T> x) {                         \
    if constexpr (std::same_as<T, float>)                                       \
      return math::in_double([](auto d) { return math::name##_double(d); }, x); \
    else                                                                        \
      return math::name##_double(x);                                            \
  }
REEL_IN_DOUBLE(erfcx)
REEL_IN_DOUBLE(log_ndtr)
REEL_IN_DOUBLE(erfcx_slope)
#undef REEL_IN_DOUBLE

template <class T>
[[gnu::always_inline]] inline Vec<T> erfinv(Vec<T> x) {
  return math::erf_inverse(x, 1 - abs(x));
}
template <class T>
[[gnu::always_inline]] inline Vec<T> erfcinv(Vec<T> x) {
  return math::erf_inverse(1 - x, where(x < 1, x, 2 - x));
}
template <class T>
[[gnu::always_inline]] inline Vec<T> ndtri(Vec<T> x) {
  constexpr auto root = static_cast<T>(math::root_of_two);
  constexpr auto lost = static_cast<T>(math::root_of_two - root + math::root_of_two_lost);
  const Vec<T> z = math::erf_inverse(2 * x - 1, 2 * where(x < T(0.5), x, 1 - x));
  return where(abs(z) < 100, fma(z, root, z * lost), z);
}

template <class T>
[[gnu::always_inline]] inline Vec<T> ndtr(Vec<T> x) {
  return normal_cdf(x);
}

// The density over ndtr. Below -50 by the inverse of the asymptotic series of Mills's ratio (DLMF 7.12.1), with an
// error of 4e-17; parts of its derivatives would overflow in the other form.
template <class T>
[[gnu::noinline]] Vec<T> log_ndtr_derivative(Vec<T> x) {
  using L = Vec<T>;
  constexpr double root_half = 0.70710678118654752440, inverse_root_two_pi = 0.39894228040143267794,
                   root_two_over_pi = 0.79788456080286535588;
  const auto right = x > 0, far = x < -50;
  const L above = where(right, x, 0), below = where(right | far, 0, x);
  const L near = where(right, inverse_root_two_pi * exp(-0.5 * (above * above)) / ndtr(above),
                       root_two_over_pi / erfcx(-root_half * below));
  if (!any(far)) return near;
  const L r = 1 / where(far, x, -50), w = r * r;
  return where(far, -x - r * (1 - w * (2 - w * (10 - w * (74 - 706 * w)))), near);
}

// The derivative of an inverse z in a tail, factor erfcx(w) / rest, where rest is the distance from the end of the
// domain. There, where z is infinite, 1 / rest; 0 for the cotangent 0, with which a second derivative reaches z from a
// slope that does not read it.
template <class T>
[[gnu::noinline]] Vec<T> tail_slope(Vec<T> g, double factor, Vec<T> w, Vec<T> z, Vec<T> rest) {
  const Vec<T> slope = static_cast<T>(factor) * erfcx(w) / rest;
  const auto end = isinf(z);
  return any(end) ? where(end, where(g == 0, 0, 1 / rest), slope) : slope;
}

// The derivative of order n of erfcx, 0 <= n <= 250. Other n give NaN.
template <class T>
[[gnu::noinline]] Vec<T> erfcx_derivative(Vec<T> n, Vec<T> x) {
  const auto first = n == 1, zeroth = n == 0;
  Vec<T> y = std::numeric_limits<T>::quiet_NaN();
  if (!all(first | zeroth))
    y = each([](T order, T a) { return static_cast<T>(math::ErfcxDerivative()(order, a)); }, n, x);
  if (any(zeroth)) y = where(zeroth, erfcx(x), y);
  return any(first) ? where(first, erfcx_slope(x), y) : y;
}

}  // namespace reel::kernels
