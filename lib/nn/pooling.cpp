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

constexpr const char* image_axes = "[batch, channels, height, width]";
constexpr std::int64_t most_taps = 1 << 24;  // the kernels count positions in float32

// x [..., rows, columns] with other extents of the last two axes.
Shape resized(const Tensor& x, std::int64_t rows, std::int64_t columns) {
  Shape shape = x.shape();
  shape[-2] = rows;
  shape[-1] = columns;
  return shape;
}
Shape result_shape(const Tensor& x, const loops::WindowGeometry& c) {
  return resized(x, c.rows.results, c.columns.results);
}
Shape image_shape(const Tensor& x, const loops::WindowGeometry& c) {
  return resized(x, c.rows.extent, c.columns.extent);
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
bool unpadded(const loops::WindowAxis& axis) {
  return axis.before == 0 && (axis.results - 1) * axis.stride + axis.taps <= axis.extent;
}
// The number of elements of the axis in each window, as [n, 1] or [n].
Tensor counts(const loops::WindowAxis& axis, DType dtype, bool column) {
  detail::List<double> n;
  for (std::int64_t i = 0; i < axis.results; ++i) {
    const std::int64_t start = i * axis.stride - axis.before;
    const auto count = static_cast<double>(std::min(start + axis.taps, axis.extent) - std::max<std::int64_t>(start, 0));
    n.push_back(std::max(count, 1.0));  // the mean of a window without elements is 0
  }
  const Tensor all = cast(from_data(n), dtype);
  return column ? reshape(all, {axis.results, 1}) : all;
}

// ---- Sequences and volumes

using Axis = loops::WindowAxis;
using Axes3d = std::array<Axis, 3>;
constexpr const char *sequence_axes = "[batch, channels, length]",
                     *volume_axes = "[batch, channels, depth, height, width]";

// The image of one row that a sequence is: views.
Tensor as_image(const Tensor& x) { return expand_dims(x, 2); }
Tensor as_sequence(const Tensor& x) { return squeeze(x, 2); }

// f of images [batch, channels * depth, height, width], then g of [batch, channels, depth, height * width].
template <class F, class G>
Tensor pool_planes_then_depth(const Tensor& x, const Axes3d& a, const F& f, const G& g) {
  const Shape s = x.shape();
  const Tensor planes = f(reshape(x, {s[0], s[1] * s[2], s[3], s[4]}));
  const Tensor pooled = g(reshape(planes, {s[0], s[1], s[2], a[1].results * a[2].results}));
  return reshape(pooled, {s[0], s[1], a[0].results, a[1].results, a[2].results});
}

Axes3d volume_windows(const char* op, const Shape& shape, const std::array<AxisOptions, 3>& options,
                      std::int64_t groups = 1) {
  check_windows(op, options, groups);
  Axes3d axes;
  window_axes(op, shape, options, axes);
  return axes;
}
Axis sequence_windows(const char* op, const Shape& shape, const AxisOptions& options, std::int64_t groups = 1) {
  check_windows(op, {&options, 1}, groups);
  Axis axis;
  window_axes(op, shape, {&options, 1}, {&axis, 1});
  return axis;
}

}  // namespace
}  // namespace ops

Tensor max_pool2d(const Operand& operand, const Size2d& window, const MaxPool2dOptions& options) {
  const tape::OpScope scope(operand);
  const Tensor x = ops::image_operand("max_pool2d", operand, "x", ops::image_axes);
  if (ops::is_half(x.dtype()))
    return ops::in_float32(x, [&](const Tensor& wide) { return max_pool2d(wide, window, options); });
  loops::WindowGeometry c = ops::window_geometry(
      "max_pool2d", x.shape(), {window, ops::stride_of(options.stride, window), options.dilation, options.padding});
  c.rows = ops::without_padding("max_pool2d", c.rows, "height", x.shape());
  c.columns = ops::without_padding("max_pool2d", c.columns, "width", x.shape());
  if (c.rows.taps > ops::most_taps / std::max<std::int64_t>(c.columns.taps, 1))
    fail<ShapeError>("max_pool2d", "a window of {} x {} elements is too large for {}; use max over the axes",
                     c.rows.taps, c.columns.taps, x.shape());
  return ops::apply(ops::max_primitive, {&x}, ops::attributes_of(c));
}

