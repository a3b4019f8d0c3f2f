// Random numbers in lanes: Philox 4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel Random Numbers: As Easy as 1, 2, 3; SC
// 2011), one 128-bit block per 64-bit lane, and the distributions. Only sums, products, quotients, square roots and
// integer operations are used, each rounded separately and in a fixed order, without fused multiply-adds: the numbers
// are the same on every instruction set. Block i of a stream has the words r0 to r3; float64 takes r0 r1 and r2 r3 as
// two 64-bit words, float32 takes four 32-bit words.
#pragma once
#include <array>
#include <bit>
#include <cstring>

#include "kernels/math/bits.hpp"
#include "kernels/random.hpp"

namespace reel::kernels {

namespace draws {

using math::bits, math::from_bits;
using Words = math::Bits<double>;  // lanes of 64 bits
inline constexpr std::ptrdiff_t lanes = Vec<double>::size;

// The product of the lower halves of each lane.
template <class W>
[[gnu::always_inline]] inline W product_of_lower(W a, std::uint32_t factor) {
#if XSIMD_WITH_AVX512BW
  if constexpr (instruction_set == InstructionSet::avx512) return W(_mm512_mul_epu32(a, _mm512_set1_epi64(factor)));
#endif
#if XSIMD_WITH_AVX2
  if constexpr (instruction_set == InstructionSet::avx2) return W(_mm256_mul_epu32(a, _mm256_set1_epi64x(factor)));
#endif
#if XSIMD_WITH_SSE2
  if constexpr (instruction_set == InstructionSet::sse2) return W(_mm_mul_epu32(a, _mm_set1_epi64x(factor)));
#endif
#if XSIMD_WITH_NEON64
  if constexpr (instruction_set == InstructionSet::neon64) return W(vmull_n_u32(vmovn_u64(a), factor));
#endif
  if constexpr (is_scalar) return (a & W(0xffffffff)) * W(factor);
}

// Moves the upper half of each lane to its lower half; the upper half is then arbitrary. A shuffle where possible:
// shifts compete with products for a port.
template <class W>
[[gnu::always_inline]] inline W upper_half(W a) {
#if XSIMD_WITH_AVX512BW
  if constexpr (instruction_set == InstructionSet::avx512) return W(_mm512_shuffle_epi32(a, _MM_PERM_DDBB));
#endif
#if XSIMD_WITH_AVX2
  if constexpr (instruction_set == InstructionSet::avx2) return W(_mm256_shuffle_epi32(a, 0xf5));
#endif
  if constexpr (instruction_set != InstructionSet::avx512 && instruction_set != InstructionSet::avx2) return a >> 32;
}

// a0 b0 a1 b1 ... of the lanes of a and b, in two vectors.
template <class W>
struct TwoWords {
  W first, second;
};
template <class W>
[[gnu::always_inline]] inline TwoWords<W> interleaved(W a, W b) {
#if XSIMD_WITH_AVX512BW
  if constexpr (instruction_set == InstructionSet::avx512) {
    const __m512i low = _mm512_set_epi64(11, 3, 10, 2, 9, 1, 8, 0), high = _mm512_set_epi64(15, 7, 14, 6, 13, 5, 12, 4);
    return {W(_mm512_permutex2var_epi64(a, low, b)), W(_mm512_permutex2var_epi64(a, high, b))};
  }
#endif
#if XSIMD_WITH_AVX2
  if constexpr (instruction_set == InstructionSet::avx2) {
    const __m256i even = _mm256_unpacklo_epi64(a, b), odd = _mm256_unpackhi_epi64(a, b);
    return {W(_mm256_permute2x128_si256(even, odd, 0x20)), W(_mm256_permute2x128_si256(even, odd, 0x31))};
  }
#endif
#if XSIMD_WITH_SSE2
  if constexpr (instruction_set == InstructionSet::sse2)
    return {W(_mm_unpacklo_epi64(a, b)), W(_mm_unpackhi_epi64(a, b))};
#endif
#if XSIMD_WITH_NEON64
  if constexpr (instruction_set == InstructionSet::neon64) return {W(vzip1q_u64(a, b)), W(vzip2q_u64(a, b))};
#endif
  if constexpr (is_scalar) return {a, b};
}

inline constexpr std::uint64_t lower = 0xffffffff, upper = lower << 32;

// The words r0 to r3 of one block per lane, in the lower halves; the upper halves are arbitrary.
template <class W>
struct Blocks {
  W r[4];
};
// The keys of all rounds for a seed.
inline constexpr std::size_t rounds = 10;
struct Keys {
  explicit Keys(std::uint64_t seed) {
    auto first = static_cast<std::uint32_t>(seed), second = static_cast<std::uint32_t>(seed >> 32);
    for (std::size_t i = 0; i < rounds; ++i) {
      key[i][0] = Words(std::uint64_t(first));
      key[i][1] = Words(std::uint64_t(second));
      first += 0x9E3779B9;   // fraction of the golden ratio
      second += 0xBB67AE85;  // fraction of sqrt(3)
    }
  }
  Words key[rounds][2];
};
[[gnu::always_inline]] inline Blocks<Words> blocks(const Keys& keys, Words position) {
  Words c0 = position, c1 = upper_half(position), c2 = Words(std::uint64_t(0)), c3 = c2;
  for (const Words(&key)[2] : keys.key) {
    const Words a = product_of_lower(c0, 0xD2511F53), b = product_of_lower(c2, 0xCD9E8D57);
    c0 = upper_half(b) ^ c1 ^ key[0];
    c2 = upper_half(a) ^ c3 ^ key[1];
    c1 = b;
    c3 = a;
  }
  return {{c0, c1, c2, c3}};
}

// c[0] + x c[1] + ..., from the last coefficient, each operation rounded.
template <class T, std::size_t N>
[[gnu::always_inline]] inline Vec<T> series(Vec<T> x, const T (&c)[N]) {
  Vec<T> sum = c[N - 1];
  for (std::size_t k = N - 1; k-- > 0;) sum = sum * x + c[k];
  return sum;
}

// ---- What depends on the type: a word is a 64-bit lane for float64, and 32 bits for float32

// Minimax polynomials found by Remez's algorithm: artanh(s) / s = 1 + q `artanh`(q), sin(x) / x = 1 + q `sine`(q) and
// cos(x) = 1 + q `cosine`(q), q being s^2 up to ((sqrt(2) - 1) / (sqrt(2) + 1))^2, or x^2 up to (pi / 4)^2.
template <class T>
struct Series;
template <>
struct Series<double> {
  static constexpr double artanh[] = {0.333333333333333486, 0.199999999999492228,  0.142857143132001977,
                                      0.111111055362835936, 0.0909144662024266467, 0.0766579811729862367,
                                      0.0730894069193151808};
  static constexpr double sine[] = {-0.166666666666666646,  0.00833333333333095038,  -0.000198412698367610101,
                                    2.75573161036573001e-6, -2.50511320497454818e-8, 1.591814257087292e-10};
  static constexpr double cosine[] = {-0.499999999999999694,    0.0416666666666309584,   -0.0013888888882132088,
                                      0.0000248015826252286414, -2.75558558596970104e-7, 2.06655274201734976e-9};
};
template <>
struct Series<float> {
  static constexpr float artanh[] = {0.333333426358011338f, 0.199943582805650907f, 0.147910757427628232f};
  static constexpr float sine[] = {-0.166666646679725854f, 0.00833274900322433252f, -0.000195880093994279508f};
  static constexpr float cosine[] = {-0.499999999691914668f, 0.0416666506655626461f, -0.00138875900651958922f,
                                     0.0000244638865847278267f};
};

// A word of 64 bits below 2^53, exactly.
template <class W>
requires std::same_as<W, math::Bits<double>>
[[gnu::always_inline]] inline Vec<double> number_of(W w) {
#if XSIMD_WITH_AVX512BW
  if constexpr (instruction_set == InstructionSet::avx512) return Vec<double>(_mm512_cvtepu64_pd(w));
#endif
  if constexpr (is_scalar) {
    return static_cast<double>(w);
  } else {  // 2^84 + 2^32 (upper half), 2^52 + lower half
    const Vec<double> high = from_bits<double>((w >> 32) | Words(math::bits_of(0x1p84))),
                      low = from_bits<double>((w & Words(lower)) | Words(math::bits_of(0x1p52)));
    return (high - (0x1p84 + 0x1p52)) + low;
  }
}
// A word of 32 bits, rounded.
template <class W>
requires std::same_as<W, math::Bits<float>>
[[gnu::always_inline]] inline Vec<float> number_of(W w) {
#if XSIMD_WITH_AVX512BW
  if constexpr (instruction_set == InstructionSet::avx512) return Vec<float>(_mm512_cvtepu32_ps(w));
#endif
  if constexpr (is_scalar) {
    return static_cast<float>(w);
  } else {  // 2^39 + 2^16 (upper half), 2^23 + lower half
    using B = math::Bits<float>;
    const Vec<float> high = from_bits<float>((w >> 16) | B(math::bits_of(0x1p39f))),
                     low = from_bits<float>((w & B(0xffff)) | B(math::bits_of(0x1p23f)));
    return (high - (0x1p39f + 0x1p23f)) + low;
  }
}

// Uniform in [0, 1): a multiple of 2^-53; the word / 2^32, rounded, which may be 1.
[[gnu::always_inline]] inline Vec<double> unit(math::Bits<double> w) { return number_of(w >> 11) * 0x1p-53; }
[[gnu::always_inline]] inline Vec<float> unit(math::Bits<float> w) { return number_of(w) * 0x1p-32f; }

// A number u in (0, 1) as 2^e (1 + f), sqrt(1/2) <= 1 + f <= sqrt(2).
template <class T>
struct Scaled {
  Vec<T> f, e;
};
template <class T>
[[gnu::always_inline]] inline Scaled<T> scaled(Vec<T> u) {  // for a normal number
  using F = math::Format<T>;
  using U = typename F::Unsigned;
  using B = math::Bits<T>;
  constexpr U root = math::bits_of(static_cast<T>(0.70710678118654752440)), fraction = (U(1) << F::mantissa) - 1;
  constexpr T integer = static_cast<T>(U(1) << F::mantissa);
  const B b = bits(u) + B(static_cast<U>((U(F::bias) << F::mantissa) - root));
  const Vec<T> biased = from_bits<T>((b >> F::mantissa) | B(math::bits_of(integer)));
  return {from_bits<T>((b & B(fraction)) + B(root)) - 1, biased - (integer + T(F::bias))};
}
// From 52 bits and a half: symmetric about 1/2, every step exact.
[[gnu::always_inline]] inline Scaled<double> open_unit(math::Bits<double> w) {
  return scaled((number_of(w >> 12) + 0.5) * 0x1p-52);
}
// From 32 bits and a half, with all 24 digits of 1 - u near u = 1.
[[gnu::always_inline]] inline Scaled<float> open_unit(math::Bits<float> w) {
  const Vec<float> u = (number_of(w) + 0.5f) * 0x1p-32f, rest = (number_of(~w) + 0.5f) * 0x1p-32f;
  const auto near_one = u > 0.70710678f;
  const Scaled<float> s = scaled(u);
  return {where(near_one, -rest, s.f), where(near_one, Vec<float>(0), s.e)};
}

// sqrt(-2 log(u)), log(1 + f) being 2 artanh(f / (2 + f)).
template <class T>
[[gnu::always_inline]] inline Vec<T> radius(Scaled<T> u) {
  const Vec<T> s = u.f / (u.f + 2), q = s * s, s4 = s * T(-4);
  return sqrt(u.e * static_cast<T>(-1.38629436111989061883) + (s4 + s4 * (q * series(q, Series<T>::artanh))));
}

// A point of the unit circle: from an angle in (0, pi / 4) and three bits that reflect it.
template <class T>
struct Point {
  Vec<T> x, y;
};
[[gnu::always_inline]] inline Vec<double> eighth(math::Bits<double> w) {
  return (number_of(w >> 12) + 0.5) * (0x1p-52 * 0.78539816339744830962);
}
[[gnu::always_inline]] inline Vec<float> eighth(math::Bits<float> w) {
  return (number_of(w) + 0.5f) * (0x1p-32f * 0.78539816339744830962f);
}
template <class T>
[[gnu::always_inline]] inline Point<T> on_circle(math::Bits<T> w) {
  using B = math::Bits<T>;
  constexpr auto top = math::bits_of(T(-0.0));
  const Vec<T> angle = eighth(B(w << 3)), q = angle * angle;
  const Vec<T> sine = angle + angle * (q * series(q, Series<T>::sine)),
               cosine = T(1) + q * series(q, Series<T>::cosine);
  const auto swapped = from_bits<T>(((w << 2) & B(top)) | B(math::bits_of(T(1)))) < T(0);
  const Vec<T> x = where(swapped, sine, cosine), y = where(swapped, cosine, sine);
  return {from_bits<T>(bits(x) | (w & B(top))), from_bits<T>(bits(y) | ((w << 1) & B(top)))};
}

// ---- The elements of a vector of blocks, in the order of the stream

// The first or second words of 64 bits of each block.
[[gnu::always_inline]] inline Words joined(Words low, Words high) { return (low & Words(lower)) | (high << 32); }

template <class T>
struct Elements {
  static constexpr std::ptrdiff_t count = lanes * static_cast<std::ptrdiff_t>(16 / sizeof(T));
  Vec<T> v[static_cast<std::size_t>(count / Vec<T>::size)];
};

[[gnu::always_inline]] inline Elements<double> uniform(const Blocks<Words>& b, double) {
  const auto [p, q] = interleaved(joined(b.r[0], b.r[1]), joined(b.r[2], b.r[3]));
  return {{unit(p), unit(q)}};
}
[[gnu::always_inline]] inline Elements<double> normal(const Blocks<Words>& b, double) {
  const Vec<double> r = radius(open_unit(joined(b.r[0], b.r[1])));
  const Point<double> at = on_circle<double>(joined(b.r[2], b.r[3]));
  const auto [p, q] = interleaved(bits(r * at.x), bits(r * at.y));
  return {{from_bits<double>(p), from_bits<double>(q)}};
}
template <class W, std::same_as<float> T>
[[gnu::always_inline]] inline Elements<T> uniform(const Blocks<W>& b, T) {
  using B = math::Bits<T>;
  if constexpr (is_scalar) {
    Elements<T> e;
    for (std::size_t k = 0; k < 4; ++k) e.v[k] = unit(static_cast<B>(b.r[k]));
    return e;
  } else {
    const auto [p, q] = interleaved(joined(b.r[0], b.r[1]), joined(b.r[2], b.r[3]));
    return {{unit(std::bit_cast<B>(p)), unit(std::bit_cast<B>(q))}};
  }
}
[[gnu::always_inline]] inline Point<float> normal_pair(math::Bits<float> a, math::Bits<float> b) {
  const Vec<float> r = radius(open_unit(a));
  const Point<float> at = on_circle<float>(b);
  return {r * at.x, r * at.y};
}
template <class W, std::same_as<float> T>
[[gnu::always_inline]] inline Elements<T> normal(const Blocks<W>& b, T) {
  using B = math::Bits<T>;
  if constexpr (is_scalar) {
    const auto word = [&](std::size_t k) { return static_cast<B>(b.r[k]); };
    const Point<float> p = normal_pair(word(0), word(1)), q = normal_pair(word(2), word(3));
    return {{p.x, p.y, q.x, q.y}};
  } else {
    const auto [x, y] = normal_pair(std::bit_cast<B>(joined(b.r[0], b.r[2])), std::bit_cast<B>(joined(b.r[1], b.r[3])));
    const W xs = std::bit_cast<W>(x.v), ys = std::bit_cast<W>(y.v);
    const auto [p, q] = interleaved(joined(xs, ys), (xs >> 32) | (ys & W(upper)));
    return {{from_bits<T>(std::bit_cast<B>(p)), from_bits<T>(std::bit_cast<B>(q))}};
  }
}

// Fills out[0 .. n) from the blocks first, first + 1, ...: `map` of the numbers that `draw` makes of them.
template <class T, class DrawBlocks, class Map>
[[gnu::always_inline]] inline void fill(RandomPlace from, T* out, std::ptrdiff_t n, DrawBlocks draw, Map map) {
  alignas(64) std::uint64_t offsets[static_cast<std::size_t>(lanes)];
  for (std::size_t i = 0; i < static_cast<std::size_t>(lanes); ++i) offsets[i] = from.first + i;
  Words position;
  std::memcpy(&position, offsets, sizeof position);
  const Keys keys(from.seed);
  constexpr std::ptrdiff_t count = Elements<T>::count;
  const auto store = [&](T* to) {
    const Elements<T> e = draw(blocks(keys, position), T());
    for (std::size_t k = 0; k < std::size(e.v); ++k)
      map(e.v[k]).store(to + static_cast<std::ptrdiff_t>(k) * Vec<T>::size);
    position = position + Words(static_cast<std::uint64_t>(lanes));
  };
  for (; n >= count; n -= count, out += count) store(out);
  if (n <= 0) return;
  T rest[static_cast<std::size_t>(count)];
  store(rest);
  std::memcpy(out, rest, static_cast<std::size_t>(n) * sizeof(T));
}

}  // namespace draws

template <VecElement T>
void draw_uniform(RandomPlace from, const UniformRange& range, void* out, std::ptrdiff_t n) {
  using L = Vec<T>;
  const auto low = static_cast<T>(range.low), width = static_cast<T>(range.width), last = static_cast<T>(range.last),
             factor = static_cast<T>(range.factor);
  const auto map = [=](L u) __attribute__((always_inline)) {
    const L v = (L(low) + L(width) * u) * L(factor);
    return where(v < L(last), v, L(last));
  };
  const auto draw = [](const auto& b, T type) __attribute__((always_inline)) { return draws::uniform(b, type); };
  draws::fill<T>(from, static_cast<T*>(out), n, draw, map);
}

template <VecElement T>
void draw_normal(RandomPlace from, double mean, double stddev, void* out, std::ptrdiff_t n) {
  using L = Vec<T>;
  const auto m = static_cast<T>(mean), s = static_cast<T>(stddev);
  const auto map = [=](L z) __attribute__((always_inline)) { return L(m) + L(s) * z; };
  const auto draw = [](const auto& b, T type) __attribute__((always_inline)) { return draws::normal(b, type); };
  draws::fill<T>(from, static_cast<T*>(out), n, draw, map);
}

}  // namespace reel::kernels
