// Functions on a vector that need no series: signs, rounding, remainders, extrema, roots, hypot. NaN, infinities and
// signed zeros are as in NumPy.
#pragma once
#include "kernels/math/bits.hpp"
#include "kernels/math/sleef.hpp"

namespace reel::kernels {

template <class T>
[[gnu::always_inline]] inline Mask<T> isinf(Vec<T> x) {
  return abs(x) == Vec<T>(std::numeric_limits<T>::infinity());
}
template <class T>
[[gnu::always_inline]] inline Mask<T> isfinite(Vec<T> x) {
  return abs(x) < Vec<T>(std::numeric_limits<T>::infinity());
}

template <class T>
[[gnu::always_inline]] inline Vec<T> square(Vec<T> x) {
  return x * x;
}
template <class T>
[[gnu::always_inline]] inline Vec<T> reciprocal(Vec<T> x) {
  return 1 / x;
}
// fma(x, y, w) with one rounding on every instruction set: element by element where it has no fused multiply-add.
template <class T>
[[gnu::always_inline]] inline Vec<T> fma_rounded_once(Vec<T> x, Vec<T> y, Vec<T> w) {
  if constexpr (has_fma)
    return fma(x, y, w);
  else
    return each([](T a, T b, T c) { return std::fma(a, b, c); }, x, y, w);
}
template <class T>
[[gnu::always_inline]] inline Vec<T> rsqrt(Vec<T> x) {
  return 1 / sqrt(x);
}
// 0 at 0, NaN at NaN
template <class T>
[[gnu::always_inline]] inline Vec<T> sign(Vec<T> x) {
  return where(x > 0, 1, where(x < 0, -1, x));
}
template <class T>
[[gnu::always_inline]] inline Vec<T> maximum(Vec<T> x, std::type_identity_t<Vec<T>> y) {
  return where(isnan(x), x, greater_of(x, y));
}
template <class T>
[[gnu::always_inline]] inline Vec<T> minimum(Vec<T> x, std::type_identity_t<Vec<T>> y) {
  return where(isnan(x), x, lesser_of(x, y));
}

// ---- Rounding
// ------------------------------------------------------------------------------------------------------------------

// a >= 0 rounded to the nearest integer, half to even. A number of at least 2^mantissa is an integer already.
namespace math {
template <class T>
[[gnu::always_inline]] inline Vec<T> rounded_magnitude(Vec<T> a) {
  constexpr T integer = static_cast<T>(std::uint64_t(1) << Format<T>::mantissa);
  return where(a < integer, (a + integer) - integer, a);
}
// Whether xsimd's rounding functions may be used: they are single instructions. On NEON they are not, and lose the sign
// of -0.
inline constexpr bool has_rounding =
    instruction_set != InstructionSet::sse2 && instruction_set != InstructionSet::neon64;
#if XSIMD_WITH_NEON64
struct NeonRounding {
  [[gnu::always_inline]] static float32x4_t round(float32x4_t x) { return vrndnq_f32(x); }
  [[gnu::always_inline]] static float64x2_t round(float64x2_t x) { return vrndnq_f64(x); }
  [[gnu::always_inline]] static float32x4_t trunc(float32x4_t x) { return vrndq_f32(x); }
  [[gnu::always_inline]] static float64x2_t trunc(float64x2_t x) { return vrndq_f64(x); }
  [[gnu::always_inline]] static float32x4_t floor(float32x4_t x) { return vrndmq_f32(x); }
  [[gnu::always_inline]] static float64x2_t floor(float64x2_t x) { return vrndmq_f64(x); }
  [[gnu::always_inline]] static float32x4_t ceil(float32x4_t x) { return vrndpq_f32(x); }
  [[gnu::always_inline]] static float64x2_t ceil(float64x2_t x) { return vrndpq_f64(x); }
};
#endif
}  // namespace math

template <class T>
[[gnu::always_inline]] inline Vec<T> round(Vec<T> x) {
  if constexpr (is_scalar) {
    return std::nearbyint(x.v);
  } else if constexpr (math::has_rounding) {
    return Vec<T>(xsimd::nearbyint(x.v));
#if XSIMD_WITH_NEON64
  } else if constexpr (instruction_set == InstructionSet::neon64) {
    return Vec<T>(typename Vec<T>::Batch(math::NeonRounding::round(x.v)));
#endif
  } else {
    return copysign(math::rounded_magnitude(abs(x)), x);
  }
}
template <class T>
[[gnu::always_inline]] inline Vec<T> trunc(Vec<T> x) {
  if constexpr (is_scalar) {
    return std::trunc(x.v);
  } else if constexpr (math::has_rounding) {
    return Vec<T>(xsimd::trunc(x.v));
#if XSIMD_WITH_NEON64
  } else if constexpr (instruction_set == InstructionSet::neon64) {
    return Vec<T>(typename Vec<T>::Batch(math::NeonRounding::trunc(x.v)));
#endif
  } else {
    const Vec<T> a = abs(x), r = math::rounded_magnitude(a);
    return copysign(where(r > a, r - 1, r), x);
  }
}
template <class T>
[[gnu::always_inline]] inline Vec<T> floor(Vec<T> x) {
  if constexpr (is_scalar) {
    return std::floor(x.v);
  } else if constexpr (math::has_rounding) {
    return Vec<T>(xsimd::floor(x.v));
#if XSIMD_WITH_NEON64
  } else if constexpr (instruction_set == InstructionSet::neon64) {
    return Vec<T>(typename Vec<T>::Batch(math::NeonRounding::floor(x.v)));
#endif
  } else {
    const Vec<T> r = round(x);
    return copysign(where(r > x, r - 1, r), x);
  }
}
template <class T>
[[gnu::always_inline]] inline Vec<T> ceil(Vec<T> x) {
  if constexpr (is_scalar) {
    return std::ceil(x.v);
  } else if constexpr (math::has_rounding) {
    return Vec<T>(xsimd::ceil(x.v));
#if XSIMD_WITH_NEON64
  } else if constexpr (instruction_set == InstructionSet::neon64) {
    return Vec<T>(typename Vec<T>::Batch(math::NeonRounding::ceil(x.v)));
#endif
  } else {
    const Vec<T> r = round(x);
    return copysign(where(r < x, r + 1, r), x);
  }
}

// ---- Division with remainder
// -----------------------------------------------------------------------------------------------------

namespace math {

// As in Python, the remainder has the sign of y and the quotient is rounded down. x less its remainder is divided in
// the wider type, which makes the quotient an exact integer; it is rounded if T cannot hold it.
template <class T>
struct FloorDivide {
  T operator()(T x, T y) const {
    using Wide = std::conditional_t<std::same_as<T, float>, double, long double>;
    if (y == 0 || x != x || y != y) return x / y;
    const T r = std::fmod(x, y);
    Wide q = std::nearbyint((static_cast<Wide>(x) - r) / y);
    if (r != 0 && (y < 0) != (r < 0)) q -= 1;
    return q == 0 ? std::copysign(T(0), x / y) : static_cast<T>(q);
  }
};
template <class T>
struct Mod {
  T operator()(T x, T y) const {
    const T r = std::fmod(x, y);
    if (r == 0) return std::copysign(T(0), y);
    return (y < 0) != (r < 0) ? r + y : r;
  }
};

// Quotient and remainder by a fused multiply-add, which makes the remainder exact where |x / y| is below 2^mantissa.
template <class T>
struct Division {
  Vec<T> quotient, remainder;
  Mask<T> exact;

