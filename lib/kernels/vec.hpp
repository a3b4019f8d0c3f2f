// Vec<T> is one SIMD register of T on the instruction set of this translation unit, with IEEE arithmetic. Mask<T> is
// the result of comparing two. Constants of any arithmetic type convert to a vector, so one generic lambda, such as
// `1 - z * z`, serves float and double. Every function is forced inline. On the set "scalar" a vector has one lane.
#pragma once
#include <bit>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

// GCC's own AVX-512 header reads deliberately undefined registers (GCC bug 105593); the warning belongs to that
// header's lines.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <xsimd/xsimd.hpp>
#ifdef XSIMD_NO_SUPPORTED_ARCHITECTURE
#include "kernels/without_vectors.hpp"
#endif
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

#include "kernels/isa.hpp"

namespace reel::kernels {

// xsimd's class for the instruction set; void for scalar.
constexpr auto architecture() {
  if constexpr (instruction_set == InstructionSet::avx512) return xsimd::avx512bw();
  if constexpr (instruction_set == InstructionSet::avx2) return xsimd::fma3<xsimd::avx2>();
  if constexpr (instruction_set == InstructionSet::sse2) return xsimd::sse2();
  if constexpr (instruction_set == InstructionSet::neon64) return xsimd::neon64();
}
using Arch = decltype(architecture());

template <class T>
concept VecElement = std::same_as<T, float> || std::same_as<T, double>;
template <class C>
concept VecConstant = std::is_arithmetic_v<C>;

template <VecElement T>
struct Vec;

// ---- Mask

template <VecElement T>
struct Mask {
  using Batch = xsimd::batch_bool<T, Arch>;
  static constexpr std::ptrdiff_t size = static_cast<std::ptrdiff_t>(xsimd::batch<T, Arch>::size);
  Batch v;

  Mask() = default;
  [[gnu::always_inline]] Mask(Batch b) : v(b) {}
  [[gnu::always_inline]] explicit Mask(bool b) : v(b) {}

  [[gnu::always_inline]] friend Mask operator&(Mask a, Mask b) { return a.v & b.v; }
  [[gnu::always_inline]] friend Mask operator|(Mask a, Mask b) { return a.v | b.v; }
  [[gnu::always_inline]] friend Mask operator!(Mask a) { return ~a.v; }
  [[gnu::always_inline]] friend bool any(Mask a) { return xsimd::any(a.v); }
  [[gnu::always_inline]] friend bool all(Mask a) { return xsimd::all(a.v); }
  [[gnu::always_inline]] friend Vec<T> where(Mask m, Vec<T> a, Vec<T> b) {
    return Vec<T>(xsimd::select(m.v, a.v, b.v));
  }
};

template <VecElement T>
requires is_scalar struct Mask<T> {
  static constexpr std::ptrdiff_t size = 1;
  bool v;

  Mask() = default;
  [[gnu::always_inline]] constexpr Mask(bool b) : v(b) {}

  [[gnu::always_inline]] friend Mask operator&(Mask a, Mask b) { return a.v && b.v; }
  [[gnu::always_inline]] friend Mask operator|(Mask a, Mask b) { return a.v || b.v; }
  [[gnu::always_inline]] friend Mask operator!(Mask a) { return !a.v; }
  [[gnu::always_inline]] friend bool any(Mask a) { return a.v; }
  [[gnu::always_inline]] friend bool all(Mask a) { return a.v; }
  [[gnu::always_inline]] friend Vec<T> where(Mask m, Vec<T> a, Vec<T> b) { return m.v ? a : b; }
};

// ---- Vec

template <VecElement T>
struct Vec {
  using Batch = xsimd::batch<T, Arch>;
  using Integer = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;
  static constexpr std::ptrdiff_t size = static_cast<std::ptrdiff_t>(Batch::size);
  Batch v;

  Vec() = default;
  [[gnu::always_inline]] Vec(Batch b) : v(b) {}
  template <VecConstant C>
  [[gnu::always_inline]] Vec(C c) : v(static_cast<T>(c)) {}

  // p may have any alignment.
  [[gnu::always_inline]] static Vec load(const T* p) { return Batch::load_unaligned(p); }
  [[gnu::always_inline]] void store(T* p) const { v.store_unaligned(p); }

  [[gnu::always_inline]] friend Vec operator+(Vec a, Vec b) { return a.v + b.v; }
  [[gnu::always_inline]] friend Vec operator-(Vec a, Vec b) { return a.v - b.v; }
  [[gnu::always_inline]] friend Vec operator*(Vec a, Vec b) { return a.v * b.v; }
  [[gnu::always_inline]] friend Vec operator/(Vec a, Vec b) {
#if XSIMD_WITH_NEON64
    // xsimd's float division on NEON is an estimate with two Newton steps: not correctly rounded, and not IEEE at
    // the ends of the range.
    if constexpr (instruction_set == InstructionSet::neon64 && sizeof(T) == 4) return Batch(vdivq_f32(a.v, b.v));
#endif
    return a.v / b.v;
  }
  [[gnu::always_inline]] friend Vec operator-(Vec a) { return a.v ^ Batch(T(-0.0)); }
  [[gnu::always_inline]] Vec& operator+=(Vec b) { return *this = *this + b; }
  [[gnu::always_inline]] Vec& operator-=(Vec b) { return *this = *this - b; }
  [[gnu::always_inline]] Vec& operator*=(Vec b) { return *this = *this * b; }
  [[gnu::always_inline]] Vec& operator/=(Vec b) { return *this = *this / b; }

