// Small programs that the benchmarks time and whose instructions test/budget holds to its table.
#pragma once
#include <reel/reel.hpp>

namespace support {

/// y c^length, one product after another.
inline reel::Tensor product_chain(reel::Tensor y, const reel::Tensor& c, int length) {
  for (int i = 0; i < length; ++i) y = y * c;
  return y;
}
/// tanh(tanh(... y)), length times.
inline reel::Tensor tanh_chain(reel::Tensor y, int length) {
  for (int i = 0; i < length; ++i) y = tanh(y);
  return y;
}
/// sum_i 100 (x_{i+1} - x_i^2)^2 + (1 - x_i)^2 of x [n].
inline reel::Tensor rosenbrock(const reel::Tensor& x) {
  const reel::Tensor head = slice(x, {reel::range(0, -1)}), tail = slice(x, {reel::range_from(1)});
  return sum(100 * square(tail - square(head)) + square(1 - head));
}

}  // namespace support
