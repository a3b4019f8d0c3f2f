// Loads and stores of the first lanes of a vector, for tails of arrays and arrays shorter than a vector. By masked
// instructions if the instruction set has them, otherwise element by element.
#pragma once
#include <cassert>

#include "kernels/vec.hpp"

namespace reel::kernels {

template <VecElement T>
[[gnu::always_inline]] inline T first_element(Vec<T> a) {
  if constexpr (is_scalar)
    return a.v;
  else
    return a.v.data[0];
}

// Whether load_first and store_first are as fast as for a whole vector, so that tails need no special case.
inline constexpr bool tails_are_masked = instruction_set == InstructionSet::avx512;

#if XSIMD_WITH_AVX2
// A sliding window over this array gives the mask of the first `count` elements.
alignas(64) inline constexpr std::int32_t ones_then_zeros[16] = {-1, -1, -1, -1, -1, -1, -1, -1,
                                                                 0,  0,  0,  0,  0,  0,  0,  0};
template <VecElement T>
[[gnu::always_inline]] inline __m256i first_elements(std::ptrdiff_t count) {
  constexpr auto words = static_cast<std::ptrdiff_t>(sizeof(T) / 4);
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(ones_then_zeros + 8 - count * words));
}
#endif

// The first `count` elements from p, 1 <= count <= size; the other lanes are those of `rest`.
template <VecElement T>
[[gnu::always_inline]] inline Vec<T> load_first(const T* p, std::ptrdiff_t count, Vec<T> rest) {
  using L = Vec<T>;
  assert(1 <= count && count <= L::size);
#if XSIMD_WITH_AVX512BW
  if constexpr (instruction_set == InstructionSet::avx512) {
    const unsigned mask = (1u << count) - 1u;
    if constexpr (sizeof(T) == 4)
      return L(typename L::Batch(_mm512_mask_loadu_ps(rest.v, static_cast<__mmask16>(mask), p)));
    else
      return L(typename L::Batch(_mm512_mask_loadu_pd(rest.v, static_cast<__mmask8>(mask), p)));
  }
#endif
#if XSIMD_WITH_AVX2
  if constexpr (instruction_set == InstructionSet::avx2) {
    const __m256i mask = first_elements<T>(count);
    if constexpr (sizeof(T) == 4)
      return L(typename L::Batch(_mm256_blendv_ps(rest.v, _mm256_maskload_ps(p, mask), _mm256_castsi256_ps(mask))));
    else
      return L(typename L::Batch(_mm256_blendv_pd(rest.v, _mm256_maskload_pd(p, mask), _mm256_castsi256_pd(mask))));
  }
#endif
  if constexpr (is_scalar) {
    return L::load(p);
  } else {
    alignas(64) T buffer[static_cast<std::size_t>(L::size)];
    rest.store(buffer);
    for (std::ptrdiff_t i = 0; i < count; ++i) buffer[i] = p[i];
    return L::load(buffer);
  }
}

// Stores the first `count` lanes, 1 <= count <= size.
template <VecElement T>
[[gnu::always_inline]] inline void store_first(Vec<T> a, T* p, std::ptrdiff_t count) {
  using L = Vec<T>;
  assert(1 <= count && count <= L::size);
#if XSIMD_WITH_AVX512BW
  if constexpr (instruction_set == InstructionSet::avx512) {
    const unsigned mask = (1u << count) - 1u;
    if constexpr (sizeof(T) == 4)
      _mm512_mask_storeu_ps(p, static_cast<__mmask16>(mask), a.v);
    else
      _mm512_mask_storeu_pd(p, static_cast<__mmask8>(mask), a.v);
    return;
  }
#endif
#if XSIMD_WITH_AVX2
  if constexpr (instruction_set == InstructionSet::avx2) {
    if constexpr (sizeof(T) == 4)
      _mm256_maskstore_ps(p, first_elements<T>(count), a.v);
    else
      _mm256_maskstore_pd(p, first_elements<T>(count), a.v);
    return;
  }
#endif
  if constexpr (is_scalar) {
    a.store(p);
  } else {
    alignas(64) T buffer[static_cast<std::size_t>(L::size)];
    a.store(buffer);
    for (std::ptrdiff_t i = 0; i < count; ++i) p[i] = buffer[i];
  }
}

}  // namespace reel::kernels
