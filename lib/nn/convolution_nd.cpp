// Convolution of sequences and volumes, composed of that of images.
// 1. A sequence is an image of one row.
// 2. A volume is convolved once per tap along the kernel's depth, with the depth folded into the batch axis.
// Operands are checked here, so that errors name the public op.
#include <reel/nn/volumes.hpp>
#include <reel/ops/index.hpp>
#include <reel/ops/indexing.hpp>
#include <reel/ops/make.hpp>

#include "nn/windows.hpp"

namespace reel {
namespace ops {
namespace {

constexpr const char *sequence_results = "[batch, filters, length]",
                     *volume_results = "[batch, filters, depth, height, width]",
                     *sequence_kernel = "[filters, channels / groups, taps]",
                     *volume_kernel = "[filters, channels / groups, depth, height, width]";

using Axis = loops::WindowAxis;
using Axes3d = std::array<Axis, 3>;
constexpr Axis one_row = {1, 1, 1, 1, 1, 0};

// The image of one row that a sequence is: views.
Tensor as_image(const Tensor& x) { return expand_dims(x, 2); }
Tensor as_sequence(const Tensor& x) { return squeeze(x, 2); }

// ---- Volumes

// [batch, channels, depth, ...] with the depth folded into the batch axis, and back.
Tensor as_planes(const Tensor& x) {
  const Shape s = x.shape();
  return reshape(moveaxis(x, 2, 1), {s[0] * s[2], s[1], s[3], s[4]});
}
Tensor from_planes(const Tensor& planes, std::int64_t batch, std::int64_t depth) {
  const Shape s = planes.shape();
  return moveaxis(reshape(planes, {batch, depth, s[1], s[2], s[3]}), 1, 2);
}

// The results [first, last) along the depth for which tap number `tap` lies inside x, and the plane of x at the first
// of them.
struct Reached {
  std::int64_t first, last, plane;
};
Reached find_reach(const Axis& depth, std::int64_t tap) {
  const std::int64_t shift = tap * depth.dilation - depth.before;  // plane = result * stride + shift
  const std::int64_t first = shift < 0 ? (-shift - 1) / depth.stride + 1 : 0;
  const std::int64_t last =
      shift >= depth.extent ? 0 : std::min(depth.results, (depth.extent - 1 - shift) / depth.stride + 1);
  if (first >= last) return {0, 0, 0};
  return {first, last, first * depth.stride + shift};
}
SliceItem along_depth(std::int64_t first, std::int64_t count, std::int64_t stride) {
  return range(first, count == 0 ? first : first + (count - 1) * stride + 1, stride);
}

// Sum over the taps of the kernel's depth. part(x's planes, w's slice) convolves images; `from` and `to` tell which
// planes of x a tap reads and of the result it writes.
template <class Part, class From, class To>
Tensor sum_of_taps(const Axis& depth, const Tensor& x, const Tensor& w, const Shape& result, const Part& part,
                   const From& from, const To& to) {
  constexpr SliceItem whole;
  Tensor y = zeros(result, x.dtype());
  bool connected = false;
  for (std::int64_t tap = 0; tap < depth.taps; ++tap) {
    const Reached r = find_reach(depth, tap);
    if (r.first == r.last && (connected || tap + 1 < depth.taps)) continue;
    const Tensor planes = slice(x, {whole, whole, from(r)});
    const Tensor images = part(as_planes(planes), slice(w, {whole, whole, SliceItem(tap)}));
    y = slice_add(y, {whole, whole, to(r)}, from_planes(images, x.shape()[0], r.last - r.first));
    connected = true;
  }
  return y;
}

Tensor conv3d_of(const Axes3d& a, Padding::Rule rule, std::int64_t groups, const Tensor& x, const Tensor& w) {
  const Conv2dOptions plane = {
      {a[1].stride, a[2].stride}, padding_of(rule, a[1], a[2]), {a[1].dilation, a[2].dilation}, groups};
  return sum_of_taps(
      a[0], x, w, {x.shape()[0], w.shape()[0], a[0].results, a[1].results, a[2].results},
      [&](const Tensor& images, const Tensor& kernel) { return conv2d(images, kernel, plane); },
      [&](const Reached& r) { return along_depth(r.plane, r.last - r.first, a[0].stride); },
      [](const Reached& r) { return along_depth(r.first, r.last - r.first, 1); });
}

Tensor conv3d_transpose_of(const Axes3d& a, Padding::Rule rule, std::int64_t groups, const Tensor& x, const Tensor& w) {
  const Conv2dTransposeOptions plane = {{a[1].stride, a[2].stride},
                                        padding_of(rule, a[1], a[2]),
                                        {a[1].dilation, a[2].dilation},
                                        groups,
                                        {a[1].extent, a[2].extent}};
  return sum_of_taps(
      a[0], x, w, {x.shape()[0], w.shape()[1] * groups, a[0].extent, a[1].extent, a[2].extent},
      [&](const Tensor& images, const Tensor& kernel) { return conv2d_transpose(images, kernel, plane); },
      [](const Reached& r) { return along_depth(r.first, r.last - r.first, 1); },
      [&](const Reached& r) { return along_depth(r.plane, r.last - r.first, a[0].stride); });
}

}  // namespace
}  // namespace ops

Tensor conv1d(const Operand& x, const Operand& w, const Conv1dOptions& options) {
  constexpr const char* op = "conv1d";
  const tape::OpScope scope(x);
  const auto [a, b] = ops::image_and_kernel(op, x, w, ops::axes_text[0], ops::sequence_kernel, 3);
  const ops::AxisOptions along = ops::sequence_options(b.shape()[2], options.stride, options.dilation, options.padding);
  ops::check_windows(op, {&along, 1}, options.groups);
  loops::WindowAxis axis;
  ops::window_axes(op, a.shape(), {&along, 1}, {&axis, 1});
  ops::check_kernel(op, a.shape(), b.shape(), options.groups);
  return ops::as_sequence(conv2d(ops::as_image(a), ops::as_image(b),
                                 {{1, options.stride},
                                  ops::padding_of(options.padding.rule, ops::one_row, axis),
                                  {1, options.dilation},
                                  options.groups}));
}

Tensor conv1d_transpose(const Operand& x, const Operand& w, const Conv1dTransposeOptions& options) {
  constexpr const char* op = "conv1d_transpose";
  const tape::OpScope scope(x);
  const auto [a, b] = ops::image_and_kernel(op, x, w, ops::sequence_results, ops::sequence_kernel, 3);
  const ops::AxisOptions along = ops::sequence_options(b.shape()[2], options.stride, options.dilation, options.padding);
  ops::check_windows(op, {&along, 1}, options.groups);
  loops::WindowAxis axis;
  ops::window_axes_from_results(op, a.shape(), {&along, 1}, {&options.size, 1}, {&axis, 1});
  ops::check_transposed_kernel(op, a.shape(), b.shape(), options.groups);
  return ops::as_sequence(conv2d_transpose(ops::as_image(a), ops::as_image(b),
                                           {{1, options.stride},
                                            ops::padding_of(options.padding.rule, ops::one_row, axis),
                                            {1, options.dilation},
                                            options.groups,
                                            {1, axis.extent}}));
}

Tensor conv3d(const Operand& x, const Operand& w, const Conv3dOptions& options) {
  constexpr const char* op = "conv3d";
  const tape::OpScope scope(x);
  const auto [a, b] = ops::image_and_kernel(op, x, w, ops::axes_text[2], ops::volume_kernel, 5);
  const Shape kernel = b.shape();
  const auto along =
      ops::volume_options({kernel[2], kernel[3], kernel[4]}, options.stride, options.dilation, options.padding);
  ops::check_windows(op, along, options.groups);
  ops::Axes3d axes;
  ops::window_axes(op, a.shape(), along, axes);
  ops::check_kernel(op, a.shape(), kernel, options.groups);
  return ops::cast_to(ops::conv3d_of(axes, options.padding.rule, options.groups, ops::widened(a), ops::widened(b)),
                      a.dtype());
}

Tensor conv3d_transpose(const Operand& x, const Operand& w, const Conv3dTransposeOptions& options) {
  constexpr const char* op = "conv3d_transpose";
  const tape::OpScope scope(x);
  const auto [a, b] = ops::image_and_kernel(op, x, w, ops::volume_results, ops::volume_kernel, 5);
  const Shape kernel = b.shape();
  const auto along =
      ops::volume_options({kernel[2], kernel[3], kernel[4]}, options.stride, options.dilation, options.padding);
  ops::check_windows(op, along, options.groups);
  ops::Axes3d axes;
  ops::window_axes_from_results(op, a.shape(), along, options.size, axes);
  ops::check_transposed_kernel(op, a.shape(), kernel, options.groups);
  return ops::cast_to(
      ops::conv3d_transpose_of(axes, options.padding.rule, options.groups, ops::widened(a), ops::widened(b)),
      a.dtype());
}

}  // namespace reel
