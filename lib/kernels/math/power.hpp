// x**y on a vector: e^(y log x) with the logarithm in two parts. Doubles on AVX-512 use a table of 16 logarithms, which
// a single permutation of registers reads. Everything else uses SLEEF. Integers y from -4 to 4 use products.
#pragma once
#include "kernels/math/basic.hpp"
#include "kernels/math/exp.hpp"

namespace reel::kernels {
namespace math {

// For any numbers.
template <class T>
[[gnu::noinline]] Vec<T> power_by_sleef(Vec<T> x, Vec<T> y) {
  using S = Sleef<T>;
  const Vec<T> z = S::pow_u10(x, y);
  // SLEEF overflows a little too early. Such results are recomputed as the square of |x|^(y / 2), or are x itself for y
  // = 1.
  const auto doubtful = isinf(z) & isfinite(x) & isfinite(y) & (x != 0);
  if (!any(doubtful)) return z;
  const Vec<T> root = S::pow_u10(abs(x), y * T(0.5));
  return where(doubtful, where(y == 1, x, copysign(root * root, z)), z);
}

#if XSIMD_WITH_AVX512BW
// Tables by j modulo 16, for j from 12 to 24: 16 / j, and log(j / 16) = high + low, where high is a multiple of 2^-42.
// Entries 9 to 11 are unused.
struct LogTable {
  // clang-format off
  static constexpr double inverse[16] = {
      0x1.0000000000000p+0, 0x1.e1e1e1e1e1e1ep-1, 0x1.c71c71c71c71cp-1, 0x1.af286bca1af28p-1,
      0x1.999999999999ap-1, 0x1.8618618618618p-1, 0x1.745d1745d1746p-1, 0x1.642c8590b2164p-1,
      0x1.5555555555555p-1, 1, 1, 1,
      0x1.5555555555555p+0, 0x1.3b13b13b13b14p+0, 0x1.2492492492492p+0, 0x1.1111111111111p+0};
  static constexpr double high[16] = {
      0, 0x1.f0a30c0118000p-5, 0x1.e27076e2b0000p-4, 0x1.5ff3070a7a000p-3,
      0x1.c8ff7c79aa000p-3, 0x1.1675cababa000p-2, 0x1.4618bc21c6000p-2, 0x1.739d7f6bbd000p-2,
      0x1.9f323ecbfa000p-2, 0, 0, 0,
      -0x1.269621134e000p-2, -0x1.a93ed3c8ae000p-3, -0x1.1178e8227e000p-3, -0x1.08598b59e4000p-4};
  static constexpr double low[16] = {
      0, -0x1.d579e83368e91p-45, -0x1.a2c2c2af0003cp-45, -0x1.8546f183bebf2p-44,
      -0x1.7814f689f8434p-45, 0x1.83c0e731f55c4p-44, -0x1.3e02f484c84ccp-46, 0x1.c7389314feb50p-52,
      -0x1.ecc3525ca2643p-44, 0, 0, 0,
      0x1.1ba1f10522625p-44, 0x1.86a4350562169p-45, -0x1.1e778ce2d07f2p-45, 0x1.7e9dd7009902cp-46};
  // clang-format on
  static constexpr double ln2_high = 0x1.62e42fefa3800p-1, ln2_low = 0x1.ef35793c76730p-45;  // split as log(j / 16) is
};

[[gnu::always_inline]] inline __m512d looked_up(const double (&table)[16], __m512i index) {
  return _mm512_permutex2var_pd(_mm512_loadu_pd(table), index, _mm512_loadu_pd(table + 8));
}

// log x = high + low for normal x > 0, with a relative error of 2^-61.5. With x = m 2^k, 3/4 <= m < 3/2, c = j / 16
// near m and r = m / c - 1, |r| < 0.042: log x = k ln 2 + log c + r - r^2 / 2 + r^3 P(r). The scheme is that of Arm's
// optimized routines, with a shorter table and our own Remez fit P.
template <std::same_as<double> T>
[[gnu::always_inline]] inline Product<T> log_in_two_parts(Vec<T> x) {
  using L = Vec<T>;
  const L m = L(_mm512_getmant_pd(x.v, _MM_MANT_NORM_p75_1p5, _MM_MANT_SIGN_nan));
  const L exponent = L(_mm512_getexp_pd(x.v)), k = where(m < 1, exponent + 1, exponent);
  // The sum has m, rounded to a multiple of 1/16, in its lowest bits. It does not depend on the rounding mode.
  const auto index = _mm512_castpd_si512(
      _mm512_add_round_pd(m.v, _mm512_set1_pd(0x1.8p48), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  const auto product = exact_product(m, L(looked_up(LogTable::inverse, index)));
  const L r = product.high - 1, rest = product.low;
  const L whole = fma(k, LogTable::ln2_high, L(looked_up(LogTable::high, index)));
  const L first = whole + r, half = -0.5 * r, square = half * r, high = first + square;
  const L lost = (whole - first + r) + (first - high + square);
  const L small = fma(k, LogTable::ln2_low, L(looked_up(LogTable::low, index))) + fms(half, r, square);
  const L tail = polynomial(r, -0x1.5555555555556p-1, 0x1.0000000000002p-1, -0x1.9999999997892p-2, 0x1.5555555550e89p-2,
                            -0x1.2492493a74408p-2, 0x1.00000023153fep-2, -0x1.c71ba9a2f1411p-3, 0x1.9998985db9260p-3,
                            -0x1.75f9e9d61a6bbp-3, 0x1.5711aaf511859p-3);
  const L low = fma(square * r, tail, fma(rest * r, r - 1, rest) + small + lost), y = high + low;
  return {y, high - y + low};
}

// By the table where |x| is normal and the result is real and far from overflow and underflow. Other lanes use SLEEF.
template <std::same_as<double> T>
[[gnu::always_inline]] inline Vec<T> power_by_table(Vec<T> x, Vec<T> y) {
  using L = Vec<T>;
  const L a = abs(x);
  const auto ordinary = (a >= std::numeric_limits<double>::min()) & (a < std::numeric_limits<double>::infinity());
  const auto log = log_in_two_parts(where(ordinary, a, L(1)));
  const auto e = exact_product(y, log.high);
  const auto [n, part] = reduce_by_ln2(e.high);
  // e^r = 1 + r + r^2 Q(r). `rest` and `lost` carry the rounding errors of the sums.
  const L rest = fma(y, log.low, e.low), r = part + rest, near = 1 + r;
  const L lost = (r - (near - 1)) + (part - r + rest);
  L z = scale(near + fma(r * r, expm1_tail(r), lost), n);
  auto good = ordinary & (abs(e.high) < 700);
  const auto negative = x < 0;
  if (any(negative)) {
    z = where(negative & (round(0.5 * y) != 0.5 * y), -z, z);
    good = good & ((x > 0) | (round(y) == y));
  }
  return all(good) ? z : where(good, z, power_by_sleef(x, y));
}
#endif

// The power as the sum of two numbers, by exact products, and its inverse where y = -n. `valid`: the power is so far
// from overflow and underflow that the low parts are exact.
template <class T>
struct SmallPower {
  Vec<T> z;
  Mask<T> valid;
};
// The power high + rest, high = product.high + rest.
template <class T>
[[gnu::always_inline]] inline SmallPower<T> inverse_or_power(Product<T> product, Vec<T> rest, Mask<T> inverted) {
  using L = Vec<T>;
  constexpr T least = sizeof(T) == 4 ? T(0x1p-70) : T(0x1p-900), most = 1 / least;
  const L high = product.high + rest, size = abs(high);
  const auto valid = (size >= least) & (size <= most);
  if (!any(inverted)) return {high, valid};
  const L q = 1 / where(valid, high, L(1));
  const Product<T> one = exact_product(high, q);
  const L low = product.high - high + rest, error = (1 - one.high) - one.low - low * q;
  return {where(inverted, q + q * error, high), valid};
}
// x^n, n = |y| = 0, ..., 4.
template <class T>
[[gnu::always_inline]] inline SmallPower<T> power_by_products(Vec<T> x, Vec<T> y) {
  using L = Vec<T>;
  const L n = abs(y);
  const auto two = n >= 2, four = n == 4;
  const L base = where(two, x, L(1));
  const Product<T> square = exact_product(base, base);
  // (a + b) (c + d), a + b = 1 or x^2, c + d = 1, x or x^2.
  const L a = where(two, square.high, L(1)), b = where(two, square.low, L(0));
  const L c = where(four, square.high, where((n == 1) | (n == 3), x, L(1))), d = where(four, square.low, L(0));
  const Product<T> p = exact_product(a, c);
  return inverse_or_power(p, p.low + (a * d + b * c), y < 0);
}
// Whether |y| is 1, 2, 3 or 4.
template <class T>
constexpr bool is_product(T y) {
  return y >= -4 && y <= 4 && y != 0 && y == static_cast<T>(static_cast<int>(y));
}
// The same bits for one exponent of all elements, n = |y|.
template <class T>
[[gnu::always_inline]] inline SmallPower<T> power_by_products(Vec<T> x, T n, Mask<T> inverted) {
  Product<T> p{x, Vec<T>(0)};
  Vec<T> rest = p.low;
  if (n != 1) {
    p = exact_product(x, x);
    rest = p.low;
    if (n == 3) {
      p = exact_product(p.high, x);
      rest = p.low + rest * x;
    } else if (n == 4) {
      const Vec<T> cross = p.high * rest;
      p = exact_product(p.high, p.high);
      rest = p.low + (cross + cross);
    }
  }
  return inverse_or_power(p, rest, inverted);
}

}  // namespace math

// For any numbers.
template <class T>
[[gnu::noinline]] Vec<T> general_power(Vec<T> x, Vec<T> y) {
#if XSIMD_WITH_AVX512BW
  if constexpr (instruction_set == InstructionSet::avx512 && sizeof(T) == 8) return math::power_by_table(x, y);
#endif
  if constexpr (is_scalar)
    return std::pow(x.v, y.v);
  else
    return math::power_by_sleef(x, y);
}

template <class T>
[[gnu::noinline]] Vec<T> power_by_exponents(Vec<T> x, Vec<T> y) {
  const auto small = (abs(y) <= 4) & (round(y) == y);
  if (!any(small)) return general_power(x, y);
  const auto [z, valid] = math::power_by_products(where(small, x, Vec<T>(1)), where(small, y, Vec<T>(1)));
  const auto good = small & valid;
  return all(good) ? z : where(good, z, general_power(x, y));
}

template <class T>
[[gnu::noinline]] Vec<T> power(Vec<T> x, Vec<T> y) {
  const T first = first_element(y);
  if (math::is_product(first) && all(y == first)) {
    const auto [z, valid] = math::power_by_products(x, std::abs(first), y < 0);
    if (all(valid)) return z;
  }
  return power_by_exponents(x, y);
}

}  // namespace reel::kernels
