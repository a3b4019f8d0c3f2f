// Splines and values on grids by their definitions, as curves.hpp has those of curves.
#pragma once
#include <cmath>
#include <cstdint>
#include <functional>

#include "curves.hpp"

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

// ---- Arrays at positions that count elements

/// As reel::Border.
enum class Beyond { constant, nearest, reflect, mirror, wrap, grid_constant, grid_wrap };
enum class Around { nearest_up, nearest_even, linear, b_spline, keys };

inline std::int64_t floor_of(long double x) { return static_cast<std::int64_t>(std::floor(x)); }

/// The element that index i stands for; -1: the fill value.
inline std::int64_t element_at(std::int64_t i, std::int64_t n, Beyond beyond) {
  while (i < 0 || i >= n) {
    if (beyond == Beyond::constant || beyond == Beyond::grid_constant) return -1;
    if (n == 1 || beyond == Beyond::nearest || beyond == Beyond::wrap) return i < 0 ? 0 : n - 1;
    if (beyond == Beyond::reflect) i = i < 0 ? -1 - i : 2 * n - 1 - i;
    if (beyond == Beyond::mirror) i = i < 0 ? -i : 2 * n - 2 - i;
    if (beyond == Beyond::grid_wrap) i += i < 0 ? n : -n;
  }
  return i;
}

/// The weights of coefficients c(i - 1) ... c(i + 2) at i + t.
template <class N>
std::vector<N> four_weights(const N& t, bool keys) {
  std::vector<N> w;
  for (int k = -1; k <= 2; ++k) {
    const N d = k <= 0 ? t - N(k) : N(k) - t;  // the distance
    const bool outer = k == -1 || k == 2;
    const N a = N(-0.75L), u = N(2) - d;
    if (keys)
      w.push_back(outer ? a * (d * d * d - N(5) * d * d + N(8) * d - N(4))
                        : (a + N(2)) * d * d * d - (a + N(3)) * d * d + N(1));
    else
      w.push_back(outer ? u * u * u / N(6) : N(2) / N(3) - d * d * u / N(2));
  }
  return w;
}
/// The coefficients of the B-splines through the values: one equation for each of them.
template <class N>
Numbers<N> coefficients_through(const Numbers<N>& values, Beyond beyond) {
  const auto n = static_cast<std::int64_t>(values.size());
  std::vector<Numbers<N>> a(values.size(), Numbers<N>(values.size()));
  for (std::int64_t i = 0; i < n; ++i)
    for (const std::int64_t k : {-1, 0, 1}) {
      N& own = a[static_cast<std::size_t>(i)][static_cast<std::size_t>(element_at(i + k, n, beyond))];
      own = own + N(k == 0 ? 4 : 1) / N(6);
    }
  return eliminated(a, values);
}

/// The position in the array, or in its period, that x is at.
template <class N>
N folded(N x, std::int64_t n, Beyond beyond, bool nearest) {
  const N last = N(n - 1), zero = N(0);
  if (beyond == Beyond::wrap && less(x, zero)) {
    do x = x + last;
    while (!less(zero, x));
  } else if (beyond == Beyond::wrap && less(last, x)) {
    do x = x - last;
    while (!less(x, last));
  } else if (beyond == Beyond::nearest) {
    x = less(x, zero) ? zero : less(last, x) ? last : x;
  }
  if (!nearest || (beyond != Beyond::mirror && beyond != Beyond::reflect)) return x;
  const N edge = beyond == Beyond::mirror ? zero : N(0.5L);
  while (less(x, zero - edge) || less(last + edge, x)) {
    if (less(x, zero - edge)) x = zero - edge - edge - x;
    if (less(last + edge, x)) x = last + edge + last + edge - x;
  }
  return x;
}

