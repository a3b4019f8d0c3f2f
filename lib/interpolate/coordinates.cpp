// Arrays at positions that count elements: for each axis, positions are brought near the array, which keeps indices
// small; the elements around them are found by the rule of the border; weights follow from the rest.
#include <array>
#include <reel/interpolate.hpp>
#include <reel/linalg/structured.hpp>
#include <vector>

#include "interpolate/grid.hpp"
#include "linalg/matrices.hpp"
#include "tape/observe/observe.hpp"

namespace reel {

namespace ops {

namespace {

// Nearest with halves up or to even, linear, cubic B-splines, and Keys's cubic kernel.
enum class Kernel : std::uint8_t { nearest_up, nearest_even, linear, b_spline, keys };
constexpr bool is_nearest(Kernel k) { return k <= Kernel::nearest_even; }

// Along one axis of n elements.
struct GridAxis {
  std::int64_t n;
  Kernel kernel;
  Border border;
};

// Positions where indices fit int64, with the same elements around them as before.
Quantity brought_near(const Quantity& x, const GridAxis& a) {
  const std::int64_t n = a.n, last = n - 1;
  switch (a.border) {
    case Border::constant:
      return clip(x, 0, last);
    case Border::nearest:
      return a.kernel == Kernel::keys ? clip(x, -2, n + 1) : clip(x, 0, last);
    case Border::grid_constant:
      return clip(x, -3, n + 2);
    case Border::grid_wrap:
      return mod(x, n);
    case Border::wrap: {
      const Quantity back = static_cast<double>(last) - Quantity(mod(negative(x), last));
      return where(less(x, 0), back, where(greater(x, last), mod(x, last), x));
    }
    // The nearest element of a mirror image is that of the position in the array: halves are rounded there.
    case Border::mirror: {
      const Quantity y = mod(x, 2 * last);
      return is_nearest(a.kernel) ? Quantity(where(greater(y, last), 2.0 * static_cast<double>(last) - y, y)) : y;
    }
    default: {
      const Quantity y = mod(x, 2 * n);
      return is_nearest(a.kernel) ? Quantity(where(less(y, n), y, static_cast<double>(2 * n - 1) - y)) : y;
    }
  }
}

// The elements that indices beyond the array stand for.
Tensor within(const Tensor& i, const GridAxis& a) {
  const std::int64_t n = a.n;
  Border border = a.border;
  if (border == Border::constant || border == Border::wrap)
    border = a.kernel == Kernel::b_spline ? Border::mirror : Border::nearest;
  if (n == 1) border = Border::nearest;
  if (border == Border::grid_wrap) return mod(i, n);
  if (border == Border::mirror) {
    const Tensor m = mod(i, 2 * n - 2);
    return minimum(m, 2 * n - 2 - m);
  }
  if (border == Border::reflect) {
    const Tensor m = mod(i, 2 * n);
    return minimum(m, 2 * n - 1 - m);
  }
  return clip(i, 0, n - 1);
}

Quantity weights_of(const Quantity& t, Kernel kernel) {
  const Quantity u = 1.0 - t;
  if (kernel == Kernel::linear) return as_weights({u, t});
  const Quantity tt = t * t, uu = u * u;
  if (kernel == Kernel::b_spline) {
    const auto inner = [](const Quantity& square, const Quantity& d) { return (4.0 + square * (-6.0 + 3.0 * d)) / 6; };
    return as_weights({uu * u / 6, inner(tt, t), inner(uu, u), tt * t / 6});
  }
  constexpr double a = -0.75;  // PyTorch's grid_sample
  return as_weights({keys_outer(t, uu, a), keys_inner(t, tt, a), keys_inner(u, uu, a), keys_outer(u, tt, a)});
}

AxisTaps taps_at(const Quantity& positions, GridAxis a) {
  if (a.n == 1 && (a.border == Border::mirror || a.border == Border::wrap)) a.border = Border::nearest;
  const Quantity x = brought_near(positions, a), at = stop_gradient(x);
  Quantity whole = a.kernel == Kernel::nearest_even ? round(at) : floor(a.kernel == Kernel::nearest_up ? 0.5 + at : at);
  // No cell begins at the last element of an array that ends there.
  const bool ends = a.border == Border::constant || a.border == Border::wrap;
  if (a.kernel == Kernel::linear && ends && a.n > 1) whole = minimum(whole, a.n - 2);
  AxisTaps taps;
  taps.extent = a.n;
  const std::int64_t count = is_nearest(a.kernel) ? 1 : a.kernel == Kernel::linear ? 2 : 4, first = count == 4 ? -1 : 0;
  const Tensor index = cast(where(isnan(whole), 0, whole), DType::int64);
  const Tensor all = expand_dims(index, -1) + (arange(count) + first);
  taps.indices = within(all, a);
  if (a.border == Border::grid_constant) taps.outside = logical_or(less(all, 0), greater_equal(all, a.n));
  taps.weights = is_nearest(a.kernel) ? single_weight(x) : weights_of(x - whole, a.kernel);
  return taps;
}

// ---- map_coordinates

constexpr const char* map_name = "map_coordinates";
// Elements that SciPy adds at both ends for borders that splines have no closed form for.
constexpr std::int64_t spline_padding = 12;

// The coefficients of the cubic B-splines through x along an axis: a tridiagonal system, of which corners that couple
// the ends are a matrix of rank 1 (Sherman and Morrison).
Tensor spline_coefficients(const Tensor& x, int axis, Border border) {
  const std::int64_t n = x.shape()[axis];
  if (n == 1) return x;
  const Tensor front = moveaxis(x, axis, 0);
  const Quantity rows = 6.0 * Quantity(reshape(front, {n, x.size() / n}));
  const bool reflects = border == Border::reflect || border == Border::nearest;
  const bool cyclic = border == Border::grid_wrap && n > 2;
  detail::List<double> diagonal(static_cast<std::size_t>(n), 4), beside(static_cast<std::size_t>(n - 1), 1);
  detail::List<double> lower = beside, upper = beside;
  if (reflects)
    diagonal.front() = diagonal.back() = 5;
  else if (cyclic)
    diagonal.front() = 8, diagonal.back() = 4.25;
  else
    upper.front() = lower.back() = 2;
  const Tensor below = from_data(lower), own = from_data(diagonal), above = from_data(upper);
  Quantity c = tridiagonal_solve(below, own, above, rows);
  if (cyclic) {
    detail::List<double> corner(static_cast<std::size_t>(n), 0);
    corner.front() = -4, corner.back() = 1;
    const Tensor z = tridiagonal_solve(below, own, above, from_data(corner));
    const auto across = [n](const Tensor& v) { return Quantity(v(0)) - 0.25 * Quantity(v(n - 1)); };
    c = c - expand_dims(z, -1) * (across(c) / (1.0 + across(z)));
  }
  return moveaxis(reshape(c, front.shape()), 0, axis);
}

Tensor pad_axis(const Tensor& x, int axis, const MapCoordinatesOptions& options) {
  const std::int64_t n = x.shape()[axis];
  const Tensor places = arange(-spline_padding, n + spline_padding);
  const Tensor edges = gather(x, clip(places, 0, n - 1), axis);
  if (options.border == Border::nearest) return edges;
  Shape s = detail::List<std::int64_t>(static_cast<std::size_t>(x.rank() - axis), 1);
  s[0] = places.size();
  return where(reshape(logical_or(less(places, 0), greater_equal(places, n)), s), options.fill, edges);
}

void require_map(const Tensor& x, const Tensor& c, const MapCoordinatesOptions& options) {
  if (options.order != 0 && options.order != 1 && options.order != 3)
    fail<ValueError>(map_name, "the order is {}; it must be 0, 1 or 3", options.order);
  if (options.border > Border::grid_wrap) fail<ValueError>(map_name, "this is no border");
  if (c.rank() == 0 || c.shape()[0] < 1 || c.shape()[0] > x.rank())
    fail<ShapeError>(map_name,
                     "x is {} and coordinates are {}; their first axis must have an entry for each of the "
                     "last axes of x, at least one",
                     x.shape(), c.shape());
  for (std::int64_t k = 1; k <= c.shape()[0]; ++k)
    if (x.shape()[-k] == 0) fail<ShapeError>(map_name, "x is {}; axis {} has no elements", x.shape(), x.rank() - k);
}

}  // namespace
}  // namespace ops

Tensor map_coordinates(const Operand& operand, const Operand& coordinates, const MapCoordinatesOptions& options) {
  using namespace ops;
  const tape::OpScope scope(operand);
  const auto [dtype, wide] = promote_operands(map_name, {&operand, &coordinates}, Accept::real);
  Tensor x = to_tensor(map_name, operand, wide, "x");
  const Tensor c = to_tensor(map_name, coordinates, wide, "coordinates");
  require_map(x, c, options);
  const std::int64_t d = c.shape()[0], shift = c.size() / d;
  const int batch_rank = x.rank() - static_cast<int>(d);
  require_rank(map_name, batch_rank + c.rank() - 1);
  const Kernel kernel = options.order == 0   ? Kernel::nearest_up
                        : options.order == 1 ? Kernel::linear
                                             : Kernel::b_spline;
  const bool filter = options.order == 3 && options.prefilter;
  const bool pads = filter && (options.border == Border::nearest || options.border == Border::grid_constant);
  Shape result;
  for (int k = 0; k < batch_rank; ++k) result.push_back(x.shape()[k]);
  const std::int64_t batch = result.elements();
  detail::List<AxisTaps> taps;
  Tensor outside;
  std::int64_t elements = 1;
  for (int k = 0; k < static_cast<int>(d); ++k) {
    const int axis = batch_rank + k;
    if (pads) x = pad_axis(x, axis, options);
    if (filter) x = named(map_name, [&] { return spline_coefficients(x, axis, options.border); });
    const std::int64_t n = x.shape()[axis];
    elements *= n;
    const Quantity own = reshape(c(k), {shift});
    taps.push_back(taps_at(pads ? static_cast<double>(spline_padding) + own : own, {n, kernel, options.border}));
    if (options.border != Border::constant) continue;
    const Tensor at = stop_gradient(own), beyond = logical_or(less(at, 0), greater(at, n - 1));
    outside = outside.defined() ? logical_or(outside, beyond) : beyond;
  }
  Tensor y = tap_sums(map_name, reshape(x, {batch, elements}), taps, options.fill);
  if (outside.defined()) y = where(outside, options.fill, y);
  for (int k = 1; k < c.rank(); ++k) result.push_back(c.shape()[k]);
  return cast_to(reshape(y, result), dtype);
}

namespace ops {
namespace {

// ---- grid_sample, affine_grid

constexpr const char* sample_name = "grid_sample";

void require_sample(const Tensor& x, const Tensor& grid, const GridSampleOptions& options) {
  if (options.method > GridMethod::cubic || options.padding > GridPadding::reflection)
    fail<ValueError>(sample_name, "this is no method or no padding");
  const std::int64_t d = grid.rank() == 0 ? 0 : grid.shape()[-1];
  if ((d != 2 && d != 3) || x.rank() != d + 2 || grid.rank() != d + 2 || x.shape()[0] != grid.shape()[0])
    fail<ShapeError>(sample_name,
                     "x is {} and the grid {}; they must be [batch, channels, height, width] and [batch, "
                     "rows, columns, 2], or, with depth, of one more axis and 3",
                     x.shape(), grid.shape());
  for (int k = 2; k < x.rank(); ++k)
    if (x.shape()[k] == 0) fail<ShapeError>(sample_name, "x is {}; axis {} has no elements", x.shape(), k);
}

// Positions along an axis of n elements, from those between -1 and 1.
Quantity to_pixel(const Quantity& g, std::int64_t n, bool align_corners) {
  const auto extent = static_cast<double>(n);
  return align_corners ? (1.0 + g) * ((extent - 1) / 2) : (-1.0 + (1.0 + g) * extent) / 2;
}

}  // namespace
}  // namespace ops

Tensor grid_sample(const Operand& operand, const Operand& positions, const GridSampleOptions& options) {
  using namespace ops;
  const tape::OpScope scope(operand);
  const auto [dtype, wide] = promote_operands(sample_name, {&operand, &positions}, Accept::real);
  const Tensor x = to_tensor(sample_name, operand, wide, "x");
  const Tensor grid = to_tensor(sample_name, positions, wide, "grid");
  require_sample(x, grid, options);
  const std::int64_t batch = x.shape()[0], channels = x.shape()[1];
  const int d = x.rank() - 2;
  Shape result = {channels, batch};
  for (int k = 1; k <= d; ++k) result.push_back(grid.shape()[k]);
  std::int64_t places = 1, elements = 1;
  for (int k = 0; k < d; ++k) places *= result[k + 2], elements *= x.shape()[k + 2];
  require_shape(sample_name, result);
  detail::List<AxisTaps> taps(1);
  taps[0].extent = batch;
  taps[0].indices = reshape(broadcast_to(reshape(arange(batch), {batch, 1}), {batch, places}), {batch * places, 1});
  const Kernel kernel =
      std::array{Kernel::nearest_even, Kernel::linear, Kernel::keys}[static_cast<std::size_t>(options.method)];
  const Border reflection = options.align_corners ? Border::mirror : Border::reflect;
  const Border border =
      std::array{Border::grid_constant, Border::nearest, reflection}[static_cast<std::size_t>(options.padding)];
  const Tensor all_positions = reshape(grid, {batch * places, d});
  for (int k = 0; k < d; ++k) {
    const std::int64_t n = x.shape()[k + 2];
    const Quantity own = all_positions(all, d - 1 - k);
    taps.push_back(taps_at(to_pixel(own, n, options.align_corners), {n, kernel, border}));
  }
  const Tensor y = tap_sums(sample_name, reshape(moveaxis(x, 1, 0), {channels, batch * elements}), taps);
  return cast_to(moveaxis(reshape(y, result), 0, 1), dtype);
}

Tensor affine_grid(const Operand& operand, const Shape& size, bool align_corners) {
  using namespace ops;
  constexpr const char* op = "affine_grid";
  const tape::OpScope scope(operand);
  const PromotedOperand in = promote_operand(op, operand, Accept::real);
  const Quantity theta = in.x;
  const std::int64_t d = size.rank() - 2;
  require_shape(op, size);
  if ((d != 2 && d != 3) || theta.shape() != Shape{size[0], d, d + 1})
    fail<ShapeError>(op,
                     "theta is {} and the size {}; they must be [batch, 2, 3] and {{batch, channels, height, width}}, "
                     "or, with depth, [batch, 3, 4] and one more extent",
                     theta.shape(), size);
  const auto column = [&](std::int64_t k) {
    Shape s = detail::List<std::int64_t>(static_cast<std::size_t>(d + 2), 1);
    s[0] = size[0], s[-1] = d;
    return Quantity(reshape(theta(all, all, k), s));
  };
  Shape result = {size[0]};
  for (std::int64_t k = 0; k < d; ++k) result.push_back(size[k + 2]);
  result.push_back(d);
  require_shape(op, result);
  Quantity sums = column(d);
  for (std::int64_t k = 0; k < d; ++k) {
    const std::int64_t n = size[d + 1 - k];
    const double step = align_corners ? 2.0 / static_cast<double>(std::max<std::int64_t>(n - 1, 1))
                                      : 2.0 / static_cast<double>(std::max<std::int64_t>(n, 1));
    const double first = align_corners ? (n > 1 ? -1.0 : 0.0) : -1.0 + step / 2;
    Shape s = detail::List<std::int64_t>(static_cast<std::size_t>(k + 2), 1);
    s[0] = n;
    const Quantity line = cast(first + step * Quantity(cast(arange(n), DType::float64)), theta.dtype());
    sums = sums + column(k) * reshape(line, s);
  }
  return cast_to(broadcast_to(sums, result), in.result);
}

}  // namespace reel
