// exp, log, sqrt and quotients of several complex numbers: the real parts in one vector, the imaginary parts in
// another. Numbers that need special cases (infinities, NaN, zeros, squares that overflow, angles too large to reduce)
// are computed one by one afterwards, by the functions of complex.hpp.
#pragma once
#include "kernels/math.hpp"
#include "kernels/simd/complex.hpp"
#include "kernels/simd/staged.hpp"

namespace reel::kernels {

template <VecElement T>
struct ComplexVec {
  Vec<T> re, im;
};

namespace lanes {

// Interleaves, within each 16 bytes, the first (low_of) or second (high_of) halves of the elements of a and b.
#if XSIMD_WITH_AVX512BW
[[gnu::always_inline]] inline __m512d low_of(__m512d a, __m512d b) { return _mm512_unpacklo_pd(a, b); }
[[gnu::always_inline]] inline __m512 low_of(__m512 a, __m512 b) { return _mm512_unpacklo_ps(a, b); }
[[gnu::always_inline]] inline __m512d high_of(__m512d a, __m512d b) { return _mm512_unpackhi_pd(a, b); }
[[gnu::always_inline]] inline __m512 high_of(__m512 a, __m512 b) { return _mm512_unpackhi_ps(a, b); }
#endif
#if XSIMD_WITH_AVX2
[[gnu::always_inline]] inline __m256d low_of(__m256d a, __m256d b) { return _mm256_unpacklo_pd(a, b); }
[[gnu::always_inline]] inline __m256 low_of(__m256 a, __m256 b) { return _mm256_unpacklo_ps(a, b); }
[[gnu::always_inline]] inline __m256d high_of(__m256d a, __m256d b) { return _mm256_unpackhi_pd(a, b); }
[[gnu::always_inline]] inline __m256 high_of(__m256 a, __m256 b) { return _mm256_unpackhi_ps(a, b); }
#endif
#if XSIMD_WITH_SSE2
[[gnu::always_inline]] inline __m128d low_of(__m128d a, __m128d b) { return _mm_unpacklo_pd(a, b); }
[[gnu::always_inline]] inline __m128 low_of(__m128 a, __m128 b) { return _mm_unpacklo_ps(a, b); }
[[gnu::always_inline]] inline __m128d high_of(__m128d a, __m128d b) { return _mm_unpackhi_pd(a, b); }
[[gnu::always_inline]] inline __m128 high_of(__m128 a, __m128 b) { return _mm_unpackhi_ps(a, b); }
#endif
#if XSIMD_WITH_NEON64
[[gnu::always_inline]] inline float64x2_t low_of(float64x2_t a, float64x2_t b) { return vzip1q_f64(a, b); }
[[gnu::always_inline]] inline float32x4_t low_of(float32x4_t a, float32x4_t b) { return vzip1q_f32(a, b); }
[[gnu::always_inline]] inline float64x2_t high_of(float64x2_t a, float64x2_t b) { return vzip2q_f64(a, b); }
[[gnu::always_inline]] inline float32x4_t high_of(float32x4_t a, float32x4_t b) { return vzip2q_f32(a, b); }
#endif
template <class T>
[[gnu::always_inline]] inline Vec<T> low_of(Vec<T> a, Vec<T> b) {
  return typename Vec<T>::Batch(low_of(a.v, b.v));
}
template <class T>
[[gnu::always_inline]] inline Vec<T> high_of(Vec<T> a, Vec<T> b) {
  return typename Vec<T>::Batch(high_of(a.v, b.v));
}

// The order of the numbers in the vectors is not that of memory. `store` inverts it.
template <class T>
[[gnu::always_inline]] inline ComplexVec<T> load(const Complex<T>* from) {
  const T* p = &from->re;
  const Vec<T> a = Vec<T>::load(p), b = Vec<T>::load(p + Vec<T>::size), low = low_of(a, b), high = high_of(a, b);
  if constexpr (sizeof(T) == 8)
    return {low, high};
  else  // low: re0 re'0 im0 im'0, high: re1 re'1 im1 im'1
    return {low_of(low, high), high_of(low, high)};
}
template <class T>
[[gnu::always_inline]] inline void store(ComplexVec<T> z, Complex<T>* to) {
  T* p = &to->re;
  low_of(z.re, z.im).store(p);
  high_of(z.re, z.im).store(p + Vec<T>::size);
}

// Logic for bool and Mask alike.
[[gnu::always_inline]] inline bool both(bool a, bool b) { return a && b; }
[[gnu::always_inline]] inline bool either(bool a, bool b) { return a || b; }
template <class T>
[[gnu::always_inline]] inline Mask<T> both(Mask<T> a, Mask<T> b) {
  return a & b;
}
template <class T>
[[gnu::always_inline]] inline Mask<T> either(Mask<T> a, Mask<T> b) {
  return a | b;
}

// a + b = high + low, exactly: for any two numbers (Knuth), and for |a| >= |b| (Dekker).
template <class T>
[[gnu::always_inline]] inline math::Product<T> exact_sum(Vec<T> a, Vec<T> b) {
  const Vec<T> high = a + b, part = high - a;
  return {high, (a - (high - part)) + (b - part)};
}
template <class T>
[[gnu::always_inline]] inline math::Product<T> exact_sum_ordered(Vec<T> a, Vec<T> b) {
  const Vec<T> high = a + b;
  return {high, b - (high - a)};
}

template <class T>
inline constexpr T squares_low = sizeof(T) == 8 ? T(0x1p-500) : T(0x1p-60);
template <class T>
inline constexpr T squares_high = 1 / squares_low<T>;

// Where |z|^2 neither overflows nor underflows, for numbers and for vectors.
template <class N, class T>
[[gnu::always_inline]] inline auto square_exists(N re, N im, T) {
  using std::abs;
  const N a = abs(re), b = abs(im);
  return both(either(a > squares_low<T>, b > squares_low<T>), both(a < squares_high<T>, b < squares_high<T>));
}

}  // namespace lanes

// Each struct has the function of vectors `of`, the condition `holds` under which that is right, and the function of
// one number.
struct ComplexExp {
  template <class N, class T>
  [[gnu::always_inline]] static auto holds(T, N re, N im) {
    using std::abs;
    return lanes::both(abs(re) < T(sizeof(T) == 8 ? 700 : 80), abs(im) < math::CircleConstants<T>::limit);
  }
  template <class T>
  [[gnu::always_inline]] static ComplexVec<T> of(Vec<T> re, Vec<T> im) {
    const Vec<T> size = exp(re);
    if constexpr (has_fma) {  // one reduction for both
      const auto c = math::Circle<T>::of(im);
      const auto odd = c.odd();
      const Vec<T> sine = c.signed_by_quadrant(where(odd, c.cos, c.sin), 0);
      return {size * c.signed_by_quadrant(where(odd, c.sin, c.cos), 1), size * where(im == 0, im, sine)};
    } else {
      return {size * cos(im), size * sin(im)};
    }
  }
  template <class T>
  static Complex<T> one(Complex<T> z) {
    return exp(z);
  }
};

struct ComplexLog {
  template <class N, class T>
  [[gnu::always_inline]] static auto holds(T type, N re, N im) {
    return lanes::square_exists(re, im, type);
  }
  // log|z|^2 / 2, the square being a sum of two numbers: near 1 its logarithm is what one rounding would lose.
  template <class T>
  [[gnu::always_inline]] static ComplexVec<T> of(Vec<T> re, Vec<T> im) {
    using L = Vec<T>;
    const L a = abs(re), b = abs(im), large = greater_of(a, b), small = lesser_of(a, b);
    const auto p = math::exact_product(large, large), q = math::exact_product(small, small);
    const auto high = lanes::exact_sum_ordered(p.high, q.high), rest = lanes::exact_sum(p.low, q.low),
               lost = lanes::exact_sum(high.low, rest.high);
    const auto square = lanes::exact_sum_ordered(high.high, lost.high + (lost.low + rest.low));
    const auto [m, k] = math::split(square.high);
    const L y = math::log_of<true>(m, k, square.low * math::exponential_of_two(-k));
    if constexpr (has_fma)
      return {y * T(0.5), math::angle(im, re)};
    else
      return {y * T(0.5), arctan2(im, re)};
  }
  template <class T>
  static Complex<T> one(Complex<T> z) {
    return log(z);
  }
};

struct ComplexSqrt {
  template <class N, class T>
  [[gnu::always_inline]] static auto holds(T type, N re, N im) {
    return lanes::square_exists(re, im, type);
  }
  template <class T>
  [[gnu::always_inline]] static ComplexVec<T> of(Vec<T> re, Vec<T> im) {
    using L = Vec<T>;
    const L size = sqrt(re * re + im * im), mean = (abs(re) + size) * T(0.5);
    const auto [root, other] = root_and_quotient(mean, im);
    const auto right = re >= 0;
    return {where(right, root, abs(other)), where(right, other, copysign(root, im))};
  }
  template <class T>
  static Complex<T> one(Complex<T> z) {
    return sqrt(z);
  }