Tensor avg_pool2d(const Operand& operand, const Size2d& window, const AvgPool2dOptions& options) {
  const tape::OpScope scope(operand);
  const Tensor x = ops::image_operand("avg_pool2d", operand, "x", ops::image_axes);
  if (ops::is_half(x.dtype()))
    return ops::in_float32(x, [&](const Tensor& wide) { return avg_pool2d(wide, window, options); });
  const Size2d stride = ops::stride_of(options.stride, window);
  const loops::WindowGeometry c =
      ops::window_geometry("avg_pool2d", x.shape(), {window, stride, {1, 1}, options.padding});
  const Shape shape = x.shape();
  const Tensor images = reshape(x, {shape[0] * shape[1], 1, shape[2], shape[3]});
  const Tensor sums =
      conv2d(images, ones({1, 1, window[0], window[1]}, x.dtype()), {.stride = stride, .padding = options.padding});
  const Tensor count = options.count_include_padding || (ops::unpadded(c.rows) && ops::unpadded(c.columns))
                           ? full({}, static_cast<double>(window[0]) * static_cast<double>(window[1]), x.dtype())
                           : ops::counts(c.rows, x.dtype(), true) * ops::counts(c.columns, x.dtype(), false);
  return reshape(sums / count, ops::result_shape(x, c));
}

Tensor max_pool1d(const Operand& operand, std::int64_t window, const MaxPool1dOptions& options) {
  constexpr const char* op = "max_pool1d";
  const tape::OpScope scope(operand);
  const Tensor x = ops::image_operand(op, operand, "x", ops::sequence_axes, 3);
  const std::int64_t stride = ops::stride_of(options.stride, window);
  const loops::WindowAxis axis =
      ops::sequence_windows(op, x.shape(), ops::sequence_options(window, stride, options.dilation, options.padding));
  ops::without_padding(op, axis, "length", x.shape());
  return ops::as_sequence(
      max_pool2d(ops::as_image(x), {1, window}, {{1, stride}, {{0, 0}, ops::sides_of(axis)}, {1, options.dilation}}));
}

Tensor avg_pool1d(const Operand& operand, std::int64_t window, const AvgPool1dOptions& options) {
  constexpr const char* op = "avg_pool1d";
  const tape::OpScope scope(operand);
  const Tensor x = ops::image_operand(op, operand, "x", ops::sequence_axes, 3);
  const std::int64_t stride = ops::stride_of(options.stride, window);
  const loops::WindowAxis axis =
      ops::sequence_windows(op, x.shape(), ops::sequence_options(window, stride, 1, options.padding));
  return ops::as_sequence(avg_pool2d(ops::as_image(x), {1, window},
                                     {{1, stride}, {{0, 0}, ops::sides_of(axis)}, options.count_include_padding}));
}

Tensor max_pool3d(const Operand& operand, const Size3d& window, const MaxPool3dOptions& options) {
  constexpr const char* op = "max_pool3d";
  const tape::OpScope scope(operand);
  const Tensor x = ops::image_operand(op, operand, "x", ops::volume_axes, 5);
  const auto along =
      ops::volume_options(window, ops::stride_of(options.stride, window), options.dilation, options.padding);
  const ops::Axes3d a = ops::volume_windows(op, x.shape(), along);
  for (std::size_t d = 0; d < 3; ++d) ops::without_padding(op, a[d], along[d].name, x.shape());
  return ops::pool_planes_then_depth(
      x, a,
      [&](const Tensor& planes) {
        return max_pool2d(
            planes, {window[1], window[2]},
            {{a[1].stride, a[2].stride}, {ops::sides_of(a[1]), ops::sides_of(a[2])}, {a[1].dilation, a[2].dilation}});
      },
      [&](const Tensor& columns) {
        return max_pool2d(columns, {window[0], 1},
                          {{a[0].stride, 1}, {ops::sides_of(a[0]), {0, 0}}, {a[0].dilation, 1}});
      });
}

Tensor avg_pool3d(const Operand& operand, const Size3d& window, const AvgPool3dOptions& options) {
  constexpr const char* op = "avg_pool3d";
  const tape::OpScope scope(operand);
  const Tensor x = ops::image_operand(op, operand, "x", ops::volume_axes, 5);
  if (ops::is_half(x.dtype()))
    return ops::in_float32(x, [&](const Tensor& wide) { return avg_pool3d(wide, window, options); });
  const ops::Axes3d a = ops::volume_windows(
      op, x.shape(), ops::volume_options(window, ops::stride_of(options.stride, window), {1, 1, 1}, options.padding));
  const bool include = options.count_include_padding;
  return ops::pool_planes_then_depth(
      x, a,
      [&](const Tensor& planes) {
        return avg_pool2d(planes, {window[1], window[2]},
                          {{a[1].stride, a[2].stride}, {ops::sides_of(a[1]), ops::sides_of(a[2])}, include});
      },
      [&](const Tensor& columns) {
        return avg_pool2d(columns, {window[0], 1}, {{a[0].stride, 1}, {ops::sides_of(a[0]), {0, 0}}, include});
      });
}

}  // namespace reel
