// Bits of integers, mantissas and gates over N.
#pragma once
#include <cmath>

#include "../naive.hpp"

namespace cases::numbers {

/// In two's complement of so many bits; other counts shift all bits out.
inline std::int64_t shifted_left(std::int64_t x, std::int64_t n, int bits = 64) {
  if (n < 0 || n >= bits) return 0;
  const std::uint64_t y = static_cast<std::uint64_t>(x) << n;
  return bits == 32 ? static_cast<std::int32_t>(y) : static_cast<std::int64_t>(y);
}
inline std::int64_t shifted_right(std::int64_t x, std::int64_t n) {
  if (n < 0 || n > 63) return x < 0 ? -1 : 0;
  return static_cast<std::int64_t>(std::floor(std::ldexp(static_cast<Real>(x), -static_cast<int>(n))));
}

template <class N>
N times_power(const N& x, std::int64_t n) {
  return x * N(std::ldexp(Real(1), static_cast<int>(n)));
}
/// frexp's, of numbers that are not near its jumps.
template <class N>
N mantissa_of(const N& x) {
  int exponent = 0;
  const Real m = std::fabs(std::frexp(value_of(x), &exponent));
  require<N>(m > 0.501L && m < 0.999L);
  return times_power(x, -exponent);
}
/// The first half along the axis times the sigmoid of the second.
template <class N>
ArrayOf<N> gated(const ArrayOf<N>& x, std::int64_t axis) {
  return along(x, axis, [](const RowOf<N>& row) {
    const std::size_t half = row.size() / 2;
    RowOf<N> y;
    for (std::size_t i = 0; i < half; ++i) y.push_back(row[i] * rounded(N(1) / (N(1) + exp(-row[half + i])), 8));
    return y;
  });
}

}  // namespace cases::numbers
