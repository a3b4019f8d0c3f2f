// The reciprocal of a standard deviation whose square is beyond the range of the element type: in long double.
#pragma once
#include <cmath>
#include <cstddef>
#include <limits>

namespace reel::kernels {

/// Whether squares of deviations have overflowed, or may have lost digits by underflow that epsilon does not hide.
template <class T>
bool loses_squares(T variance, T epsilon) {
  constexpr T least = std::numeric_limits<T>::min() / std::numeric_limits<T>::epsilon();
  return variance > std::numeric_limits<T>::max() || variance + epsilon < least;
}

/// 1 / sqrt(variance + epsilon) of x, less first and second, in `blocks` blocks of n elements, `stride` apart.
template <class T>
[[gnu::cold, gnu::noinline]] T wide_inverse_deviation(const T* x, std::ptrdiff_t blocks, std::ptrdiff_t stride,
                                                      std::ptrdiff_t n, T first, T second, T epsilon) {
  long double squares = 0;
  for (std::ptrdiff_t b = 0; b < blocks; ++b)
    for (std::ptrdiff_t i = 0; i < n; ++i) {
      const auto d = static_cast<long double>((x[b * stride + i] - first) - second);
      squares += d * d;
    }
  const auto count = static_cast<long double>(blocks) * static_cast<long double>(n);
  return static_cast<T>(1 / std::sqrt(squares / count + static_cast<long double>(epsilon)));
}

}  // namespace reel::kernels
