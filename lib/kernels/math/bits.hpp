// Vectors as bits: exponents and significands are taken apart and put together here, for the other files of this
// folder.
#pragma once
#include "kernels/vec.hpp"

namespace reel::kernels::math {

template <class T>
struct Format;
template <>
struct Format<float> {
  using Unsigned = std::uint32_t;
  static constexpr int mantissa = 23;
  static constexpr int bias = 127;
};
template <>
struct Format<double> {
  using Unsigned = std::uint64_t;
  static constexpr int mantissa = 52;
  static constexpr int bias = 1023;
};

template <class T>
using Bits =
    std::conditional_t<is_scalar, typename Format<T>::Unsigned, xsimd::batch<typename Format<T>::Unsigned, Arch>>;

template <class T>
constexpr typename Format<T>::Unsigned bits_of(T x) {
  return std::bit_cast<typename Format<T>::Unsigned>(x);
}
template <class T>
[[gnu::always_inline]] inline Bits<T> bits(Vec<T> x) {
  return std::bit_cast<Bits<T>>(x.v);
}
template <class T>
[[gnu::always_inline]] inline Vec<T> from_bits(Bits<T> b) {
  return Vec<T>(std::bit_cast<decltype(Vec<T>::v)>(b));
}

// The constant that rounds by addition. x + rounder, for |x| below 2^(mantissa - 1), has x rounded to an integer, half
// to even, in its lowest bits.
template <class T>
inline constexpr T rounder = static_cast<T>(std::uint64_t(3) << (Format<T>::mantissa - 1));

// 2^n for integral n in the range of normal numbers.
template <class T>
[[gnu::always_inline]] inline Vec<T> exponential_of_two(Vec<T> n) {
  return from_bits<T>((bits(n + rounder<T>) << Format<T>::mantissa) + Bits<T>(bits_of(T(1))));
}

// x * 2^n for integral n, rounded once. It underflows and overflows where x * 2^n does. |n| is at most twice the
// largest exponent.
template <class T>
[[gnu::always_inline]] inline Vec<T> scale(Vec<T> x, Vec<T> n) {
#if XSIMD_WITH_AVX512BW
  if constexpr (instruction_set == InstructionSet::avx512 && sizeof(T) == 4) return Vec<T>(_mm512_scalef_ps(x.v, n.v));
  if constexpr (instruction_set == InstructionSet::avx512 && sizeof(T) == 8) return Vec<T>(_mm512_scalef_pd(x.v, n.v));
#endif
  if constexpr (instruction_set != InstructionSet::avx512) {
    const Vec<T> half = (n * T(0.5) + rounder<T>)-rounder<T>;
    return x * exponential_of_two(half) * exponential_of_two(n - half);
  }
}

// x = m * 2^k with m between sqrt(1/2) and sqrt(2), for positive finite x. `log_specials` handles every other x.
template <class T>
struct Split {
  Vec<T> m, k;
};
template <class T>
[[gnu::always_inline]] inline Split<T> split(Vec<T> x) {
  using L = Vec<T>;
  if constexpr (instruction_set == InstructionSet::avx512) {
#if XSIMD_WITH_AVX512BW
    L m, k;
    if constexpr (std::same_as<T, float>) {
      m = L(_mm512_getmant_ps(x.v, _MM_MANT_NORM_1_2, _MM_MANT_SIGN_nan));
      k = L(_mm512_getexp_ps(x.v));
    } else {
      m = L(_mm512_getmant_pd(x.v, _MM_MANT_NORM_1_2, _MM_MANT_SIGN_nan));
      k = L(_mm512_getexp_pd(x.v));
    }
    const auto upper = m > static_cast<T>(1.41421356237309504880);
    return {where(upper, m * T(0.5), m), where(upper, k + 1, k)};
#endif
  } else {
    using F = Format<T>;
    using U = typename F::Unsigned;
    constexpr T up = static_cast<T>(U(1) << (F::mantissa + 1));
    constexpr T tiny = std::numeric_limits<T>::min();
    constexpr U root = bits_of(static_cast<T>(0.70710678118654752440));
    constexpr T integer = static_cast<T>(U(1) << F::mantissa);
    const auto subnormal = x < tiny;
    const Bits<T> b = bits(where(subnormal, x * up, x)) + Bits<T>(static_cast<U>((U(F::bias) << F::mantissa) - root));
    const L m = from_bits<T>((b & Bits<T>((U(1) << F::mantissa) - 1)) + Bits<T>(root));
    const L biased = from_bits<T>((b >> F::mantissa) | Bits<T>(bits_of(integer)));
    return {m, biased - where(subnormal, integer + T(F::bias + F::mantissa + 1), integer + T(F::bias))};
  }
}

// x * y = high + low, exactly unless it underflows. Without a fused multiply-add, each factor is split into halves
// (Dekker).
template <class T>
struct Product {
  Vec<T> high, low;
};
template <class T>
[[gnu::always_inline]] inline Product<T> exact_product(Vec<T> x, Vec<T> y) {
  using L = Vec<T>;
  const L high = x * y;
  if constexpr (has_fma) {
    return {high, fms(x, y, high)};
  } else {
    constexpr auto upper_half =
        static_cast<typename Format<T>::Unsigned>(~typename Format<T>::Unsigned(0) << ((Format<T>::mantissa + 2) / 2));
    const L x1 = from_bits<T>(bits(x) & Bits<T>(upper_half)), y1 = from_bits<T>(bits(y) & Bits<T>(upper_half));
    const L x2 = x - x1, y2 = y - y1;
    return {high, x2 * y2 - (((high - x1 * y1) - x2 * y1) - x1 * y2)};
  }
}

// c[First] + x (c[First + Step] + x (...))
template <std::size_t Step, std::size_t First, class T, std::size_t N>
[[gnu::always_inline]] inline Vec<T> every(Vec<T> x, const T (&c)[N]) {
  if constexpr (First + Step >= N)
    return Vec<T>(c[First]);
  else
    return fma(x, every<Step, First + Step>(x, c), Vec<T>(c[First]));
}

// c[0] + x c[1] + x^2 c[2] + ... from the last coefficient on (Horner), for polynomials whose terms cancel.
template <class T, class... C>
[[gnu::always_inline]] inline Vec<T> horner(Vec<T> x, C... coefficients) {
  const T c[] = {static_cast<T>(coefficients)...};
  return every<1, 0>(x, c);
}

// The same polynomial. A long one is evaluated in two or four interleaved parts, which are independent (Estrin).
template <class T, std::size_t N>
[[gnu::always_inline]] inline Vec<T> polynomial_of(const T (&c)[N], Vec<T> x) {
  if constexpr (N <= 5) {
    return every<1, 0>(x, c);
  } else if constexpr (N <= 13) {
    const Vec<T> x2 = x * x;
    return fma(x, every<2, 1>(x2, c), every<2, 0>(x2, c));
  } else {
    const Vec<T> x2 = x * x, x4 = x2 * x2;
    return fma(x2, fma(x, every<4, 3>(x4, c), every<4, 2>(x4, c)), fma(x, every<4, 1>(x4, c), every<4, 0>(x4, c)));
  }
}
template <class T, class... C>
[[gnu::always_inline]] inline Vec<T> polynomial(Vec<T> x, C... coefficients) {
  const T c[] = {static_cast<T>(coefficients)...};
  return polynomial_of(c, x);
}

}  // namespace reel::kernels::math
