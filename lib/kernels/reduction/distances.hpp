// Euclidean distances of many pairs of points: a register holds distances of one point to neighbouring others.
#pragma once
#include <algorithm>

#include "kernels/kernels.hpp"
#include "kernels/simd/unrolled.hpp"
#include "kernels/vec.hpp"

namespace reel::kernels {

template <VecElement T>
struct Distances {
  using L = Vec<T>;
  static constexpr int vectors = 2, tall = 4;  // a tile: the sums fit the registers
  static constexpr std::ptrdiff_t block = distance_block, narrow = vectors * L::size;
  static constexpr std::ptrdiff_t terms = 64;  // summed before they are added to the others

  // Distances of R points x [R, d] to `narrow` others, whose coordinates are columns of y.
  template <int R>
  static void tile(const T* x, std::ptrdiff_t d, const T* y, T* to) {
    L total[R * vectors];
    unrolled<R * vectors>([&](auto i) __attribute__((always_inline)) { total[i] = L(0); });
    for (std::ptrdiff_t first = 0; first < d; first += terms) {
      L sum[R * vectors];
      unrolled<R * vectors>([&](auto i) __attribute__((always_inline)) { sum[i] = L(0); });
      const std::ptrdiff_t end = std::min(d, first + terms);
      for (std::ptrdiff_t k = first; k < end; ++k) {
        L other[vectors];
        unrolled<vectors>([&](auto v)
                              __attribute__((always_inline)) { other[v] = L::load(y + k * block + v * L::size); });
        unrolled<R>([&](auto r) __attribute__((always_inline)) {
          const L own(x[r * d + k]);
          unrolled<vectors>([&](auto v) __attribute__((always_inline)) {
            const L apart = own - other[v];
            sum[r * vectors + v] = fma(apart, apart, sum[r * vectors + v]);
          });
        });
      }
      unrolled<R * vectors>([&](auto i) __attribute__((always_inline)) { total[i] += sum[i]; });
    }
    unrolled<R * vectors>([&](auto i) __attribute__((always_inline)) {
      sqrt(total[i]).store(to + (i / vectors) * block + (i % vectors) * L::size);
    });
  }

  static void run(const void* x, std::ptrdiff_t n, std::ptrdiff_t d, const void* y, std::ptrdiff_t width, void* out,
                  std::ptrdiff_t stride) {
    const T *from = static_cast<const T*>(x), *others = static_cast<const T*>(y);
    T* to = static_cast<T*>(out);
    alignas(64) T results[static_cast<std::size_t>(tall * block)];
    for (std::ptrdiff_t i = 0; i < n;) {
      const std::ptrdiff_t rows = n - i >= tall ? tall : 1;
      for (std::ptrdiff_t j = 0; j < width; j += narrow)
        (rows == tall ? &tile<tall> : &tile<1>)(from + i * d, d, others + j, results + j);
      for (std::ptrdiff_t r = 0; r < rows; ++r) std::copy_n(results + r * block, width, to + (i + r) * stride);
      i += rows;
    }
  }
};

}  // namespace reel::kernels
