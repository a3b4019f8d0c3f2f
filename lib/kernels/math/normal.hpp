// Functions of the normal distribution on a vector: erfcx and its derivatives, log_ndtr, and the inverses erfinv,
// erfcinv, ndtri. float is computed in double. The polynomials are our own Chebyshev interpolants. Errors are at most 3
// ulp, and 4 ulp for inverses and derivatives.
#pragma once
#include "kernels/math/gauss.hpp"
#include "kernels/math/log.hpp"
#include "kernels/math/special.hpp"

namespace reel::kernels {
namespace math {

inline constexpr double root_of_two = 0x1.6a09e667f3bcdp+0, root_of_two_lost = -0x1.bdd3413b26456p-54;
inline constexpr double half_root_pi = 0.88622692545275801365, inverse_root_pi = 0.56418958354775628695;

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

// z with erfc(z) = q for 0 <= q <= 1/2: one Halley step on log erfc from a first guess that is within 4e-8. The
// exponent of erfc(z) is taken apart before q is divided by it, so that a subnormal q keeps its digits.
[[gnu::noinline]] inline Vec<double> erfc_inverse(Vec<double> q) {
  using L = Vec<double>;
  const L s = lesser_of(L(27.4), sqrt(-log(q))), t = (s - 3) / (s + 3);
  const L z =
      s + polynomial(t, -0x1.2415b052c0909p-2, 0x1.0087642d55dbfp-2, 0x1.bf45c9c0f2829p-5, -0x1.02d1a6b7806a3p-3,
                     0x1.64f2289c21c84p-3, -0x1.375aacf174e9ap-3, 0x1.d5b16ed3be809p-4, -0x1.00d3315475316p-4,
                     0x1.01863607063e8p-6, 0x1.c178e32c5eb3ap-5, -0x1.762e94b788dc6p-4, 0x1.92698ac65e3cap-5);
  const auto e = exp_of_minus_square(z, 1.0);
  const auto scaled = scaled_erfc(z);
  const L ratio = scale(q, -e.k) / product(scaled, e.m), u = (ratio - 1) / (ratio + 1);
  const L step = 2 * fma(u * u, u * (1.0 / 3), u) * (half_root_pi * scaled.value);
  const L better = z - fma(step * step, inverse_root_pi / scaled.value - z, step);
  return where(q == 0, std::numeric_limits<double>::infinity(), better);
}

// erfinv(x) / x for |x| <= 1/2, z = x^2
[[gnu::always_inline]] inline Vec<double> erfinv_near_zero(Vec<double> z) {
  return polynomial(z, 0x1.c5bf891b4ef6bp-1, 0x1.db29fb2fee5d7p-3, 0x1.053c2c0aba14dp-3, 0x1.62847c46fb587p-4,
                    0x1.0a1318d248b8cp-4, 0x1.a7c84d2449873p-5, 0x1.5eec8bdedfdecp-5, 0x1.2aa3507ab996ep-5,
                    0x1.04a2a340b2863p-5, 0x1.b985ba7a68d80p-6, 0x1.fc1541d480de6p-6, -0x1.d701849e80904p-10,
                    0x1.684a0bb360e20p-4, -0x1.8ecc5fdf62a08p-4, 0x1.ede07d1651b6cp-4);
}

[[gnu::always_inline]] inline Vec<double> erfinv_double(Vec<double> x) {
  const Vec<double> a = abs(x), near = x * erfinv_near_zero(x * x);
  const auto far = !(a <= 0.5);
  return any(far) ? where(far, copysign(erfc_inverse(1 - a), x), near) : near;
}
[[gnu::always_inline]] inline Vec<double> erfcinv_double(Vec<double> x) {
  const Vec<double> d = 1 - x, near = d * erfinv_near_zero(d * d);
  const auto far = !(abs(d) <= 0.5);
  return any(far) ? where(far, copysign(erfc_inverse(where(x < 1, x, 2 - x)), d), near) : near;
}
[[gnu::always_inline]] inline Vec<double> ndtri_double(Vec<double> x) {
  const Vec<double> d = 2 * x - 1, near = d * erfinv_near_zero(d * d);
  const auto far = !(abs(d) <= 0.5);
  const Vec<double> tail = 2 * where(x < 0.5, x, 1 - x);
  const Vec<double> z = any(far) ? where(far, copysign(erfc_inverse(tail), d), near) : near;
  return where(abs(z) < 100, fma(z, root_of_two, z * root_of_two_lost), z);
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
REEL_IN_DOUBLE(erfinv)
REEL_IN_DOUBLE(erfcinv)
REEL_IN_DOUBLE(ndtri)
REEL_IN_DOUBLE(log_ndtr)
REEL_IN_DOUBLE(erfcx_slope)
#undef REEL_IN_DOUBLE

template <class T>
[[gnu::always_inline]] inline Vec<T> ndtr(Vec<T> x) {
  return normal_cdf(x);
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