 private:
  template <class T>
  struct RootAndQuotient {
    Vec<T> root, quotient;
  };
  // sqrt(x) and y / (2 sqrt(x)) for normal x > 0. In doubles on AVX-512, where a square root and a division take 40
  // cycles: from an estimate of 1 / sqrt(x), by two Newton steps and a correction of each result to nearly its rounded
  // value.
  template <class T>
  [[gnu::always_inline]] static RootAndQuotient<T> root_and_quotient(Vec<T> x, Vec<T> y) {
    using L = Vec<T>;
#if XSIMD_WITH_AVX512BW
    if constexpr (instruction_set == InstructionSet::avx512 && sizeof(T) == 8) {
      const L estimate(_mm512_rsqrt14_pd(x.v)), better = newton(x, estimate), half = newton(x, better) * 0.5;
      const L first = x * (half + half), root = fma(fnma(first, first, x), half, first);
      const L quotient = y * half;
      return {root, copysign(fma(fnma(quotient, root + root, y), half, quotient), y)};
    }
#endif
    const L root = sqrt(x);
    return {root, y / (root + root)};
  }
  // A Newton step towards 1 / sqrt(x).
  template <class T>
  [[gnu::always_inline]] static Vec<T> newton(Vec<T> x, Vec<T> inverse) {
    return fma(fnma(x * inverse, inverse, Vec<T>(1)), inverse * T(0.5), inverse);
  }
};

// Smith's method, in the same steps as Complex's operator/. On AVX-512 its three divisions of doubles take 48 cycles.
// There a / b = a conj(b) / |b|^2 with one division and one Newton step is used instead, where |a|^2 and |b|^2 exist
// and neither part of the quotient is negligible beside the other. The Newton step leaves each part an error of 2^-104
// of the larger one, plus its rounding, so a quotient by a real number is as exact as by Smith's method.
struct ComplexDivide {
  template <class N, class T>
  [[gnu::always_inline]] static auto holds(T, N, N, N re, N im) {
    return lanes::either(re != 0, im != 0);
  }
  template <class T>
  [[gnu::always_inline]] static ComplexVec<T> of(Vec<T> a_re, Vec<T> a_im, Vec<T> b_re, Vec<T> b_im) {
    const ComplexVec<T> smith = by_smith(a_re, a_im, b_re, b_im);
    if constexpr (shortcut<T>) {
      using L = Vec<T>;
      const Mask<T> ordinary = ordinary_operands(a_re, a_im, b_re, b_im);
      const ComplexVec<T> z = by_reciprocal(where(ordinary, a_re, L(1)), where(ordinary, a_im, L(1)),
                                            where(ordinary, b_re, L(1)), where(ordinary, b_im, L(1)));
      const Mask<T> taken = ordinary & both_parts_exact(z);
      return {where(taken, z.re, smith.re), where(taken, z.im, smith.im)};
    } else {
      return smith;
    }
  }
  template <class T>
  static Complex<T> one(Complex<T> a, Complex<T> b) {
    return a / b;
  }

