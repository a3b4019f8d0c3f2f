// Arrays of equal length interleaved into one. The number of arrays is a compile-time constant in each loop, so that
// the compiler generates vector shuffles and whole stores.
#include "kernels/baseline/interleave.hpp"

#include <cstdint>
#include <cstring>

namespace reel::kernels {
namespace {

struct Wide {
  std::uint64_t low, high;
};

template <class T, std::size_t Count>
void weave(const void* const* in, void* to, std::ptrdiff_t n) {
  constexpr auto step = static_cast<std::ptrdiff_t>(Count);
  const T* __restrict a = static_cast<const T*>(in[0]);
  const T* __restrict b = static_cast<const T*>(in[1]);
  const T* __restrict c = Count > 2 ? static_cast<const T*>(in[2]) : nullptr;
  const T* __restrict d = Count > 3 ? static_cast<const T*>(in[3]) : nullptr;
  T* __restrict out = static_cast<T*>(to);
  for (std::ptrdiff_t i = 0; i < n; ++i) {
    out[i * step] = a[i];
    out[i * step + 1] = b[i];
    if constexpr (Count > 2) out[i * step + 2] = c[i];
    if constexpr (Count > 3) out[i * step + 3] = d[i];
  }
}

// Pairs of 8-byte elements, for which compilers generate no shuffles.
typedef std::uint64_t Pair __attribute__((vector_size(16)));
[[gnu::always_inline]] inline Pair pair_at(const std::uint64_t* p) {
  Pair x;
  std::memcpy(&x, p, sizeof x);
  return x;
}
[[gnu::always_inline]] inline void put(Pair x, std::uint64_t* p) { std::memcpy(p, &x, sizeof x); }

template <std::size_t Count>
void weave_pairs(const void* const* in, void* to, std::ptrdiff_t n) {
  const std::uint64_t* x[Count];
  for (std::size_t k = 0; k < Count; ++k) x[k] = static_cast<const std::uint64_t*>(in[k]);
  auto* out = static_cast<std::uint64_t*>(to);
  std::ptrdiff_t i = 0;
  for (; n - i >= 2; i += 2, out += 2 * Count) {
    Pair v[Count];
    for (std::size_t k = 0; k < Count; ++k) v[k] = pair_at(x[k] + i);
    put(__builtin_shufflevector(v[0], v[1], 0, 2), out);
    if constexpr (Count == 2) put(__builtin_shufflevector(v[0], v[1], 1, 3), out + 2);
    if constexpr (Count == 3) {
      put(__builtin_shufflevector(v[2], v[0], 0, 3), out + 2);
      put(__builtin_shufflevector(v[1], v[2], 1, 3), out + 4);
    }
    if constexpr (Count == 4) {
      put(__builtin_shufflevector(v[2], v[3], 0, 2), out + 2);
      put(__builtin_shufflevector(v[0], v[1], 1, 3), out + 4);
      put(__builtin_shufflevector(v[2], v[3], 1, 3), out + 6);
    }
  }
  for (std::size_t k = 0; k < Count && i < n; ++k) out[k] = x[k][i];
}

template <class T>
void weave(const void* const* in, std::size_t count, void* out, std::ptrdiff_t n) {
  if constexpr (sizeof(T) == 8) {
    if (count == 2) return weave_pairs<2>(in, out, n);
    if (count == 3) return weave_pairs<3>(in, out, n);
    return weave_pairs<4>(in, out, n);
  }
  if (count == 2) return weave<T, 2>(in, out, n);
  if (count == 3) return weave<T, 3>(in, out, n);
  weave<T, 4>(in, out, n);
}

}  // namespace

void interleave(const void* const* in, std::size_t count, void* out, std::ptrdiff_t n, std::size_t bytes) {
  switch (bytes) {
    case 1:
      return weave<std::uint8_t>(in, count, out, n);
    case 2:
      return weave<std::uint16_t>(in, count, out, n);
    case 4:
      return weave<std::uint32_t>(in, count, out, n);
    case 8:
      return weave<std::uint64_t>(in, count, out, n);
    default:
      return weave<Wide>(in, count, out, n);
  }
}

}  // namespace reel::kernels
