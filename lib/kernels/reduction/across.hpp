// Reduces the lanes of a vector to one number: the upper half is combined with the lower half until one is left.
#pragma once
#include "kernels/simd/tail.hpp"

namespace reel::kernels {

// A half is a batch of the instruction set whose registers have half the size. Its extrema are those of Vec.
template <class T, class A>
[[gnu::always_inline]] inline xsimd::batch<T, A> greater_of(xsimd::batch<T, A> a, xsimd::batch<T, A> b) {
  return xsimd::max(a, b);
}
template <class T, class A>
[[gnu::always_inline]] inline xsimd::batch<T, A> maximum(xsimd::batch<T, A> a, xsimd::batch<T, A> b) {
  return xsimd::select(~(a == a), a, xsimd::max(a, b));
}
template <class T, class A>
[[gnu::always_inline]] inline xsimd::batch<T, A> minimum(xsimd::batch<T, A> a, xsimd::batch<T, A> b) {
  return xsimd::select(~(a == a), a, xsimd::min(a, b));
}

template <class Operation, class T, class A>
[[gnu::always_inline]] inline T across(xsimd::batch<T, A> a) {
  constexpr auto size = static_cast<std::ptrdiff_t>(xsimd::batch<T, A>::size);
  alignas(64) T e[static_cast<std::size_t>(size)];
  a.store_unaligned(e);
  for (std::ptrdiff_t half = size / 2; half > 0; half /= 2)
    for (std::ptrdiff_t j = 0; j < half; ++j) e[j] = Operation::combine(e[j], e[j + half]);
  return e[0];
}
#if XSIMD_WITH_SSE2
template <class Operation>
[[gnu::always_inline]] inline float across(xsimd::batch<float, xsimd::sse2> a) {
  using B = xsimd::batch<float, xsimd::sse2>;
  const B two = Operation::combine(a, B(_mm_movehl_ps(a, a)));
  return Operation::combine(two, B(_mm_shuffle_ps(two, two, 1))).data[0];
}
template <class Operation>
[[gnu::always_inline]] inline double across(xsimd::batch<double, xsimd::sse2> a) {
  return Operation::combine(a, xsimd::batch<double, xsimd::sse2>(_mm_unpackhi_pd(a, a))).data[0];
}
#endif
#if XSIMD_WITH_AVX2
template <class Operation>
[[gnu::always_inline]] inline float across(xsimd::batch<float, xsimd::fma3<xsimd::avx2>> a) {
  using Half = xsimd::batch<float, xsimd::sse2>;
  return across<Operation>(Operation::combine(Half(_mm256_castps256_ps128(a)), Half(_mm256_extractf128_ps(a, 1))));
}
template <class Operation>
[[gnu::always_inline]] inline double across(xsimd::batch<double, xsimd::fma3<xsimd::avx2>> a) {
  using Half = xsimd::batch<double, xsimd::sse2>;
  return across<Operation>(Operation::combine(Half(_mm256_castpd256_pd128(a)), Half(_mm256_extractf128_pd(a, 1))));
}
#endif
#if XSIMD_WITH_AVX512BW
template <class Operation>
[[gnu::always_inline]] inline float across(xsimd::batch<float, xsimd::avx512bw> a) {
  using Half = xsimd::batch<float, xsimd::fma3<xsimd::avx2>>;
  return across<Operation>(Operation::combine(Half(_mm512_castps512_ps256(a)), Half(_mm512_extractf32x8_ps(a, 1))));
}
template <class Operation>
[[gnu::always_inline]] inline double across(xsimd::batch<double, xsimd::avx512bw> a) {
  using Half = xsimd::batch<double, xsimd::fma3<xsimd::avx2>>;
  return across<Operation>(Operation::combine(Half(_mm512_castpd512_pd256(a)), Half(_mm512_extractf64x4_pd(a, 1))));
}
#endif

template <class Operation, VecElement T>
[[gnu::always_inline]] inline T across(Vec<T> a) {
  if constexpr (is_scalar)
    return a.v;
  else
    return across<Operation>(a.v);
}

}  // namespace reel::kernels
