// Vectors of doubles, and code that all minimisers share.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include <reel/optim/minimize.hpp>
#include <span>
#include <vector>

#include "core/fail.hpp"

namespace reel::optim {

using Vector = std::vector<double>;

inline double dot(const Vector& a, const Vector& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}
inline double length(const Vector& a) { return std::sqrt(dot(a, a)); }
/// y += factor x.
inline void add(Vector& y, double factor, const Vector& x) {
  for (std::size_t i = 0; i < y.size(); ++i) y[i] += factor * x[i];
}
inline bool all_finite(double value, const Vector& v) {
  return std::isfinite(value) && std::all_of(v.begin(), v.end(), [](double x) { return std::isfinite(x); });
}

/// If no lower value is found and Point::gradient_size is below this, rounding hides the remaining decrease: the cube
/// root of the relative error of the values. Dennis and Schnabel, section 7.2.
inline const double hidden_by_rounding = std::cbrt(std::numeric_limits<double>::epsilon());

/// A point with its value and gradient.
struct Point {
  Vector x, gradient;
  double value = 0;

  /// The gradient relative to the sizes of point and value. Dennis and Schnabel, "Numerical Methods for Unconstrained
  /// Optimization", 1983, section 7.2.
  double gradient_size() const {
    return gradient_size([](std::size_t) { return false; });
  }
  /// The same over the elements for which left_out(i) is false.
  template <class LeftOut>
  double gradient_size(const LeftOut& left_out) const {
    double greatest = 0;
    for (std::size_t i = 0; i < x.size(); ++i)
      if (!left_out(i)) greatest = std::max(greatest, std::abs(gradient[i]) * std::max(std::abs(x[i]), 1.));
    return greatest / std::max(std::abs(value), 1.);
  }
};

inline void require_start(const char* op, const Point& start) {
  if (!all_finite(start.value, start.gradient))
    fail<ValueError>(op, "the function or its gradient is not finite at the start");
}
inline void require_options(const char* op, std::int64_t max_iterations, double gradient_tolerance) {
  if (max_iterations < 0) fail<ValueError>(op, "max_iterations is {}, must not be negative", max_iterations);
  if (!(gradient_tolerance >= 0))
    fail<ValueError>(op, "gradient_tolerance is {}, must not be negative", gradient_tolerance);
}
/// ValueError unless lower <= upper.
inline void require_bounds(const char* op, std::span<const double> lower, std::span<const double> upper) {
  for (std::size_t i = 0; i < lower.size(); ++i)
    if (!(lower[i] <= upper[i]))
      fail<ValueError>(op, "the lower bound of element {} is {}, the upper {}; lower <= upper must hold", i, lower[i],
                       upper[i]);
}

}  // namespace reel::optim
