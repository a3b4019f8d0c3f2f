// Shared by tests that compare single numbers: short names, and the gradient of a function of one tensor.
#pragma once
#include <limits>
#include <reel/reel.hpp>
#include <vector>

namespace support {

using Doubles = std::vector<double>;
inline constexpr double qnan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();

/// The gradient of the sum of f's elements at x.
template <class F>
reel::Tensor gradient_at(F f, const reel::Tensor& x) {
  reel::GradientTape tape;
  tape.watch(x);
  return *tape.gradient(f(x), x);
}
/// Its elements.
template <class F>
Doubles slope_at(F f, const reel::Tensor& x) {
  return gradient_at(f, x).to_vector();
}

}  // namespace support
