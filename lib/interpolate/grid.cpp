// Values on grids with coordinates: the cell of each position is searched for along each axis. Cubic interpolation is
// that of Hermite: each axis is lengthened by the slopes, so that a cell has two values and two slopes as its taps.
#include "interpolate/grid.hpp"

#include <reel/interpolate.hpp>
#include <reel/ops/sorting.hpp>

#include "tape/observe/observe.hpp"

namespace reel {

namespace ops {

Quantity tap_sums(const char* op, const Tensor& values, std::span<const AxisTaps> axes, double fill) {
  const int rank = static_cast<int>(axes.size()) + 2;
  require_rank(op, rank);
  Shape all = {values.shape()[0], axes[0].indices.shape()[0]};
  for (const AxisTaps& axis : axes) all.push_back(axis.indices.shape()[1]);
  require_shape(op, all);
  const auto along = [&](const Tensor& x, int k) {
    Shape s = detail::List<std::int64_t>(static_cast<std::size_t>(rank - 1), 1);
    s[0] = all[1], s[k + 1] = all[k + 2];
    return reshape(x, s);
  };
  Tensor index, outside;
  for (int k = 0; k < rank - 2; ++k) {
    const AxisTaps& axis = axes[static_cast<std::size_t>(k)];
    const Tensor own = along(axis.indices, k);
    index = k == 0 ? own : index * axis.extent + own;
    if (!axis.outside.defined()) continue;
    const Tensor beyond = along(axis.outside, k);
    outside = outside.defined() ? logical_or(outside, beyond) : beyond;
  }
  Quantity sums = gather(values, index, 1);
  if (outside.defined()) sums = where(outside, fill, sums);
  for (int k = rank - 3; k >= 0; --k) {
    const Tensor& w = axes[static_cast<std::size_t>(k)].weights;
    Shape s = detail::List<std::int64_t>(static_cast<std::size_t>(k + 2), 1);
    s[0] = all[1], s[-1] = all[k + 2];
    // An infinite or NaN value without weight does not count.
    if (w.defined()) sums = multiply_no_nan(sums, reshape(w, s));
    sums = sum_of_rows(sums);
  }
  return sums;
}

Quantity single_weight(const Tensor& x) {
  const Tensor at = expand_dims(x, -1);
  return where(isnan(at), at, 1.0);
}
Quantity as_weights(std::initializer_list<Quantity> w) {
  const detail::List<Tensor> parts(w.begin(), w.end());
  return stack(parts, -1);
}

namespace {

constexpr const char* grid_name = "regular_grid";

struct Grid {
  detail::List<Quantity> points;
  Quantity values, x;  // [batch, points], [positions, axes]
  Shape rest;          // of the values
  DType dtype;
};

Grid grid_of(std::span<const Tensor> axes, const Operand& values, const Operand& x, GridMethod method) {
  if (method > GridMethod::cubic) fail<ValueError>(grid_name, "this is no method of interpolation");
  const auto d = static_cast<std::int64_t>(axes.size());
  CommonDType common;
  for (const Tensor& p : axes) common.add(grid_name, p);
  common.add(grid_name, values), common.add(grid_name, x);
  const Promoted in = promote_dtype(grid_name, common.dtype(), Accept::real);
  const DType wide = method == GridMethod::cubic ? DType::float64 : in.wide;
  Grid g;
  g.dtype = in.result;
  g.values = to_tensor(grid_name, values, wide, "values");
  g.x = to_tensor(grid_name, x, wide, "x");
  if (d == 0 || g.values.rank() < d || g.x.rank() == 0 || g.x.shape()[-1] != d)
    fail<ShapeError>(grid_name, "of {} axes, values are {} and x {}; they must be [n_1, ..., n_{}, ...] and [..., {}]",
                     d, g.values.shape(), g.x.shape(), d, d);
  Shape points;
  for (std::int64_t k = 0; k < d; ++k) {
    const Tensor p = to_tensor(grid_name, axes[static_cast<std::size_t>(k)], DType::float64, "axes");
    const std::int64_t n = g.values.shape()[k], least = method == GridMethod::cubic ? 2 : 1;
    if (p.rank() != 1 || p.size() != n || n < least)
      fail<ShapeError>(grid_name, "axis {} is {} and values are {}; it must be a vector of as many points, at least {}",
                       k, p.shape(), g.values.shape(), least);
    g.points.push_back(cast_to(check_knots(grid_name, p), wide));
    points.push_back(n);
  }
  for (int k = static_cast<int>(d); k < g.values.rank(); ++k) g.rest.push_back(g.values.shape()[k]);
  require_rank(grid_name, g.x.rank() + g.rest.rank());
  return g;
}

// Values and slopes along axis k of [batch, n_1, ...], in turn.
Tensor with_slopes(const Tensor& values, const Tensor& points, int k) {
  const Quantity v = moveaxis(values, k, -1);
  Shape s = v.shape();
  s[-1] *= 2;
  require_shape(grid_name, s);
  return moveaxis(reshape(stack({v, not_a_knot_slopes(grid_name, points, v)}, -1), s), -1, k);
}

AxisTaps cell_taps(const Tensor& points, const Quantity& x, GridMethod method) {
  const std::int64_t n = points.size();
  const Tensor at = stop_gradient(x), p = stop_gradient(points);
  AxisTaps taps;
  taps.extent = n;
  if (n == 1) {
    taps.indices = zeros({x.size(), 1}, DType::int64);
    taps.weights = single_weight(x);
    return taps;
  }
  const Tensor cell = clip(searchsorted(p, at, true) - 1, 0, n - 2);
  const Quantity first = gather_values(points, cell), h = gather_values(points, cell + 1) - first;
  const Quantity t = (x - first) / h, u = 1.0 - t;
  if (method == GridMethod::nearest) {
    taps.indices = expand_dims(cell + cast(greater(stop_gradient(t), 0.5), DType::int64), -1);
    taps.weights = single_weight(x);
  } else if (method == GridMethod::linear) {
    taps.indices = expand_dims(cell, -1) + arange(2);
    taps.weights = as_weights({u, t});
  } else {
    taps.indices = expand_dims(2 * cell, -1) + arange(4);
    taps.extent = 2 * n;
    taps.weights = as_weights({u * u * (1.0 + 2.0 * t), h * t * u * u, t * t * (1.0 + 2.0 * u), -1.0 * h * t * t * u});
  }
  return taps;
}

}  // namespace
}  // namespace ops

Tensor regular_grid(std::span<const Tensor> axes, const Operand& values, const Operand& x_operand,
                    const RegularGridOptions& options) {
  using namespace ops;
  const tape::OpScope scope(values);
  const Grid g = grid_of(axes, values, x_operand, options.method);
  const int d = static_cast<int>(axes.size());
  Shape lead = g.x.shape();
  lead.pop_back();
  const std::int64_t positions = lead.elements(), batch = g.rest.elements();
  Shape grid = {batch};
  std::int64_t points = 1;
  for (const Quantity& p : g.points) grid.push_back(p.size()), points *= p.size();
  Tensor v = reshape(transpose(reshape(g.values, {points, batch})), grid);
  const Quantity x = reshape(g.x, {positions, d});
  detail::List<AxisTaps> taps;
  Tensor outside;
  for (int k = 0; k < d; ++k) {
    const Quantity &p = g.points[static_cast<std::size_t>(k)], own = x(all, k);
    if (options.method == GridMethod::cubic) v = with_slopes(v, p, k + 1), points *= 2;
    if (!options.fill) {
      taps.push_back(cell_taps(p, own, options.method));
      continue;
    }
    const Tensor at = stop_gradient(own), ends = stop_gradient(p);
    const Tensor beyond = logical_or(less(at, ends(0)), greater(at, ends(p.size() - 1)));
    outside = outside.defined() ? logical_or(outside, beyond) : beyond;
    // The weights of a far position overflow, and a cotangent of 0 times infinity is NaN.
    taps.push_back(cell_taps(p, where(beyond, ends(0), own), options.method));
  }
  Quantity y = tap_sums(grid_name, reshape(v, {batch, points}), taps);
  if (outside.defined()) y = where(outside, *options.fill, y);
  Shape result = lead;
  for (const std::int64_t extent : g.rest) result.push_back(extent);
  return cast_to(reshape(transpose(y), result), g.dtype);
}
Tensor regular_grid(std::initializer_list<Tensor> axes, const Operand& values, const Operand& x,
                    const RegularGridOptions& options) {
  return regular_grid(std::span(axes.begin(), axes.size()), values, x, options);
}

}  // namespace reel
