// Pooling. max_pool2d keeps the position in the window of each result; scattering to and gathering from these positions
// are each other's transposes. avg_pool2d is a convolution of each channel with ones.
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

}  // namespace reel