  [[gnu::always_inline]] friend Mask<T> operator==(Vec a, Vec b) { return a.v == b.v; }
  // xsimd's own != is false for NaN on AVX.
  [[gnu::always_inline]] friend Mask<T> operator!=(Vec a, Vec b) { return !Mask<T>(a.v == b.v); }
  [[gnu::always_inline]] friend Mask<T> operator<(Vec a, Vec b) { return a.v < b.v; }
  [[gnu::always_inline]] friend Mask<T> operator<=(Vec a, Vec b) { return a.v <= b.v; }
  [[gnu::always_inline]] friend Mask<T> operator>(Vec a, Vec b) { return b.v < a.v; }
  [[gnu::always_inline]] friend Mask<T> operator>=(Vec a, Vec b) { return b.v <= a.v; }

  // a * b + c, rounded once if has_fma, else twice.
  [[gnu::always_inline]] friend Vec fma(Vec a, Vec b, Vec c) {
#if XSIMD_WITH_AVX512BW
    // xsimd 8's fma on AVX-512 is a product and a sum.
    if constexpr (instruction_set == InstructionSet::avx512 && sizeof(T) == 4)
      return Batch(_mm512_fmadd_ps(a.v, b.v, c.v));
    if constexpr (instruction_set == InstructionSet::avx512 && sizeof(T) == 8)
      return Batch(_mm512_fmadd_pd(a.v, b.v, c.v));
#endif
#if XSIMD_WITH_NEON64
    // xsimd asks for a macro that AArch64 compilers need not define.
    if constexpr (instruction_set == InstructionSet::neon64 && sizeof(T) == 4) return Batch(vfmaq_f32(c.v, a.v, b.v));
#endif
    if constexpr (has_fma)
      return xsimd::fma(a.v, b.v, c.v);
    else
      return a * b + c;
  }
  // a * b - c and c - a * b, rounded like fma. The operand is negated arithmetically: compilers fold that into the
  // fused instruction, but not a flipped sign bit.
  [[gnu::always_inline]] friend Vec fms(Vec a, Vec b, Vec c) { return fma(a, b, of_other_sign(c)); }
  [[gnu::always_inline]] friend Vec fnma(Vec a, Vec b, Vec c) { return fma(of_other_sign(a), b, c); }
  [[gnu::always_inline]] static Vec of_other_sign(Vec a) {
    return Batch(-static_cast<typename Batch::register_type>(a.v));
  }
  [[gnu::always_inline]] friend Vec sqrt(Vec a) {
#if XSIMD_WITH_NEON64
    if constexpr (instruction_set == InstructionSet::neon64 && sizeof(T) == 4)
      return Batch(vsqrtq_f32(a.v));  // as for division
#endif
    return xsimd::sqrt(a.v);
  }
  [[gnu::always_inline]] friend Vec abs(Vec a) { return a.v & magnitude(); }
  [[gnu::always_inline]] friend Vec copysign(Vec a, Vec sign) {
    return (a.v & magnitude()) | (sign.v & Batch(T(-0.0)));
  }
  [[gnu::always_inline]] friend Mask<T> isnan(Vec a) { return !Mask<T>(a.v == a.v); }

  // All bits but the sign. xsimd's bitwise_andnot is avoided: versions differ in the operand that it negates.
  [[gnu::always_inline]] static Batch magnitude() {
    return Batch(std::bit_cast<T>(static_cast<std::make_unsigned_t<Integer>>(std::numeric_limits<Integer>::max())));
  }

  // The greater (lesser) of two numbers, for finite operands: b if they are equal. Of a number and a NaN the
  // instruction set decides which is returned.
  [[gnu::always_inline]] friend Vec greater_of(Vec a, Vec b) { return xsimd::max(a.v, b.v); }
  [[gnu::always_inline]] friend Vec lesser_of(Vec a, Vec b) { return xsimd::min(a.v, b.v); }

