// Shared by tests that compare single numbers: short names, the gradient of a function of one tensor, and the largest
// of several errors.
#pragma once
#include <cmath>
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

/// The larger of two errors; NaN if one of them is NaN, which std::max may drop.
template <class T>
T worse(T a, T b) {
  return std::isnan(a) || b <= a ? a : b;
}
template <class T, class... More>
T worse(T a, T b, More... more) {
  return worse(worse(a, b), more...);
}

}  // namespace support