/// The function through a row of values at x.
template <class N>
N along_row(Numbers<N> row, N x, Around around, Beyond beyond, const N& fill) {
  const bool nearest = around == Around::nearest_up || around == Around::nearest_even;
  const bool four = around == Around::b_spline || around == Around::keys;
  auto n = static_cast<std::int64_t>(row.size());
  if (n == 1 && (beyond == Beyond::mirror || beyond == Beyond::wrap)) beyond = Beyond::nearest;
  Beyond taps = beyond;
  if (around == Around::b_spline) {
    if (beyond == Beyond::constant || beyond == Beyond::wrap) taps = Beyond::mirror;
    if (beyond == Beyond::nearest || beyond == Beyond::grid_constant) {
      const N front = beyond == Beyond::nearest ? row.front() : fill,
              back = beyond == Beyond::nearest ? row.back() : fill;
      row.insert(row.begin(), 12, front), row.insert(row.end(), 12, back);
      x = x + N(12), n += 24;
    }
    const Beyond equations = beyond == Beyond::nearest         ? Beyond::reflect
                             : beyond == Beyond::grid_constant ? Beyond::mirror
                                                               : taps;
    row = coefficients_through(row, equations);
  } else if (beyond == Beyond::constant) {
    taps = Beyond::nearest;
  }
  if (around != Around::keys || beyond != Beyond::nearest) x = folded(x, n, beyond, nearest);
  std::int64_t i = floor_of(nearest ? x + N(0.5L) : x);
  if (around == Around::nearest_even && i % 2 != 0 && !less(N(i), x + N(0.5L))) --i;
  if (around == Around::linear && i == n - 1 && n > 1 && (beyond == Beyond::constant || beyond == Beyond::wrap)) --i;
  const N t = x - N(i);
  const auto tap = [&](std::int64_t k) {
    const std::int64_t e = element_at(k, n, taps);
    return e < 0 ? fill : row[static_cast<std::size_t>(e)];
  };
  if (nearest) return tap(i);
  if (!four) return tap(i) * (N(1) - t) + tap(i + 1) * t;
  const std::vector<N> w = four_weights(t, around == Around::keys);
  return w[0] * tap(i - 1) + w[1] * tap(i) + w[2] * tap(i + 1) + w[3] * tap(i + 2);
}
/// The function of several positions x[k] through the values.
template <class N>
N at_positions(const std::vector<std::size_t>& extents, const std::function<N(const std::vector<std::size_t>&)>& value,
               const Numbers<N>& x, Around around, Beyond beyond, const N& fill) {
  for (std::size_t k = 0; k < x.size() && beyond == Beyond::constant; ++k)
    if (less(x[k], N(0)) || less(N(static_cast<std::int64_t>(extents[k]) - 1), x[k])) return fill;
  return on_axes<N>(extents, value,
                    [&](std::size_t k, const Numbers<N>& row) { return along_row(row, x[k], around, beyond, fill); });
}

// ---- Arrays at other sizes

/// As reel::ResizeOptions; Keys's coefficient is -0.5.
struct Resizing {
  int method;  // nearest, linear, cubic, lanczos3, lanczos5
  bool antialias, align_corners;
};
inline long double resize_kernel(int method, long double x) {
  const long double radius = method == 3 ? 3 : 5, pi = 3.14159265358979323846264338327950288L;
  if (method == 1) return x < 1 ? 1 - x : 0;
  if (method > 2)
    return x == 0 ? 1 : x > radius ? 0 : radius * std::sin(pi * x) * std::sin(pi * x / radius) / (pi * pi * x * x);
  if (x < 1) return 1.5L * x * x * x - 2.5L * x * x + 1;
  return x < 2 ? -0.5L * x * x * x + 2.5L * x * x - 4 * x + 2 : 0;
}
/// The weights of n elements in element i of m.
inline std::vector<long double> resize_weights(const Resizing& r, std::int64_t n, std::int64_t m, std::int64_t i) {
  const long double from = static_cast<long double>(n), to = static_cast<long double>(m),
                    at = static_cast<long double>(i);
  const long double step = !r.align_corners ? from / to : m > 1 ? (from - 1) / (to - 1) : 0;
  const long double place = r.align_corners ? at * step : (at + 0.5L) * step - 0.5L;
  std::vector<long double> w(static_cast<std::size_t>(n));
  if (r.method == 0) {
    w[static_cast<std::size_t>(std::floor(place + 0.5L))] = 1;
    return w;
  }
  long double sum = 0;
  for (std::int64_t j = 0; j < n; ++j) {
    const long double distance = absolute(place - static_cast<long double>(j));
    sum += w[static_cast<std::size_t>(j)] =
        resize_kernel(r.method, r.antialias && step > 1 ? distance / step : distance);
  }
  for (long double& v : w) v /= sum;
  return w;
}

}  // namespace interpolation