  // Whether, and for which operands, the shorter method is used.
  template <class T>
  static constexpr bool shortcut = sizeof(T) == 8 && instruction_set == InstructionSet::avx512;

  template <class T>
  [[gnu::always_inline]] static Mask<T> ordinary_operands(Vec<T> a_re, Vec<T> a_im, Vec<T> b_re, Vec<T> b_im) {
    using L = Vec<T>;
    const L a = greater_magnitude(a_re, a_im), b = greater_magnitude(b_re, b_im);
    const L low = lanes::squares_low<T>, high = lanes::squares_high<T>;
    return (a > low) & (a < high) & (b > low) & (b < high);
  }
  template <class T>
  [[gnu::always_inline]] static Mask<T> both_parts_exact(ComplexVec<T> z) {
    return lesser_magnitude(z.re, z.im) > std::numeric_limits<T>::epsilon() * 4 * greater_magnitude(z.re, z.im);
  }
  template <class T>
  [[gnu::always_inline]] static ComplexVec<T> by_reciprocal(Vec<T> a_re, Vec<T> a_im, Vec<T> b_re, Vec<T> b_im) {
    using L = Vec<T>;
    const L reciprocal = 1 / fma(b_re, b_re, b_im * b_im);
    const L re = fma(a_re, b_re, a_im * b_im) * reciprocal, im = fms(a_im, b_re, a_re * b_im) * reciprocal;
    const L left_re = fma(im, b_im, fnma(re, b_re, a_re)), left_im = fnma(re, b_im, fnma(im, b_re, a_im));
    return {fma(fma(left_re, b_re, left_im * b_im), reciprocal, re),
            fma(fms(left_im, b_re, left_re * b_im), reciprocal, im)};
  }