  [[gnu::always_inline]] static Division of(Vec<T> x, Vec<T> y) {
    using L = Vec<T>;
    constexpr T integer = static_cast<T>(std::uint64_t(1) << Format<T>::mantissa);
    const L q = x / y, n = trunc(q), r = fma(-n, y, x);
    const auto wrong_side = ((r < 0) & (y > 0)) | ((r > 0) & (y < 0));
    const L down = where(wrong_side, n - 1, n);
    return {where(down == 0, copysign(L(0), q), down), where(r == 0, copysign(L(0), y), where(wrong_side, r + y, r)),
            (abs(q) < L(integer)) & isfinite(y)};
  }
};

}  // namespace math

template <class T>
[[gnu::noinline]] Vec<T> floor_divide(Vec<T> x, Vec<T> y) {
  if constexpr (has_fma) {
    const auto d = math::Division<T>::of(x, y);
    return all(d.exact) ? d.quotient : where(d.exact, d.quotient, each(math::FloorDivide<T>(), x, y));
  } else {
    return each(math::FloorDivide<T>(), x, y);
  }
}
template <class T>
[[gnu::noinline]] Vec<T> mod(Vec<T> x, Vec<T> y) {
  if constexpr (has_fma) {
    const auto d = math::Division<T>::of(x, y);
    return all(d.exact) ? d.remainder : where(d.exact, d.remainder, each(math::Mod<T>(), x, y));
  } else {
    return each(math::Mod<T>(), x, y);
  }
}

// ---- Roots
// ------------------------------------------------------------------------------------------------------------

// sqrt(x^2 + y^2). Operands whose squares would overflow or underflow are scaled by a power of two.
template <class T>
[[gnu::noinline]] Vec<T> hypot(Vec<T> x, Vec<T> y) {
  using L = Vec<T>;
  constexpr bool single = std::same_as<T, float>;
  constexpr T high = single ? T(0x1p60) : T(0x1p500), low = single ? T(0x1p-50) : T(0x1p-450);
  constexpr T shrink = single ? T(0x1p-80) : T(0x1p-600), grow = single ? T(0x1p80) : T(0x1p600);
  const L m = greater_of(abs(x), abs(y));
  const auto large = m > high, small = m < low;
  const L before = where(large, L(shrink), where(small, L(grow), L(1))),
          after = where(large, L(grow), where(small, L(shrink), L(1)));
  const L a = x * before, b = y * before;
  return where(isinf(x) | isinf(y), L(std::numeric_limits<T>::infinity()), sqrt(a * a + b * b) * after);
}

template <class T>
[[gnu::noinline]] Vec<T> cbrt(Vec<T> x) {
  if constexpr (is_scalar && std::same_as<T, float>) {
    return static_cast<float>(std::cbrt(static_cast<double>(x.v)));
  } else if constexpr (is_scalar) {
    const double r = std::cbrt(x.v);  // glibc errs by up to 4 ulp, hence one Newton step
    if (!(std::abs(r) > 0 && std::abs(r) < std::numeric_limits<double>::infinity())) return r;
    const auto e = static_cast<long double>(r);
    return static_cast<double>(e - (e * e * e - x.v) / (3 * e * e));
  } else {
    if (std::same_as<T, double> && !math::rounds_to_nearest()) return each([](T a) { return std::cbrt(a); }, x);
    return math::Sleef<T>::cbrt_u35(x);
  }
}

}  // namespace reel::kernels
