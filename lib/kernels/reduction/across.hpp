// Reduces the lanes of a vector to one number: the upper half is combined with the lower half until one is left.
#pragma once
#include "kernels/simd/tail.hpp"

namespace reel::kernels {

template <class Operation, VecElement T, class I>
[[gnu::always_inline]] inline T across(Vec<T, I> a) {
#if XSIMD_WITH_AVX512BW
  if constexpr (std::same_as<I, isa::avx512>) {
    using Half = Vec<T, isa::avx2>;
    if constexpr (sizeof(T) == 4)
      return across<Operation>(Operation::combine(Half(typename Half::Batch(_mm512_castps512_ps256(a.v))),
                                                  Half(typename Half::Batch(_mm512_extractf32x8_ps(a.v, 1)))));
    else
      return across<Operation>(Operation::combine(Half(typename Half::Batch(_mm512_castpd512_pd256(a.v))),
                                                  Half(typename Half::Batch(_mm512_extractf64x4_pd(a.v, 1)))));
  }
#endif
#if XSIMD_WITH_AVX2
  if constexpr (std::same_as<I, isa::avx2>) {
    using Half = Vec<T, isa::sse2>;
    if constexpr (sizeof(T) == 4)
      return across<Operation>(Operation::combine(Half(typename Half::Batch(_mm256_castps256_ps128(a.v))),
                                                  Half(typename Half::Batch(_mm256_extractf128_ps(a.v, 1)))));
    else
      return across<Operation>(Operation::combine(Half(typename Half::Batch(_mm256_castpd256_pd128(a.v))),
                                                  Half(typename Half::Batch(_mm256_extractf128_pd(a.v, 1)))));
  }
#endif
#if XSIMD_WITH_SSE2
  if constexpr (std::same_as<I, isa::sse2>) {
    using L = Vec<T, I>;
    if constexpr (sizeof(T) == 4) {
      const L two = Operation::combine(a, L(typename L::Batch(_mm_movehl_ps(a.v, a.v))));
      return first_element(Operation::combine(two, L(typename L::Batch(_mm_shuffle_ps(two.v, two.v, 1)))));
    } else {
      return first_element(Operation::combine(a, L(typename L::Batch(_mm_unpackhi_pd(a.v, a.v)))));
    }
  }
#endif
  if constexpr (std::same_as<I, isa::scalar>) {
    return a.v;
  } else {
    alignas(64) T e[static_cast<std::size_t>(Vec<T, I>::size)];
    a.store(e);
    for (std::ptrdiff_t half = Vec<T, I>::size / 2; half > 0; half /= 2)
      for (std::ptrdiff_t j = 0; j < half; ++j) e[j] = Operation::combine(e[j], e[j + half]);
    return e[0];
  }
}

}  // namespace reel::kernels