 private:
  template <class T>
  [[gnu::always_inline]] static ComplexVec<T> by_smith(Vec<T> a_re, Vec<T> a_im, Vec<T> b_re, Vec<T> b_im) {
    using L = Vec<T>;
    const auto across = abs(b_re) >= abs(b_im);
    const L divisor = where(across, b_re, b_im), other = where(across, b_im, b_re), ratio = other / divisor;
    const L p = where(across, a_re, a_im), q = where(across, a_im, a_re), whole = divisor + other * ratio;
    const L down = p * ratio;
    return {(p + q * ratio) / whole, where(across, q - down, down - q) / whole};
  }
};

template <VecElement T, class F, std::size_t... K>
struct ComplexMap {
  using Z = Complex<T>;
  static constexpr std::ptrdiff_t size = Vec<T>::size;

  static constexpr Layout layout() {
    Layout l{.operands = sizeof...(K), .bytes = {}, .out_bytes = sizeof(Z), .repeats = false};
    ((l.bytes[K] = sizeof(Z)), ...);
    return l;
  }
  static void run(const Strided* in, void* out, std::ptrdiff_t n) {
    if (n != 1 && !direct(layout(), in)) return staged(&run, layout(), in, out, n);
    over(static_cast<Z*>(out), n, static_cast<const Z*>(in[K].data)...);
  }
  template <class... In>
  static void over(Z* out, std::ptrdiff_t n, const In*... in) {
    std::ptrdiff_t i = 0;
    for (; i + size <= n; i += size) vector(out + i, in + i...);
    if (i == n) return;
    Z rest[sizeof...(K)][static_cast<std::size_t>(size)], results[static_cast<std::size_t>(size)];
    const auto take = [&](std::size_t k, const Z* from) {
      for (std::ptrdiff_t j = 0; j < size; ++j) rest[k][j] = i + j < n ? from[i + j] : Z(1);
    };
    (take(K, in), ...);
    vector(results, rest[K]...);
    for (std::ptrdiff_t j = 0; i + j < n; ++j) out[i + j] = results[j];
  }
  // As many elements as a vector of parts holds. out may be an operand. Vectors are named, not in arrays: copies of
  // aggregates by halves, which GCC makes, would stall the loads that follow.
  [[gnu::always_inline]] static void vector(Z* out, const Z* x) {
    const ComplexVec<T> a = lanes::load(x), z = F::of(a.re, a.im);
    const Mask<T> good = F::holds(T(), a.re, a.im);
    if (all(good)) return lanes::store(z, out);
    Z results[static_cast<std::size_t>(size)];
    lanes::store(z, results);
    for (std::ptrdiff_t j = 0; j < size; ++j) out[j] = F::holds(T(), x[j].re, x[j].im) ? results[j] : F::one(x[j]);
  }
  [[gnu::always_inline]] static void vector(Z* out, const Z* x, const Z* y) {
    const ComplexVec<T> a = lanes::load(x), b = lanes::load(y);
    if constexpr (F::template shortcut<T>)
      if (all(F::ordinary_operands(a.re, a.im, b.re, b.im))) {
        const ComplexVec<T> z = F::by_reciprocal(a.re, a.im, b.re, b.im);
        if (all(F::both_parts_exact(z))) return lanes::store(z, out);
      }
    const ComplexVec<T> z = F::of(a.re, a.im, b.re, b.im);
    const Mask<T> good = F::holds(T(), a.re, a.im, b.re, b.im);
    if (all(good)) return lanes::store(z, out);
    Z results[static_cast<std::size_t>(size)];
    lanes::store(z, results);
    for (std::ptrdiff_t j = 0; j < size; ++j)
      out[j] = F::holds(T(), x[j].re, x[j].im, y[j].re, y[j].im) ? results[j] : F::one(x[j], y[j]);
  }
};

}  // namespace reel::kernels
