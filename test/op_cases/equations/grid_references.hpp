// Splines and values on grids by their definitions, as references.hpp has those of curves.
#pragma once
#include <functional>

#include "references.hpp"

namespace interpolation {

/// The B-spline of the knots j ... j + degree + 1 at x, or its derivative, in the polynomial that it is in an interval
/// of the knots.
template <class N>
N basis(const Numbers<N>& t, std::size_t j, int degree, std::size_t interval, const N& x, int derivative) {
  if (degree == 0) return N(j == interval && derivative == 0 ? 1 : 0);
  const std::size_t k = static_cast<std::size_t>(degree);
  const auto part = [&](std::size_t from, std::size_t other, int sign) {
    const N length = t[from + k] - t[from];
    if (!less(N(0), length)) return N(0);
    if (derivative > 0) return N(sign * degree) * basis(t, from, degree - 1, interval, x, derivative - 1) / length;
    return N(sign) * (x - t[other]) / length * basis(t, from, degree - 1, interval, x, 0);
  };
  return part(j, j, 1) + part(j + 1, j + k + 1, -1);
}
template <class N>
N b_spline(const Numbers<N>& t, const Numbers<N>& c, int degree, const N& x, int derivative) {
  const auto k = static_cast<std::size_t>(degree);
  const Numbers<N> inner(t.begin() + degree, t.end() - degree);
  const std::size_t interval = k + interval_of(inner, x);
  N sum = 0;
  for (std::size_t j = interval - k; j <= interval; ++j)
    sum = sum + c[j] * basis(t, j, degree, interval, x, derivative);
  return sum;
}
/// From the first knot of the domain to x: exact for polynomials of degree 3, interval by interval (Simpson's rule).
template <class N>
N b_spline_integral(const Numbers<N>& t, const Numbers<N>& c, int degree, const N& x) {
  const Numbers<N> inner(t.begin() + degree, t.end() - degree);
  const std::size_t last = interval_of(inner, x);
  N sum = 0;
  for (std::size_t i = 0; i <= last; ++i) {
    const N a = inner[i], b = i == last ? x : inner[i + 1];
    // In the polynomial of the interval, also at its ends.
    const auto at = [&](const N& p) {
      N y = 0;
      const std::size_t interval = static_cast<std::size_t>(degree) + i;
      for (std::size_t j = i; j <= interval; ++j) y = y + c[j] * basis(t, j, degree, interval, p, 0);
      return y;
    };
    sum = sum + (b - a) / N(6) * (at(a) + N(4) * at((a + b) / N(2)) + at(b));
  }
  return sum;
}

enum class OnGrid { nearest, linear, cubic };

/// A function of one coordinate through values on an axis; the outermost polynomials go on.
template <class N>
N on_axis(const Numbers<N>& p, const Numbers<N>& values, const N& x, OnGrid method) {
  if (p.size() == 1) return values[0];
  if (method == OnGrid::cubic) return spline(p, values, Ends::not_a_knot).at(x, 0);
  const std::size_t i = interval_of(p, x);
  const N t = (x - p[i]) / (p[i + 1] - p[i]);
  if (method == OnGrid::nearest) return less(N(0.5L), t) ? values[i + 1] : values[i];
  return values[i] * (N(1) - t) + values[i + 1] * t;
}
/// A function of several: along the first axis, of what the others give. value(index) is that at a point of the grid;
/// one(k, row) is the function of one coordinate along axis k.
template <class N>
N on_axes(const std::vector<std::size_t>& extents, const std::function<N(const std::vector<std::size_t>&)>& value,
          const std::function<N(std::size_t, const Numbers<N>&)>& one, std::vector<std::size_t> index = {}) {
  const std::size_t k = index.size();
  if (k == extents.size()) return value(index);
  Numbers<N> row;
  index.push_back(0);
  for (; index.back() < extents[k]; ++index.back()) row.push_back(on_axes(extents, value, one, index));
  return one(k, row);
}

}  // namespace interpolation
