// Building blocks of neural networks: convolution and pooling, normalisation and losses. float16 and bfloat16 compute
// in float32 and are rounded once, at the end. TypeError for integer, boolean and complex operands.
#pragma once
#include <array>
#include <optional>
#include <reel/tensor.hpp>

namespace [[gnu::visibility("default")]] reel {

// Convolution and pooling
//
// Images are [batch, channels, height, width], as in PyTorch and ONNX; of others, transpose: y = transpose(x, {0, 3, 1,
// 2}). A bias [filters, 1, 1] is added like anything that broadcasts. Any batch, an empty one too; results have the same
// bits for every number of threads. Padding counts as zeros, of max_pool2d as nothing. ShapeError for another rank,
// channels that do not match, and windows that are larger than the padded image; ValueError for strides, dilations and
// groups below 1 and negative padding.

/// Along rows and columns.
using Size2d = std::array<std::int64_t, 2>;

/// How an image is padded: valid (not at all); same (for ceil(size / stride) results, one that is left over after the
/// last row and column: TensorFlow's rule); or so many rows {before, after} and columns {before, after}: {{1, 1}, {1,
/// 1}}.
class Padding {
 public:
  enum Rule : std::uint8_t { valid, same, given };
  constexpr Padding(Rule by = valid) : rule(by) {}
  constexpr Padding(Size2d of_rows, Size2d of_columns) : rule(given), rows(of_rows), columns(of_columns) {}
  Rule rule;
  Size2d rows{}, columns{};
};

struct Conv2dOptions {
  Size2d stride = {1, 1};
  Padding padding = {};
  Size2d dilation = {1, 1};
  std::int64_t groups = 1;
};
/// Sums of products of the kernel w [filters, channels / groups, kernel height, kernel width] with windows of x, as in
/// PyTorch and TensorFlow (not flipped): [batch, filters, (height + padding - (kernel - 1) dilation - 1) / stride + 1,
/// ...]. With groups, channels and filters fall into as many parts that have nothing to do with each other; groups =
/// channels is depthwise. Gradient: to x, conv2d_transpose(g, w); to w, sums of products of x and g. To any order.
Tensor conv2d(const Operand& x, const Operand& w, const Conv2dOptions& options = {});

struct Conv2dTransposeOptions {
  Size2d stride = {1, 1};
  Padding padding = {};
  Size2d dilation = {1, 1};
  std::int64_t groups = 1;
  /// Height and width of the result; default: the smallest, of Padding::same the size times the stride.
  std::optional<Size2d> size = {};
};
/// The transpose of conv2d, with the same arguments: x [batch, filters, ...] and w [filters, channels / groups, ...] to
/// [batch, channels, height, width] (PyTorch's conv_transpose2d, TensorFlow's conv2d_transpose). ShapeError unless
/// conv2d of an image of that size has x's. Gradient: conv2d(g, w), and sums of products of g and x.
Tensor conv2d_transpose(const Operand& x, const Operand& w, const Conv2dTransposeOptions& options = {});

struct MaxPool2dOptions {
  /// Default: the window.
  std::optional<Size2d> stride = {};
  Padding padding = {};
  Size2d dilation = {1, 1};
};
/// The greatest element of each window, NaN if one is. ValueError if a window has nothing but padding. Gradient: to the
/// first greatest element in row-major order, or to the first NaN.
Tensor max_pool2d(const Operand& x, const Size2d& window, const MaxPool2dOptions& options = {});

struct AvgPool2dOptions {
  /// Default: the window.
  std::optional<Size2d> stride = {};
  Padding padding = {};
  /// Whether sums are divided by the size of the window even where it reaches into the padding.
  bool count_include_padding = false;
};
/// The mean of each window. Gradient: the cotangent over the count, to each element of the window.
Tensor avg_pool2d(const Operand& x, const Size2d& window, const AvgPool2dOptions& options = {});

// Normalisation and losses

}  // namespace reel
