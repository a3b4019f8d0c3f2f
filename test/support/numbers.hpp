// Shared by tests that compare single numbers: short names, the gradient of a function of one tensor, and the largest
// of several errors, also of tensors.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include <reel/reel.hpp>
#include <span>
#include <vector>

namespace support {

using Doubles = std::vector<double>;
inline constexpr double qnan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();

/// A gradient that is one number, and several of them.
inline double number(const reel::Gradient& g) { return g.dense().item(); }
inline Doubles numbers(std::span<const reel::Gradient> list) {
  Doubles result;
  for (const reel::Gradient& g : list) result.push_back(number(g));
  return result;
}

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

/// The largest magnitude; NaN where one is NaN.
inline double largest(const reel::Tensor& x) {
  double m = 0;
  for (const double v : cast(abs(x), reel::DType::float64).to_vector()) m = worse(m, v);
  return m;
}
/// The largest difference from what is expected, relative to numbers above 1; NaN where one of a pair is NaN alone, and
/// for another count of numbers.
inline double worst(const reel::Tensor& got, const Doubles& expected) {
  const Doubles values = cast(got, reel::DType::float64).to_vector();
  if (values.size() != expected.size()) return qnan;
  double m = 0;
  for (std::size_t k = 0; k < values.size(); ++k)
    if (!std::isnan(values[k]) || !std::isnan(expected[k]))
      m = worse(m, std::abs(values[k] - expected[k]) / std::max(1., std::abs(expected[k])));
  return m;
}

}  // namespace support
