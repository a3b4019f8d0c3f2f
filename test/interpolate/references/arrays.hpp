// Curves through samples, values on grids and images at other sizes over N: arrays of what curves.hpp has of one
// curve and grids.hpp of one position.
#pragma once
#include <optional>

#include "../../op_cases/naive.hpp"
#include "grids.hpp"

namespace cases::grids {

using interpolation::Around, interpolation::Beyond, interpolation::Ends, interpolation::OnGrid, interpolation::Pieces,
    interpolation::Resizing;

inline Index joined(Index a, const Index& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}
inline Extents joined(const Extents& a, const Extents& b) {
  Extents all = a;
  for (const std::int64_t extent : b) all.push_back(extent);
  return all;
}
/// Of the axes from `from` to `to`.
inline Extents axes(const Extents& shape, std::int64_t from, std::int64_t to) {
  Extents some;
  for (std::int64_t k = from; k < to; ++k) some.push_back(shape[k]);
  return some;
}
inline std::vector<std::size_t> counts_of(const Extents& shape) { return {shape.begin(), shape.end()}; }

/// Of knots, rows of values and points: f(knots, row, point) for each row and point.
template <class N, class F>
ArrayOf<N> at_points(ArraysOf<N> x, const F& f) {
  const Extents rows = axes(x[1].shape, 0, x[1].shape.rank() - 1);
  ArrayOf<N> y{joined(rows, x[2].shape), {}};
  for_each_index(rows, [&](const Index& i) {
    RowOf<N> row;
    for (std::int64_t k = 0; k < x[1].shape[-1]; ++k) row.push_back(at(x[1], joined(i, {k})));
    for (const N& point : x[2].values) y.values.push_back(f(x[0].values, row, point));
  });
  return y;
}

/// Of the coordinates of the axes, values and points. Outside the grid: `fill`, or what the outermost polynomials are.
template <class N>
ArrayOf<N> on_grid(ArraysOf<N> x, OnGrid method, std::optional<Real> fill = {}) {
  const std::size_t d = x.size() - 2;
  const ArrayOf<N>&values = x[d], &points = x[d + 1];
  const Extents lead = axes(points.shape, 0, points.shape.rank() - 1),
                rest = axes(values.shape, static_cast<std::int64_t>(d), values.shape.rank()),
                grid = axes(values.shape, 0, static_cast<std::int64_t>(d));
  ArrayOf<N> y{joined(lead, rest), {}};
  for_each_index(lead, [&](const Index& p) {
    const auto point = [&](std::size_t k) { return at(points, joined(p, {static_cast<std::int64_t>(k)})); };
    bool outside = false;
    for (std::size_t k = 0; k < d && fill; ++k) {
      using interpolation::less;
      outside = outside || less(point(k), x[k].values.front()) || less(x[k].values.back(), point(k));
    }
    for_each_index(rest, [&](const Index& behind) {
      const auto one = [&](std::size_t k, const RowOf<N>& row) {
        return interpolation::on_axis<N>(x[k].values, row, point(k), method);
      };
      const auto value = [&](const std::vector<std::size_t>& g) {
        return at(values, joined(Index(g.begin(), g.end()), behind));
      };
      y.values.push_back(outside ? N(*fill) : interpolation::on_axes<N>(counts_of(grid), value, one));
    });
  });
  return y;
}

/// The value at a position in the last axes of x.
template <class N>
N at_position(const ArrayOf<N>& x, const Index& lead, const RowOf<N>& position, Around around, Beyond beyond,
              const N& fill) {
  const auto value = [&](const std::vector<std::size_t>& last) {
    return at(x, joined(lead, {last.begin(), last.end()}));
  };
  const Extents extents = axes(x.shape, x.shape.rank() - static_cast<std::int64_t>(position.size()), x.shape.rank());
  return interpolation::at_positions<N>(counts_of(extents), value, position, around, beyond, fill);
}
/// map_coordinates of x and coordinates [axes, positions].
template <class N>
ArrayOf<N> mapped(ArraysOf<N> x, int order, Beyond beyond, Real fill) {
  const ArrayOf<N>& c = x[1];
  const Extents lead = axes(x[0].shape, 0, x[0].shape.rank() - c.shape[0]), rest = axes(c.shape, 1, c.shape.rank());
  const Around around = order == 0 ? Around::nearest_up : order == 1 ? Around::linear : Around::b_spline;
  ArrayOf<N> y{joined(lead, rest), {}};
  for_each_index(lead, [&](const Index& batch) {
    for_each_index(rest, [&](const Index& p) {
      RowOf<N> position;
      for (std::int64_t k = 0; k < c.shape[0]; ++k) position.push_back(at(c, joined({k}, p)));
      y.values.push_back(at_position(x[0], batch, position, around, beyond, N(fill)));
    });
  });
  return y;
}
/// grid_sample of images and positions in [-1, 1]; method and padding are those of its options.
template <class N>
ArrayOf<N> sampled(ArraysOf<N> x, int method, int padding, bool align) {
  const ArrayOf<N>&images = x[0], &grid = x[1];
  const int d = images.shape.rank() - 2;
  const Around around = method == 0 ? Around::nearest_even : method == 1 ? Around::linear : Around::keys;
  const Beyond beyond = padding == 0   ? Beyond::grid_constant
                        : padding == 1 ? Beyond::nearest
                        : align        ? Beyond::mirror
                                       : Beyond::reflect;
  return build<N>(joined(axes(images.shape, 0, 2), axes(grid.shape, 1, d + 1)), [&](const Index& i) {
    RowOf<N> position;
    for (int k = 0; k < d; ++k) {
      const Index p = joined({i[0]}, Index(i.begin() + 2, i.end()));
      const N v = at(grid, joined(p, {d - 1 - k})) + N(1);
      const Real n = static_cast<Real>(images.shape[k + 2]);
      position.push_back(align ? v * N((n - 1) / 2) : (v * N(n) - N(1)) * N(0.5L));
    }
    return at_position(images, {i[0], i[1]}, position, around, beyond, N(0));
  });
}
/// The positions that theta makes of those of a grid [batch, channels, extents].
template <class N>
ArrayOf<N> affine(const ArrayOf<N>& theta, const Extents& size, bool align) {
  const int d = size.rank() - 2;
  return build<N>(joined(joined({size[0]}, axes(size, 2, d + 2)), {d}), [&](const Index& i) {
    N sum = at(theta, {i[0], i.back(), d});
    for (int k = 0; k < d; ++k) {
      const Real n = static_cast<Real>(size[d + 1 - k]), j = static_cast<Real>(i[static_cast<std::size_t>(d - k)]);
      const Real place = align ? (n > 1 ? 2 * j / (n - 1) - 1 : 0) : (2 * j + 1) / n - 1;
      sum += at(theta, {i[0], i.back(), k}) * N(place);
    }
    return sum;
  });
}
template <class N>
ArrayOf<N> resized(ArrayOf<N> y, const Extents& size, const Resizing& how) {
  for (int k = 0; k < y.shape.rank(); ++k) {
    const std::int64_t n = y.shape[k], m = size[k];
    if (n == m) continue;
    require<N>(n > 0);
    y = along(y, k, [&](const RowOf<N>& row) {
      RowOf<N> made;
      for (std::int64_t i = 0; i < m; ++i) {
        const auto w = interpolation::resize_weights(how, n, m, i);
        N sum(0);
        for (std::size_t j = 0; j < row.size(); ++j)
          if (how.method != 0 || w[j] != 0) sum = how.method == 0 ? row[j] : sum + rounded(row[j] * N(w[j]), 4);
        made.push_back(sum);
      }
      return made;
    });
  }
  return y;
}

/// f(samples, coordinates) of each row along an axis; coordinates 0, step, 2 step ... without an operand for them.
template <class N, class F>
ArrayOf<N> integrals(ArraysOf<N> x, std::int64_t axis, Real step, const F& f) {
  return along(x[0], axis, [&](const RowOf<N>& y) {
    RowOf<N> at;
    for (std::size_t k = 0; k < y.size(); ++k)
      at.push_back(x.size() > 1 ? x[1].values[k] : N(step * static_cast<Real>(k)));
    return f(y, at);
  });
}
template <class N>
RowOf<N> trapezium_sums(const RowOf<N>& y, const RowOf<N>& x) {
  RowOf<N> sums = interpolation::running_trapezia(y, x);
  sums.erase(sums.begin());
  return sums;
}
template <class N>
RowOf<N> whole_trapezium(const RowOf<N>& y, const RowOf<N>& x) {
  return {y.empty() ? N(0) : interpolation::running_trapezia(y, x).back()};
}
template <class N>
RowOf<N> parabola_sum(const RowOf<N>& y, const RowOf<N>& x) {
  return {interpolation::parabolas(y, x)};
}
template <class N>
ArrayOf<N> without_axis(ArrayOf<N> y, std::int64_t axis) {
  y.shape.erase(axis);
  return y;
}

}  // namespace cases::grids
