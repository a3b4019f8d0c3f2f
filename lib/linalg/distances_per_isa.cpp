// Euclidean distances of many pairs of points, and their gradient. For distances a register holds those of one point to
// neighbouring others; for the gradient, neighbouring coordinates of one point.
#include <algorithm>
#include <limits>

#include "kernels/simd/tail.hpp"
#include "kernels/simd/unrolled.hpp"
#include "kernels/vec.hpp"
#include "linalg/distance_kernels.hpp"

namespace reel::kernels {

template <VecElement T>
struct Distances {
  using L = Vec<T>;
  // A tile: the sums fit the registers. Its shape is measured by `bench/run --filter cdist`.
  static constexpr bool wide = instruction_set == InstructionSet::avx512;
  static constexpr int vectors = wide ? 4 : 2, tall = wide ? 2 : 4;
  static constexpr std::ptrdiff_t block = distance_block, narrow = vectors * L::size;
  static constexpr std::ptrdiff_t terms = 64;  // summed before they are added to the others

  // Distances of R points x [R, d] to `narrow` others, whose coordinates are columns of y.
  template <int R>
  static void tile(const T* x, std::ptrdiff_t d, const T* y, T* to, std::ptrdiff_t stride) {
    L total[R * vectors];
    unrolled<R * vectors>([&](auto i) __attribute__((always_inline)) { total[i] = L(0); });
    for (std::ptrdiff_t first = 0; first < d; first += terms) {
      L sum[R * vectors];
      unrolled<R * vectors>([&](auto i) __attribute__((always_inline)) { sum[i] = L(0); });
      const std::ptrdiff_t end = std::min(d, first + terms);
#ifndef __clang__
#pragma GCC unroll 2
#endif
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
      sqrt(total[i]).store(to + (i / vectors) * stride + (i % vectors) * L::size);
    });
  }

  static void run(const void* x, std::ptrdiff_t n, std::ptrdiff_t d, const void* y, std::ptrdiff_t width, void* out,
                  std::ptrdiff_t stride) {
    const T *from = static_cast<const T*>(x), *others = static_cast<const T*>(y);
    T* to = static_cast<T*>(out);
    alignas(64) T results[static_cast<std::size_t>(tall * narrow)];
    for (std::ptrdiff_t i = 0; i < n;) {
      const std::ptrdiff_t rows = n - i >= tall ? tall : 1;
      for (std::ptrdiff_t j = 0; j < width; j += narrow) {
        T* row = to + i * stride + j;
        const bool whole = width - j >= narrow;
        (rows == tall ? &tile<tall> : &tile<1>)(from + i * d, d, others + j, whole ? row : results,
                                                whole ? stride : narrow);
        for (std::ptrdiff_t r = 0; !whole && r < rows; ++r)
          std::copy_n(results + r * narrow, width - j, row + r * stride);
      }
      i += rows;
    }
  }

  // ---- gradient

  static constexpr std::ptrdiff_t part = 256;  // points y whose quotients g / z are computed at a time

  // to[r][0, count) += the sum over j < m of factors[r][j] * (x[r] - y[j]), V vectors wide.
  template <int R, int V>
  static void add_slopes(const T* factors, const T* x, const T* y, std::ptrdiff_t m, std::ptrdiff_t d,
                         std::ptrdiff_t count, T* to) {
    const auto load = [count](const T* p) __attribute__((always_inline)) {
      return V == 1 ? load_first(p, count, L(0)) : L::load(p);
    };
    L own[R * V], sum[R * V];
    unrolled<R * V>([&](auto i) __attribute__((always_inline)) {
      own[i] = load(x + (i / V) * d + (i % V) * L::size);
      sum[i] = load(to + (i / V) * d + (i % V) * L::size);
    });
    for (std::ptrdiff_t j = 0; j < m; ++j) {
      L other[V];
      unrolled<V>([&](auto v) __attribute__((always_inline)) { other[v] = load(y + j * d + v * L::size); });
      unrolled<R>([&](auto r) __attribute__((always_inline)) {
        const L factor(factors[r * part + j]);
        unrolled<V>([&](auto v) __attribute__((always_inline)) {
          sum[r * V + v] = fma(factor, own[r * V + v] - other[v], sum[r * V + v]);
        });
      });
    }
    unrolled<R * V>([&](auto i) __attribute__((always_inline)) {
      T* place = to + (i / V) * d + (i % V) * L::size;
      V == 1 ? store_first(sum[i], place, count) : sum[i].store(place);
    });
  }
  template <int R>
  static void add_rows(const T* factors, const T* x, const T* y, std::ptrdiff_t m, std::ptrdiff_t d, T* to) {
    std::ptrdiff_t k = 0;
    if constexpr (R > 1)  // the last points of all, vector by vector
      for (; d - k >= narrow; k += narrow) add_slopes<R, vectors>(factors, x + k, y + k, m, d, narrow, to + k);
    for (; k < d; k += L::size)
      add_slopes<R, 1>(factors, x + k, y + k, m, d, std::min<std::ptrdiff_t>(L::size, d - k), to + k);
  }
  // g / z, 0 at z = 0. False where the quotients do not serve: see DistanceLoops.
  static bool divide(const T* g, const T* z, std::ptrdiff_t n, T* to) {
    constexpr T infinity = std::numeric_limits<T>::infinity(), least = std::numeric_limits<T>::min();
    Mask<T> finite(true);
    for (std::ptrdiff_t j = 0; j < n; j += L::size) {
      const std::ptrdiff_t count = std::min<std::ptrdiff_t>(L::size, n - j);
      const L distance = load_first(z + j, count, L(0)), none = L(0);
      const L cotangent = load_first(g + j, count, none),
              quotient = where(distance == none, none, cotangent / distance);
      finite = finite & (abs(quotient) < L(infinity)) & (distance < L(infinity));
      const auto large = distance > L(large_distance<T>);
      if (any(large)) finite = finite & !(large & (cotangent != none) & (abs(quotient) < L(least)));
      store_first(quotient, to + j, count);
    }
    return all(finite);
  }

  static bool vjp(const void* g, const void* z, const void* x, const void* y, std::ptrdiff_t n, std::ptrdiff_t m,
                  std::ptrdiff_t d, void* out) {
    const T *cotangents = static_cast<const T*>(g), *distances = static_cast<const T*>(z);
    const T *from = static_cast<const T*>(x), *others = static_cast<const T*>(y);
    T* to = static_cast<T*>(out);
    alignas(64) T factors[static_cast<std::size_t>(tall * part)];
    std::fill_n(to, n * d, T(0));
    for (std::ptrdiff_t i = 0; i < n;) {
      const std::ptrdiff_t rows = n - i >= tall ? tall : 1;
      for (std::ptrdiff_t j = 0; j < m; j += part) {
        const std::ptrdiff_t count = std::min(part, m - j);
        for (std::ptrdiff_t r = 0; r < rows; ++r)
          if (!divide(cotangents + (i + r) * m + j, distances + (i + r) * m + j, count, factors + r * part))
            return false;
        (rows == tall ? &add_rows<tall> : &add_rows<1>)(factors, from + i * d, others + j * d, count, d, to + i * d);
      }
      i += rows;
    }
    return true;
  }
};

const void* distances_kernels() {
  static DistanceKernels all;
  all[DType::float32] = {&Distances<float>::run, &Distances<float>::vjp};
  all[DType::float64] = {&Distances<double>::run, &Distances<double>::vjp};
  return &all;
}

}  // namespace reel::kernels
