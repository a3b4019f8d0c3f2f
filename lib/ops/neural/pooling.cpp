// Pooling. max_pool2d keeps where in its window each result was found; what goes there and comes from there are each
// other's transposes. avg_pool2d is a convolution of each channel with ones.
#include "loops/window/pooling.hpp"

#include <algorithm>
#include <reel/ops/make.hpp>
#include <reel/ops/pointwise.hpp>
#include <reel/ops/shape.hpp>

#include "loops/loops.hpp"
#include "ops/neural/windows.hpp"

namespace reel {
namespace ops {
namespace {

constexpr const char* axes = "[batch, channels, height, width]";
constexpr std::int64_t most_taps = 1 << 24;  // kernels count them in float32

Tensor to_places(const loops::Convolved& c, const Tensor& g, const Tensor& places);
Tensor from_places(const loops::Convolved& c, const Tensor& x, const Tensor& places);

Tensor back(const tape::Record& r, const Tensor& g) { return to_places(convolved_of(r.attributes()), g, r.saved(0)); }
Tensor forth(const tape::Record& r, const Tensor& x) {
  return from_places(convolved_of(r.attributes()), x, r.saved(0));
}
constexpr tape::Rule max_rule = linear<back, forth>("max_pool2d");
constexpr tape::Rule to_places_rule = linear<forth, back>("max_pool2d_scatter");
constexpr tape::Rule from_places_rule = linear<back, forth>("max_pool2d_gather");

// x [..., rows, columns] with other extents there.
Shape resized(const Tensor& x, std::int64_t rows, std::int64_t columns) {
  Shape shape = x.shape();
  shape[-2] = rows;
  shape[-1] = columns;
  return shape;
}
template <class Loop>
Tensor moved(const loops::Convolved& c, const Tensor& x, const Tensor& places, const Shape& shape, const Loop& loop,
             const tape::Rule& rule) {
  const Tensor out = detail::empty(x.dtype(), shape);
  loop(c, loops::contiguous(x), places, out);
  if (tape::active()) {
    const WindowAttributes attributes = attributes_of(c);
    tape::record(rule, {&x}, out, {&places}, attributes);
  }
  return out;
}
Tensor to_places(const loops::Convolved& c, const Tensor& g, const Tensor& places) {
  return moved(c, g, places, resized(g, c.rows.extent, c.columns.extent), loops::scatter_windows, to_places_rule);
}
Tensor from_places(const loops::Convolved& c, const Tensor& x, const Tensor& places) {
  return moved(c, x, places, resized(x, c.rows.results, c.columns.results), loops::gather_windows, from_places_rule);
}

Size2d stride_of(const Size2d& stride, const Size2d& window) { return stride == Size2d{0, 0} ? window : stride; }

// The same windows without the taps that meet padding wherever they are. ValueError if a window meets nothing else.
loops::ConvolvedAxis trimmed(loops::ConvolvedAxis axis, const char* name, const Shape& image) {
  for (std::int64_t i = 0; i < axis.results; ++i) {
    const std::int64_t start = i * axis.stride - axis.before;
    const std::int64_t first = start < 0 ? (-start - 1) / axis.dilation + 1 : 0;
    if (first >= axis.taps || start + first * axis.dilation >= axis.extent)
      fail<ValueError>("max_pool2d",
                       "window {} of the {} has nothing but padding: x is {}; choose less padding, or a smaller "
                       "dilation",
                       i, name, image);
  }
  if (axis.results == 0) return axis;
  const std::int64_t last = (axis.results - 1) * axis.stride - axis.before;
  const std::int64_t skipped = last < 0 ? std::min((-last - 1) / axis.dilation + 1, axis.before / axis.dilation) : 0;
  axis.taps = std::min(axis.taps, (axis.extent + axis.before - 1) / axis.dilation + 1) - skipped;
  axis.before -= skipped * axis.dilation;
  return axis;
}

// Whether no window of the axis meets padding.
bool unpadded(const loops::ConvolvedAxis& axis) {
  return axis.before == 0 && (axis.results - 1) * axis.stride + axis.taps <= axis.extent;
}
// How many elements of the axis each window has, as [n, 1] or [n].
Tensor counts(const loops::ConvolvedAxis& axis, DType dtype, bool column) {
  std::vector<double> n;
  for (std::int64_t i = 0; i < axis.results; ++i) {
    const std::int64_t start = i * axis.stride - axis.before;
    const auto count = static_cast<double>(std::min(start + axis.taps, axis.extent) - std::max<std::int64_t>(start, 0));
    n.push_back(std::max(count, 1.0));  // the mean of nothing but padding is that of zeros
  }
  const Tensor all = cast(from_data(n), dtype);
  return column ? reshape(all, {axis.results, 1}) : all;
}

}  // namespace
}  // namespace ops

Tensor max_pool2d(const Operand& operand, const Size2d& window, const MaxPool2dOptions& options) {
  const tape::OpScope scope(operand);
  const Tensor x = ops::image_operand("max_pool2d", operand, "x", ops::axes);
  if (ops::is_half(x.dtype()))
    return ops::in_float32(x, [&](const Tensor& wide) { return max_pool2d(wide, window, options); });
  loops::Convolved c = ops::convolved(
      "max_pool2d", x.shape(), {window, ops::stride_of(options.stride, window), options.dilation, options.padding});
  c.rows = ops::trimmed(c.rows, "height", x.shape());
  c.columns = ops::trimmed(c.columns, "width", x.shape());
  if (c.rows.taps > ops::most_taps / std::max<std::int64_t>(c.columns.taps, 1))
    fail<ShapeError>("max_pool2d", "a window of {} x {} elements is too large for {}; use max over the axes",
                     c.rows.taps, c.columns.taps, x.shape());
  const Shape shape = ops::resized(x, c.rows.results, c.columns.results);
  const Tensor y = detail::empty(x.dtype(), shape);
  Tensor places;
  if (tape::active() && tape::followed(x))
    places = detail::empty(c.rows.taps * c.columns.taps <= 256 ? DType::uint8 : DType::int32, shape);
  loops::greatest_of_windows(c, x, y, places);
  if (tape::active()) {
    const ops::WindowAttributes attributes = ops::attributes_of(c);
    tape::record(ops::max_rule, {&x}, y, {places.defined() ? &places : nullptr}, attributes);
  }
  return y;
}

Tensor avg_pool2d(const Operand& operand, const Size2d& window, const AvgPool2dOptions& options) {
  const tape::OpScope scope(operand);
  const Tensor x = ops::image_operand("avg_pool2d", operand, "x", ops::axes);
  if (ops::is_half(x.dtype()))
    return ops::in_float32(x, [&](const Tensor& wide) { return avg_pool2d(wide, window, options); });
  const Size2d stride = ops::stride_of(options.stride, window);
  const loops::Convolved c = ops::convolved("avg_pool2d", x.shape(), {window, stride, {1, 1}, options.padding});
  const Shape shape = x.shape();
  const Tensor images = reshape(x, {shape[0] * shape[1], 1, shape[2], shape[3]});
  const Tensor sums =
      conv2d(images, ones({1, 1, window[0], window[1]}, x.dtype()), {.stride = stride, .padding = options.padding});
  const Tensor count = options.count_include_padding || (ops::unpadded(c.rows) && ops::unpadded(c.columns))
                           ? full({}, static_cast<double>(window[0]) * static_cast<double>(window[1]), x.dtype())
                           : ops::counts(c.rows, x.dtype(), true) * ops::counts(c.columns, x.dtype(), false);
  return reshape(sums / count, ops::resized(x, c.rows.results, c.columns.results));
}

}  // namespace reel