  // greater_of and lesser_of |a| and |b|, in one instruction where there is one.
  [[gnu::always_inline]] friend Vec greater_magnitude(Vec a, Vec b) {
#if XSIMD_WITH_AVX512BW
    if constexpr (instruction_set == InstructionSet::avx512 && sizeof(T) == 8)
      return Batch(_mm512_range_pd(a.v, b.v, 0b1011));
#endif
    return greater_of(abs(a), abs(b));
  }
  [[gnu::always_inline]] friend Vec lesser_magnitude(Vec a, Vec b) {
#if XSIMD_WITH_AVX512BW
    if constexpr (instruction_set == InstructionSet::avx512 && sizeof(T) == 8)
      return Batch(_mm512_range_pd(a.v, b.v, 0b1010));
#endif
    return lesser_of(abs(a), abs(b));
  }
};

template <VecElement T>
requires is_scalar struct Vec<T> {
  static constexpr std::ptrdiff_t size = 1;
  T v;

  Vec() = default;
  template <VecConstant C>
  [[gnu::always_inline]] constexpr Vec(C c) : v(static_cast<T>(c)) {}

  [[gnu::always_inline]] static Vec load(const T* p) { return *p; }
  [[gnu::always_inline]] void store(T* p) const { *p = v; }

  [[gnu::always_inline]] friend Vec operator+(Vec a, Vec b) { return a.v + b.v; }
  [[gnu::always_inline]] friend Vec operator-(Vec a, Vec b) { return a.v - b.v; }
  [[gnu::always_inline]] friend Vec operator*(Vec a, Vec b) { return a.v * b.v; }
  [[gnu::always_inline]] friend Vec operator/(Vec a, Vec b) { return a.v / b.v; }
  [[gnu::always_inline]] friend Vec operator-(Vec a) { return -a.v; }
  [[gnu::always_inline]] Vec& operator+=(Vec b) { return *this = *this + b; }
  [[gnu::always_inline]] Vec& operator-=(Vec b) { return *this = *this - b; }
  [[gnu::always_inline]] Vec& operator*=(Vec b) { return *this = *this * b; }
  [[gnu::always_inline]] Vec& operator/=(Vec b) { return *this = *this / b; }

  using Mask = kernels::Mask<T>;
  [[gnu::always_inline]] friend Mask operator==(Vec a, Vec b) { return a.v == b.v; }
  [[gnu::always_inline]] friend Mask operator!=(Vec a, Vec b) { return a.v != b.v; }
  [[gnu::always_inline]] friend Mask operator<(Vec a, Vec b) { return a.v < b.v; }
  [[gnu::always_inline]] friend Mask operator<=(Vec a, Vec b) { return a.v <= b.v; }
  [[gnu::always_inline]] friend Mask operator>(Vec a, Vec b) { return a.v > b.v; }
  [[gnu::always_inline]] friend Mask operator>=(Vec a, Vec b) { return a.v >= b.v; }

  [[gnu::always_inline]] friend Vec fma(Vec a, Vec b, Vec c) { return a.v * b.v + c.v; }
  [[gnu::always_inline]] friend Vec fms(Vec a, Vec b, Vec c) { return a.v * b.v - c.v; }
  [[gnu::always_inline]] friend Vec fnma(Vec a, Vec b, Vec c) { return c.v - a.v * b.v; }
  [[gnu::always_inline]] friend Vec sqrt(Vec a) { return std::sqrt(a.v); }
  [[gnu::always_inline]] friend Vec abs(Vec a) { return std::abs(a.v); }
  [[gnu::always_inline]] friend Vec copysign(Vec a, Vec sign) { return std::copysign(a.v, sign.v); }
  [[gnu::always_inline]] friend Mask isnan(Vec a) { return a.v != a.v; }
  [[gnu::always_inline]] friend Vec greater_of(Vec a, Vec b) { return a.v > b.v ? a : b; }
  [[gnu::always_inline]] friend Vec lesser_of(Vec a, Vec b) { return a.v < b.v ? a : b; }
};

// Calls f on each element in turn, for functions without a vector form. F is a stateless functor type that takes and
// returns T.
template <class F, VecElement T>
[[gnu::noinline]] Vec<T> each(F f, Vec<T> x) {
  if constexpr (is_scalar) {
    return f(x.v);
  } else {
    alignas(64) T a[static_cast<std::size_t>(Vec<T>::size)];
    x.v.store_aligned(a);
    for (auto& e : a) e = f(e);
    return Vec<T>(Vec<T>::Batch::load_aligned(a));
  }
}
template <class F, VecElement T>
[[gnu::noinline]] Vec<T> each(F f, Vec<T> x, Vec<T> y) {
  if constexpr (is_scalar) {
    return f(x.v, y.v);
  } else {
    constexpr auto n = static_cast<std::size_t>(Vec<T>::size);
    alignas(64) T a[n], b[n];
    x.v.store_aligned(a);
    y.v.store_aligned(b);
    for (std::size_t i = 0; i < n; ++i) a[i] = f(a[i], b[i]);
    return Vec<T>(Vec<T>::Batch::load_aligned(a));
  }
}

template <class F, VecElement T>
[[gnu::noinline]] Vec<T> each(F f, Vec<T> x, Vec<T> y, Vec<T> w) {
  if constexpr (is_scalar) {
    return f(x.v, y.v, w.v);
  } else {
    constexpr auto n = static_cast<std::size_t>(Vec<T>::size);
    alignas(64) T a[n], b[n], c[n];
    x.v.store_aligned(a);
    y.v.store_aligned(b);
    w.v.store_aligned(c);
    for (std::size_t i = 0; i < n; ++i) a[i] = f(a[i], b[i], c[i]);
    return Vec<T>(Vec<T>::Batch::load_aligned(a));
  }
}

}  // namespace reel::kernels
