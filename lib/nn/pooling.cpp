// Pooling. max_pool2d keeps the position in the window of each result; scattering to and gathering from these positions
// are each other's transposes. avg_pool2d is a convolution of each channel with ones. A sequence is an image of one
// row; a volume is pooled in planes, then along the depth.
#include <algorithm>
#include <reel/ops/make.hpp>
#include <reel/ops/pointwise.hpp>
#include <reel/ops/shape.hpp>

#include "csource/steps.hpp"
#include "loops/loops.hpp"
#include "nn/pooling_loops.hpp"
#include "nn/windows.hpp"
#include "ops/apply/apply.hpp"

namespace reel {
namespace ops {
namespace {

using Axis = loops::WindowAxis;

constexpr std::int64_t most_taps = 1 << 24;  // the kernels count positions in float32

// x [..., rows, columns] with other extents of the last two axes.
Shape with_plane(const Tensor& x, std::int64_t rows, std::int64_t columns) {
  Shape shape = x.shape();
  shape[-2] = rows;
  shape[-1] = columns;
  return shape;
}
Shape result_shape(const Tensor& x, const loops::WindowGeometry& c) {
  return with_plane(x, c.rows.results, c.columns.results);
}
Shape image_shape(const Tensor& x, const loops::WindowGeometry& c) {
  return with_plane(x, c.rows.extent, c.columns.extent);
}

// The steps, with the extents of windows as numbers #1 to #c.
void write_windows(const Call& call, csource::Writer& w, std::string_view text) {
  csource::write_steps(w, call.input(0).dtype(), text, call.attributes);
}
void write_max_pool(const Call& call, csource::Writer& w) {
  write_windows(call, w,
                "temp t0 int32 o1\nfor i0:2 o0:2 t0:2\n$max_pool(i0, o0, t0, #1, #2, #3, #4, #5, #6, #7, #8, #9, #a, "
                "#b, #c)\ncopy t0 o1");
}
void write_window_scatter(const Call& call, csource::Writer& w) {
  write_windows(call, w,
                "temp t0 int32 i1\ncopy i1 t0\nfor i0:2 t0:2 o0:2\n"
                "$of_windows(i0, t0, o0, 1, #1, #2, #3, #4, #5, #6, #7, #8, #9, #a, #b, #c)");
}
void write_window_gather(const Call& call, csource::Writer& w) {
  write_windows(call, w,
                "temp t0 int32 i1\ncopy i1 t0\nfor i0:2 t0:2 o0:2\n"
                "$of_windows(i0, t0, o0, 0, #1, #2, #3, #4, #5, #6, #7, #8, #9, #a, #b, #c)");
}

// Inputs of both: x, and the positions, a residual of max_pool2d. Attributes of all: the windows.
Tensor scatter(Attributes windows, const Tensor& x, const Tensor& places);
Tensor gather(Attributes windows, const Tensor& x, const Tensor& places);

Tensor scatter_saved(const tape::Record& r, const Tensor& g) { return scatter(r.attributes(), g, r.saved(0)); }
Tensor gather_saved(const tape::Record& r, const Tensor& x) { return gather(r.attributes(), x, r.saved(0)); }

void infer_window_scatter(const Call& call, Metas& out) {
  const Tensor& x = call.input(0);
  out.add(x.dtype(), image_shape(x, geometry_of(call.attributes)));
}
void evaluate_window_scatter(const Call& call, Outputs& out) {
  Tensor copied;
  loops::scatter_windows(geometry_of(call.attributes), loops::contiguous(call.input(0), copied), call.input(1), out[0]);
}
constexpr Primitive window_scatter_primitive = {.rule = linear<gather_saved, scatter_saved>("max_pool2d_scatter"),
                                                .infer = infer_window_scatter,
                                                .evaluate = evaluate_window_scatter,
                                                .keeps = {keep_input(1)},
                                                .constants = 1,
                                                .write_c = write_window_scatter};

void infer_window_gather(const Call& call, Metas& out) {
  const Tensor& x = call.input(0);
  out.add(x.dtype(), result_shape(x, geometry_of(call.attributes)));
}
void evaluate_window_gather(const Call& call, Outputs& out) {
  Tensor copied;
  loops::gather_windows(geometry_of(call.attributes), loops::contiguous(call.input(0), copied), call.input(1), out[0]);
}
constexpr Primitive window_gather_primitive = {.rule = linear<scatter_saved, gather_saved>("max_pool2d_gather"),
                                               .infer = infer_window_gather,
                                               .evaluate = evaluate_window_gather,
                                               .keeps = {keep_input(1)},
                                               .constants = 1,
                                               .write_c = write_window_gather};

Tensor scatter(Attributes windows, const Tensor& x, const Tensor& places) {
  return apply(window_scatter_primitive, {&x, &places}, windows);
}
Tensor gather(Attributes windows, const Tensor& x, const Tensor& places) {
  return apply(window_gather_primitive, {&x, &places}, windows);
}

void infer_max(const Call& call, Metas& out) {
  const loops::WindowGeometry c = geometry_of(call.attributes);
  const Shape shape = result_shape(call.input(0), c);
  out.add(call.input(0).dtype(), shape);
  out.add(c.rows.taps * c.columns.taps <= 256 ? DType::uint8 : DType::int32, shape);
}
void evaluate_max(const Call& call, Outputs& out) {
  const Tensor places = out.residuals_wanted() ? out[1] : Tensor();
  loops::greatest_of_windows(geometry_of(call.attributes), call.input(0), out[0], places);
}
constexpr Primitive max_primitive = {.rule = linear<scatter_saved, gather_saved>("max_pool2d"),
                                     .infer = infer_max,
                                     .evaluate = evaluate_max,
                                     .keeps = {keep_output(1)},
                                     .residuals = 1,
                                     .write_c = write_max_pool};

// Whether no window along the axis meets padding.
bool unpadded(const Axis& axis) {
  return axis.before == 0 && (axis.results - 1) * axis.stride + axis.taps <= axis.extent;
}
// The number of elements of the axis in each window, as [n, 1] or [n].
Tensor counts(const Axis& axis, DType dtype, bool column) {
  detail::List<double> n;
  for (std::int64_t i = 0; i < axis.results; ++i) {
    const std::int64_t start = i * axis.stride - axis.before;
    const auto count = static_cast<double>(std::min(start + axis.taps, axis.extent) - std::max<std::int64_t>(start, 0));
    n.push_back(std::max(count, 1.0));  // the mean of a window without elements is 0
  }
  const Tensor all = cast(from_data(n), dtype);
  return column ? reshape(all, {axis.results, 1}) : all;
}

using ImageAxes = std::array<AxisOptions, 2>;
std::array<Axis, 2> axes_of_images(const char* op, const Tensor& x, const ImageAxes& along) {
  std::array<Axis, 2> axes;
  window_axes(op, x.shape(), along, axes);
  return axes;
}

// Images [batch, channels, height, width], whose windows are checked.
using PoolImages = Tensor(const char* op, const Tensor& x, const ImageAxes& along, bool include_padding);

Tensor max_of_images(const char* op, const Tensor& x, const ImageAxes& along, bool) {
  if (is_half(x.dtype()))
    return in_float32(x, [&](const Tensor& wide) { return max_of_images(op, wide, along, false); });
  const auto [rows, columns] = axes_of_images(op, x, along);
  const loops::WindowGeometry c = {1, without_padding(op, rows, along[0].name, x.shape()),
                                   without_padding(op, columns, along[1].name, x.shape())};
  if (c.rows.taps > most_taps / std::max<std::int64_t>(c.columns.taps, 1))
    fail<ShapeError>(op, "a window of {} x {} elements is too large for {}; use max over the axes", c.rows.taps,
                     c.columns.taps, x.shape());
  return apply(max_primitive, {&x}, attributes_of(c));
}

Tensor mean_of_images(const char* op, const Tensor& x, const ImageAxes& along, bool include_padding) {
  const auto [rows, columns] = axes_of_images(op, x, along);
  const Padding::Rule rule = along[0].rule == along[1].rule ? along[0].rule : Padding::given;
  const Shape shape = x.shape();
  const Tensor images = reshape(x, {shape[0] * shape[1], 1, shape[2], shape[3]});
  const Tensor sums = conv2d(images, ones({1, 1, rows.taps, columns.taps}, x.dtype()),
                             {.stride = {rows.stride, columns.stride}, .padding = padding_of(rule, rows, columns)});
  const Tensor count = include_padding || (unpadded(rows) && unpadded(columns))
                           ? full({}, static_cast<double>(rows.taps) * static_cast<double>(columns.taps), x.dtype())
                           : counts(rows, x.dtype(), true) * counts(columns, x.dtype(), false);
  return reshape(sums / count, with_plane(x, rows.results, columns.results));
}

// Sequences, images or volumes, by the number of axes.
Tensor pool(const char* op, const Operand& operand, std::span<const AxisOptions> along, PoolImages* images,
            bool include_padding = false) {
  const int n = static_cast<int>(along.size());
  const Tensor x = image_operand(op, operand, "x", axes_text[n - 1], n + 2);
  const bool rounds = images == mean_of_images;  // a volume once, not in each of two steps
  if (rounds && is_half(x.dtype()))
    return in_float32(x, [&](const Tensor& wide) { return pool(op, wide, along, images, include_padding); });
  check_windows(op, along, 1);
  std::array<Axis, 3> axes;
  window_axes(op, x.shape(), along, axes);
  if (!rounds)
    for (std::size_t d = 0; d < along.size(); ++d) without_padding(op, axes[d], along[d].name, x.shape());
  constexpr AxisOptions one = {"", 1, 1, 1, Padding::same, {}};
  const auto of_images = [&](const Tensor& y, const AxisOptions& rows, const AxisOptions& columns) {
    return images(op, y, {rows, columns}, include_padding);
  };
  if (n == 1) return squeeze(of_images(expand_dims(x, 2), one, along[0]), 2);
  if (n == 2) return of_images(x, along[0], along[1]);
  const Shape s = x.shape();
  const Tensor planes = of_images(reshape(x, {s[0], s[1] * s[2], s[3], s[4]}), along[1], along[2]);
  const std::int64_t rows = axes[1].results, columns = axes[2].results;
  const Tensor pooled = of_images(reshape(planes, {s[0], s[1], s[2], rows * columns}), along[0], one);
  return reshape(pooled, {s[0], s[1], axes[0].results, rows, columns});
}

}  // namespace
}  // namespace ops

Tensor max_pool1d(const Operand& x, std::int64_t window, const MaxPool1dOptions& o) {
  const tape::OpScope scope(x);
  const ops::AxisOptions along = ops::sequence_options(window, ops::stride_of(o.stride, window), o.dilation, o.padding);
  return ops::pool("max_pool1d", x, {&along, 1}, ops::max_of_images);
}
Tensor avg_pool1d(const Operand& x, std::int64_t window, const AvgPool1dOptions& o) {
  const tape::OpScope scope(x);
  const ops::AxisOptions along = ops::sequence_options(window, ops::stride_of(o.stride, window), 1, o.padding);
  return ops::pool("avg_pool1d", x, {&along, 1}, ops::mean_of_images, o.count_include_padding);
}
Tensor max_pool2d(const Operand& x, const Size2d& window, const MaxPool2dOptions& o) {
  const tape::OpScope scope(x);
  const auto along = ops::image_options(window, ops::stride_of(o.stride, window), o.dilation, o.padding);
  return ops::pool("max_pool2d", x, along, ops::max_of_images);
}
Tensor avg_pool2d(const Operand& x, const Size2d& window, const AvgPool2dOptions& o) {
  const tape::OpScope scope(x);
  const auto along = ops::image_options(window, ops::stride_of(o.stride, window), {1, 1}, o.padding);
  return ops::pool("avg_pool2d", x, along, ops::mean_of_images, o.count_include_padding);
}
Tensor max_pool3d(const Operand& x, const Size3d& window, const MaxPool3dOptions& o) {
  const tape::OpScope scope(x);
  const auto along = ops::volume_options(window, ops::stride_of(o.stride, window), o.dilation, o.padding);
  return ops::pool("max_pool3d", x, along, ops::max_of_images);
}
Tensor avg_pool3d(const Operand& x, const Size3d& window, const AvgPool3dOptions& o) {
  const tape::OpScope scope(x);
  const auto along = ops::volume_options(window, ops::stride_of(o.stride, window), {1, 1, 1}, o.padding);
  return ops::pool("avg_pool3d", x, along, ops::mean_of_images, o.count_include_padding);
}

}  // namespace reel
