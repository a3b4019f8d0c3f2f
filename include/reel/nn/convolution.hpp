// Convolution and pooling of images. float16 and bfloat16 compute in float32 and are rounded once, at the end.
// TypeError for integer, boolean and complex operands.
//
// Images are [batch, channels, height, width], as in PyTorch and ONNX. Transpose images of other layouts: y =
// transpose(x, {0, 3, 1, 2}). A bias [filters, 1, 1] is added by broadcasting. A batch may be empty. Results have the
// same bits for every number of threads. Padding counts as zeros; max_pool2d ignores it. It is never multiplied: an
// infinity or NaN reaches only the windows that contain it, in gradients too. ShapeError for another rank, channels
// that do not match, and windows larger than the padded image. ValueError for strides, dilations and groups below 1,
// and for negative padding.
#pragma once
#include <array>
#include <cstdint>
#include <reel/api.hpp>
#include <reel/tensor.hpp>

namespace REEL_API reel {

/// A number for the rows (height) and one for the columns (width).
using Size2d = std::array<std::int64_t, 2>;

/// How an image is padded. valid: not at all. same: for ceil(size / stride) results; an odd row or column of padding
/// goes to the end (TensorFlow's rule). Otherwise by {before, after} rows and {before, after} columns: {{1, 1}, {1,
/// 1}}.
class Padding {
 public:
  enum Rule : std::uint8_t { valid, same, given };
  constexpr Padding(Rule by = valid) : rule(by) {}
  constexpr Padding(Size2d of_rows, Size2d of_columns) : rule(given), rows(of_rows), columns(of_columns) {}
  Rule rule;
  Size2d rows{}, columns{};
};

/// Options of conv2d().
struct Conv2dOptions {
  Size2d stride = {1, 1};
  Padding padding = {};
  Size2d dilation = {1, 1};
  std::int64_t groups = 1;
};
/// Cross-correlation of x with the kernel w [filters, channels / groups, kernel height, kernel width], as in PyTorch
/// and TensorFlow (the kernel is not flipped): [batch, filters, (height + padding - (kernel - 1) dilation - 1) / stride
/// + 1, ...]. With groups, channels and filters are divided into as many independent groups; groups = channels is a
/// depthwise convolution. Gradient, to any order: to x, conv2d_transpose(g, w); to w, the cross-correlation of x with
/// g.
Tensor conv2d(const Operand& x, const Operand& w, const Conv2dOptions& options = {});

/// Options of conv2d_transpose().
struct Conv2dTransposeOptions {
  Size2d stride = {1, 1};
  Padding padding = {};
  Size2d dilation = {1, 1};
  std::int64_t groups = 1;
  /// Height and width of the result. The default {0, 0} is the smallest size possible; for Padding::same, x's size
  /// times the stride.
  Size2d size = {0, 0};
};
/// The transpose of conv2d, with the same arguments: x [batch, filters, ...] and w [filters, channels / groups, ...]
/// give [batch, channels, height, width] (PyTorch's conv_transpose2d, TensorFlow's conv2d_transpose). ShapeError unless
/// conv2d of an image of that size has the shape of x. Gradient: to x, conv2d(g, w); to w, the cross-correlation of g
/// with x.
Tensor conv2d_transpose(const Operand& x, const Operand& w, const Conv2dTransposeOptions& options = {});

/// Options of max_pool2d() and max_pool2d_with_indices().
struct MaxPool2dOptions {
  /// Default, {0, 0}: the window.
  Size2d stride = {0, 0};
  Padding padding = {};
  Size2d dilation = {1, 1};
};
/// The greatest element of each window; NaN if one of them is. ValueError if a window contains only padding. Gradient:
/// to the first greatest element in row-major order, or to the first NaN.
Tensor max_pool2d(const Operand& x, const Size2d& window, const MaxPool2dOptions& options = {});

/// Options of avg_pool2d().
struct AvgPool2dOptions {
  /// Default, {0, 0}: the window.
  Size2d stride = {0, 0};
  Padding padding = {};
  /// Whether sums are divided by the size of the window even where it reaches into the padding.
  bool count_include_padding = false;
};
/// The mean of each window; 0 for a window that contains only padding. Gradient: the cotangent divided by the count, to
/// each element.
Tensor avg_pool2d(const Operand& x, const Size2d& window, const AvgPool2dOptions& options = {});

}  // namespace reel
