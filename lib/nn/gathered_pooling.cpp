// Windows whose elements are gathered first: pooling by norms, with indices, at pseudo-random places; morphology.
#include <algorithm>
#include <cmath>
#include <reel/nn/pooling.hpp>
#include <reel/ops/index.hpp>
#include <reel/ops/indexing.hpp>
#include <reel/ops/make.hpp>

#include "linalg/matrices.hpp"
#include "nn/last_axis.hpp"
#include "nn/windows.hpp"
#include "ops/index/indices.hpp"
#include "ops/reduce/reduction.hpp"

namespace reel {
namespace ops {
namespace {

// The elements of windows along the axis: x with the axis replaced by windows * taps.
Tensor windows_along(const Tensor& x, int axis, const loops::WindowAxis& a) {
  if (a.stride == a.taps && a.results * a.taps == a.extent) return x;
  detail::List<std::int64_t> places;
  for (std::int64_t i = 0; i < a.results; ++i)
    for (std::int64_t k = 0; k < a.taps; ++k) places.push_back(i * a.stride + k);
  return gather(x, from_data(places), axis);
}

// Pooling by windows of x [batch, channels, ...] along as many axes as there are options.
Tensor lp_pool(const char* op, const Operand& operand, double p, std::span<const AxisOptions> along) {
  if (!(p >= 1 && std::isfinite(p))) fail<ValueError>(op, "p is {}; it must be finite and at least 1", p);
  const int n = static_cast<int>(along.size());
  const Tensor x = image_operand(op, operand, "x", axes_text[n - 1], n + 2);
  check_windows(op, along, 1);
  std::array<loops::WindowAxis, 3> axes;
  window_axes(op, x.shape(), along, axes);
  Shape result = {x.shape()[0], x.shape()[1]}, windows = result, taps;  // taps: which axes of `windows`
  for (int d = 0; d < n; ++d) {
    const loops::WindowAxis& a = axes[static_cast<std::size_t>(d)];
    result.push_back(a.results);
    windows.push_back(a.results);
    taps.push_back(windows.rank());
    windows.push_back(a.taps);
  }
  if (x.size() == 0) return reshape(x, result);
  require_shape(op, windows);
  Tensor all = cast_to(x, widened(x.dtype()));
  for (int d = n - 1; d >= 0; --d) all = windows_along(all, d + 2, axes[static_cast<std::size_t>(d)]);
  return cast_to(norm(reshape(all, windows), p, taps), x.dtype());
}

// Indices along the axis of the taps of window i. A tap in the padding has the index of the first tap that is not.
detail::List<std::int64_t> places_of(const loops::WindowAxis& a, std::int64_t i) {
  const auto inside = [&](std::int64_t place) { return place >= 0 && place < a.extent; };
  detail::List<std::int64_t> places;
  for (std::int64_t k = 0; k < a.taps; ++k) places.push_back(i * a.stride + k * a.dilation - a.before);
  const std::int64_t first = *std::find_if(places.begin(), places.end(), inside);
  for (std::int64_t& place : places)
    if (!inside(place)) place = first;
  return places;
}

// Positions in the image, row-major, [windows, taps]. Those of a window first occur in row-major order.
Tensor positions_of(std::span<const loops::WindowAxis> axes) {
  std::int64_t windows = 1, taps = 1;
  for (const loops::WindowAxis& a : axes) windows *= a.results, taps *= a.taps;
  detail::List<std::int64_t> all;
  for (std::int64_t window = 0; window < windows; ++window) {
    detail::List<std::int64_t> positions;
    positions.push_back(0);
    std::int64_t inner = windows;
    for (const loops::WindowAxis& a : axes) {
      inner /= a.results;
      const auto places = places_of(a, window / inner % a.results);
      detail::List<std::int64_t> joined;
      for (const std::int64_t position : positions)
        for (const std::int64_t place : places) joined.push_back(position * a.extent + place);
      positions = std::move(joined);
    }
    for (const std::int64_t position : positions) all.push_back(position);
  }
  return from_data(all, {windows, taps});
}

struct Pool {
  Tensor y, indices;
};
// Greatest elements of x [batch, channels, ...] by windows along as many axes as there are options.
Pool max_pool_with_indices(const char* op, const Operand& operand, std::span<const AxisOptions> along) {
  const std::size_t n = along.size();
  const Tensor x = image_operand(op, operand, "x", axes_text[n - 1], static_cast<int>(n) + 2);
  check_windows(op, along, 1);
  const Shape s = x.shape();
  std::array<loops::WindowAxis, 3> axes;
  window_axes(op, s, along, axes);
  Shape result = {s[0], s[1]}, gathered = result;
  std::int64_t image = 1, windows = 1;
  for (std::size_t d = 0; d < n; ++d) {
    axes[d] = without_padding(op, axes[d], along[d].name, s);
    result.push_back(axes[d].results);
    gathered.push_back(axes[d].results);
    gathered.push_back(axes[d].taps);
    image *= axes[d].extent;
    windows *= axes[d].results;
  }
  if (x.size() == 0) return {reshape(x, result), zeros(result, DType::int64)};
  require_shape(op, gathered);
  const Tensor flat = reshape(x, {s[0], s[1], image}), positions = positions_of({axes.data(), n});
  const Tensor greatest = argmax(gather(stop_gradient(flat), positions, 2), -1);
  const Tensor starts = arange(windows) * positions.shape()[1];
  const Tensor indices = gather(reshape(positions, {positions.size()}), greatest + starts);
  return {reshape(take_along_axis(flat, indices, 2), result), reshape(indices, result)};
}

[[noreturn, gnu::cold]] void fail_size(const char* op, std::span<const std::int64_t> size, std::int64_t most) {
  std::string text;
  for (const std::int64_t extent : size) text += fmt::format("{}{}", text.empty() ? "" : ", ", extent);
  fail<ShapeError>(op, "size is {{{}}}; each extent must be from 0 to {}", text, most);
}

// x [batch, channels, ...] with its elements at the positions in an image of this size.
Tensor max_unpool(const char* op, const Operand& operand, const Operand& indices, std::span<const std::int64_t> size) {
  const int n = static_cast<int>(size.size());
  const std::int64_t most = std::int64_t{1} << 60 / n;  // of extents: their product fits std::int64_t
  const Tensor x = image_operand(op, operand, "x", axes_text[n - 1], n + 2);
  const Shape s = x.shape();
  Shape result = {s[0], s[1]};
  std::int64_t image = 1;
  for (const std::int64_t extent : size) {
    if (extent < 0 || extent > most) fail_size(op, size, most);
    result.push_back(extent);
    image *= extent;
  }
  require_shape(op, result);
  const Tensor places = to_tensor(op, indices, "indices");
  if (places.shape() != s)
    fail<ShapeError>(op, "indices are {} and x is {}; each element of x needs one", places.shape(), s);
  std::int64_t given = 1;
  for (int d = 2; d < s.rank(); ++d) given *= s[d];
  const Shape flat = {s[0], s[1], given};
  const Tensor at = reshape(check_indices(op, places, 0, image), flat);
  return reshape(put_along_axis(zeros({s[0], s[1], image}, x.dtype()), at, reshape(x, flat), 2), result);
}

// Indices along an axis of n elements, m windows of k after one another: [batch, channels, m k].
Tensor fractional_places(const char* op, const Tensor& samples, std::int64_t which, std::int64_t n, std::int64_t m,
                         std::int64_t k) {
  const double step = m > 1 ? static_cast<double>(n - k) / static_cast<double>(m - 1) : 0;
  const Tensor sample = slice(samples, {ellipsis, range(which, which + 1)}), u = sample - floor(sample), i = arange(m);
  const Tensor start = to_indices(op, "samples", floor((i + u) * step) - floor(u * step));
  const Tensor first = where(equal(i, m - 1), n - k, start);
  const Tensor all = expand_dims(first, -1) + arange(k);
  return reshape(all, {all.shape()[0], all.shape()[1], m * k});
}

Tensor fractional_pool(const char* op, const Operand& operand, const Size2d& window, const Size2d& size,
                       const Operand& samples_operand, Pooled pooled) {
  const Tensor x = image_operand(op, operand, "x", axes_text[1], 4);
  const Shape s = x.shape();
  for (std::size_t d = 0; d < 2; ++d) {
    const std::int64_t n = s[static_cast<int>(d) + 2];
    if (window[d] < 1 || size[d] < 1 || window[d] > n || size[d] > n || window[d] + size[d] - 1 > n)
      fail<ShapeError>(op,
                       "windows are {{{}, {}}} and size is {{{}, {}}}; both must be positive, and window + size - 1 at "
                       "most the extent: x is {}",
                       window[0], window[1], size[0], size[1], s);
  }
  const Tensor samples = to_tensor(op, samples_operand, "samples");
  if (!is_floating(samples.dtype())) fail<TypeError>(op, "samples are {}; they must be floating", samples.dtype());
  if (samples.shape() != Shape{s[0], s[1], 2})
    fail<ShapeError>(op, "samples are {}; for x {} they must be [{}, {}, 2]", samples.shape(), s, s[0], s[1]);
  require_shape(op, {s[0], s[1], size[0] * window[0], size[1] * window[1]});
  const Tensor u = cast_to(stop_gradient(samples), DType::float64);
  const auto places = [&](int axis) {
    const auto d = static_cast<std::size_t>(axis - 2);
    return fractional_places(op, u, 3 - axis, s[axis], size[d], window[d]);
  };
  const Tensor rows = places(2), columns = places(3);
  const Tensor chosen = take_along_axis(take_along_axis(x, expand_dims(rows, 3), 2), expand_dims(columns, 2), 3);
  return pooled == Pooled::max ? max_pool2d(chosen, window) : avg_pool2d(chosen, window);
}

Tensor fractional_pool(const char* op, const Operand& operand, const Size2d& window, const Size2d& size,
                       Generator& generator, Pooled pooled) {
  const Tensor x = image_operand(op, operand, "x", axes_text[1], 4);
  const Tensor samples = named(op, [&] { return random_uniform(generator, {x.shape()[0], x.shape()[1], 2}); });
  return fractional_pool(op, x, window, size, samples, pooled);
}

// Which taps of each window, [windows, taps], meet the image; [windows * taps] tap, or the first one of its window that
// meets the image.
struct Inside {
  Tensor mask, taps;
};
Inside inside_of(const loops::WindowAxis& rows, const loops::WindowAxis& columns) {
  const auto meets = [](const loops::WindowAxis& a, std::int64_t i, std::int64_t k) {
    const std::int64_t place = i * a.stride + k * a.dilation - a.before;
    return place >= 0 && place < a.extent;
  };
  detail::List<std::int64_t> mask, taps;
  for (std::int64_t i = 0; i < rows.results; ++i)
    for (std::int64_t j = 0; j < columns.results; ++j) {
      const auto begin = static_cast<std::ptrdiff_t>(mask.size());
      for (std::int64_t k = 0; k < rows.taps * columns.taps; ++k)
        mask.push_back(meets(rows, i, k / columns.taps) && meets(columns, j, k % columns.taps));
      const std::int64_t first = std::find(mask.begin() + begin, mask.end(), 1) - mask.begin() - begin;
      for (std::int64_t k = 0; k < rows.taps * columns.taps; ++k)
        taps.push_back(mask[static_cast<std::size_t>(begin + k)] ? k : first);
    }
  const Tensor inside = from_data(mask, {rows.results * columns.results, rows.taps * columns.taps});
  return {greater(inside, 0), from_data(taps)};
}

Tensor dilate(const char* op, const Tensor& x, const Tensor& w, const Morphology2dOptions& options) {
  const Shape s = x.shape();
  if (w.shape()[0] != s[1])
    fail<ShapeError>(op, "w has {} channels and x has {}: w is {}, x is {}", w.shape()[0], s[1], w.shape(), s);
  const loops::WindowGeometry c =
      window_geometry(op, s, {{w.shape()[1], w.shape()[2]}, options.stride, options.dilation, options.padding});
  static_cast<void>(without_padding(op, c.rows, "height", s));
  static_cast<void>(without_padding(op, c.columns, "width", s));
  const Shape result = {s[0], s[1], c.rows.results, c.columns.results};
  if (x.size() == 0) return broadcast_to(reshape(sum(x) + sum(w), {1, 1, 1, 1}), result);
  const std::int64_t windows = c.rows.results * c.columns.results, taps = c.rows.taps * c.columns.taps;
  require_shape(op, {s[0], s[1], windows, taps});
  const Tensor flat = reshape(x, {s[0], s[1], s[2] * s[3]}), kernel = reshape(w, {1, s[1], taps}),
               positions = positions_of(std::array{c.rows, c.columns});
  const Inside inside = inside_of(c.rows, c.columns);
  const Tensor sums = gather(stop_gradient(flat), positions, 2) + expand_dims(stop_gradient(kernel), 2);
  const Tensor starts = arange(windows) * taps,
               tap = gather(inside.taps,
                            argmax(where(inside.mask, sums, -std::numeric_limits<double>::infinity()), -1) + starts);
  const Tensor place = gather(reshape(positions, {positions.size()}), tap + starts);
  return reshape(take_along_axis(flat, place, 2) + take_along_axis(kernel, tap, 2), result);
}

Tensor morphology(const char* op, const Operand& operand, const Operand& kernel, const Morphology2dOptions& options,
                  bool erosion) {
  const Promoted in = promote_operands(op, {&operand, &kernel}, Accept::floating);
  const Tensor x = to_tensor(op, operand, in.wide, "x"), w = to_tensor(op, kernel, in.wide, "w");
  if (x.rank() != 4) fail<ShapeError>(op, "x must be {}, but it is {}; reshape it", axes_text[1], x.shape());
  if (w.rank() != 3) fail<ShapeError>(op, "w must be [channels, height, width], but it is {}; reshape it", w.shape());
  const Tensor y = erosion ? -dilate(op, -x, flip(w, {1, 2}), options) : dilate(op, x, w, options);
  return cast_to(y, in.result);
}

}  // namespace
}  // namespace ops

Tensor lp_pool1d(const Operand& x, double p, std::int64_t window, std::int64_t stride) {
  const tape::OpScope scope(x);
  return ops::lp_pool("lp_pool1d", x, p, std::array{ops::sequence_options(window, ops::stride_of(stride, window))});
}
Tensor lp_pool2d(const Operand& x, double p, const Size2d& window, const Size2d& stride) {
  const tape::OpScope scope(x);
  return ops::lp_pool("lp_pool2d", x, p, ops::image_options(window, ops::stride_of(stride, window)));
}
Tensor lp_pool3d(const Operand& x, double p, const Size3d& window, const Size3d& stride) {
  const tape::OpScope scope(x);
  return ops::lp_pool("lp_pool3d", x, p, ops::volume_options(window, ops::stride_of(stride, window)));
}

MaxPool1dIndices max_pool1d_with_indices(const Operand& x, std::int64_t window, const MaxPool1dOptions& options) {
  const tape::OpScope scope(x);
  auto [y, indices] =
      ops::max_pool_with_indices("max_pool1d_with_indices", x,
                                 std::array{ops::sequence_options(window, ops::stride_of(options.stride, window),
                                                                  options.dilation, options.padding)});
  return {std::move(y), std::move(indices)};
}
MaxPool2dIndices max_pool2d_with_indices(const Operand& x, const Size2d& window, const MaxPool2dOptions& options) {
  const tape::OpScope scope(x);
  auto [y, indices] = ops::max_pool_with_indices(
      "max_pool2d_with_indices", x,
      ops::image_options(window, ops::stride_of(options.stride, window), options.dilation, options.padding));
  return {std::move(y), std::move(indices)};
}
MaxPool3dIndices max_pool3d_with_indices(const Operand& x, const Size3d& window, const MaxPool3dOptions& options) {
  const tape::OpScope scope(x);
  auto [y, indices] = ops::max_pool_with_indices(
      "max_pool3d_with_indices", x,
      ops::volume_options(window, ops::stride_of(options.stride, window), options.dilation, options.padding));
  return {std::move(y), std::move(indices)};
}

Tensor max_unpool1d(const Operand& x, const Operand& indices, std::int64_t size) {
  const tape::OpScope scope(x);
  return ops::max_unpool("max_unpool1d", x, indices, {&size, 1});
}
Tensor max_unpool2d(const Operand& x, const Operand& indices, const Size2d& size) {
  const tape::OpScope scope(x);
  return ops::max_unpool("max_unpool2d", x, indices, size);
}
Tensor max_unpool3d(const Operand& x, const Operand& indices, const Size3d& size) {
  const tape::OpScope scope(x);
  return ops::max_unpool("max_unpool3d", x, indices, size);
}

Tensor fractional_max_pool2d(const Operand& x, const Size2d& window, const Size2d& size, const Operand& samples) {
  const tape::OpScope scope(x);
  return ops::fractional_pool("fractional_max_pool2d", x, window, size, samples, ops::Pooled::max);
}
Tensor fractional_max_pool2d(const Operand& x, const Size2d& window, const Size2d& size, Generator& generator) {
  const tape::OpScope scope(x);
  return ops::fractional_pool("fractional_max_pool2d", x, window, size, generator, ops::Pooled::max);
}
Tensor fractional_avg_pool2d(const Operand& x, const Size2d& window, const Size2d& size, const Operand& samples) {
  const tape::OpScope scope(x);
  return ops::fractional_pool("fractional_avg_pool2d", x, window, size, samples, ops::Pooled::mean);
}
Tensor fractional_avg_pool2d(const Operand& x, const Size2d& window, const Size2d& size, Generator& generator) {
  const tape::OpScope scope(x);
  return ops::fractional_pool("fractional_avg_pool2d", x, window, size, generator, ops::Pooled::mean);
}

Tensor dilation2d(const Operand& x, const Operand& w, const Morphology2dOptions& options) {
  const tape::OpScope scope(x);
  return ops::morphology("dilation2d", x, w, options, false);
}
Tensor erosion2d(const Operand& x, const Operand& w, const Morphology2dOptions& options) {
  const tape::OpScope scope(x);
  return ops::morphology("erosion2d", x, w, options, true);
}

}  // namespace reel
