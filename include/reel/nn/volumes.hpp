// Convolution and pooling of sequences [batch, channels, length] and of volumes [batch, channels, depth, height,
// width]. Conventions of windows, padding and dtypes are those of <reel/nn/convolution.hpp>. Derivatives exist to every
// order, in both modes.
#pragma once
#include <reel/api.hpp>
#include <reel/nn/convolution.hpp>

namespace REEL_API reel {

// Sequences
//
// Each op is that of images [batch, channels, 1, length], on views, without copies. Errors, gradients and orders are
// those of the op of images.

/// How a sequence is padded: by a rule of Padding, or with {before, after} elements.
class Padding1d {
 public:
  constexpr Padding1d(Padding::Rule by = Padding::valid) : rule(by) {}
  constexpr Padding1d(std::int64_t before, std::int64_t after) : rule(Padding::given), sides{before, after} {}
  Padding::Rule rule;
  Size2d sides{};
};

/// Options of conv1d().
struct Conv1dOptions {
  std::int64_t stride = 1;
  Padding1d padding = {};
  std::int64_t dilation = 1;
  std::int64_t groups = 1;
};
/// Sums of products of the kernel w [filters, channels / groups, taps] with windows of x: conv2d along one axis.
/// (torch.nn.functional.conv1d.)
Tensor conv1d(const Operand& x, const Operand& w, const Conv1dOptions& options = {});

/// Options of conv1d_transpose().
struct Conv1dTransposeOptions {
  std::int64_t stride = 1;
  Padding1d padding = {};
  std::int64_t dilation = 1;
  std::int64_t groups = 1;
  /// Length of the result; default, 0: the smallest, of Padding::same the length times the stride.
  std::int64_t size = 0;
};
/// The transpose of conv1d, with the same arguments: x [batch, filters, ...] and w [filters, channels / groups, taps]
/// to [batch, channels, length]. (torch.nn.functional.conv_transpose1d.)
Tensor conv1d_transpose(const Operand& x, const Operand& w, const Conv1dTransposeOptions& options = {});

/// Options of max_pool1d() and max_pool1d_with_indices().
struct MaxPool1dOptions {
  /// Default, 0: the window.
  std::int64_t stride = 0;
  Padding1d padding = {};
  std::int64_t dilation = 1;
};
/// The greatest element of each window, NaN if one is. Gradient: to the first greatest element, or to the first NaN.
Tensor max_pool1d(const Operand& x, std::int64_t window, const MaxPool1dOptions& options = {});

/// Options of avg_pool1d().
struct AvgPool1dOptions {
  /// Default, 0: the window.
  std::int64_t stride = 0;
  Padding1d padding = {};
  /// Whether sums are divided by the size of the window even where it reaches into the padding.
  bool count_include_padding = false;
};
/// The mean of each window, 0 of one with nothing but padding. Gradient: g over the number of elements, added at each.
Tensor avg_pool1d(const Operand& x, std::int64_t window, const AvgPool1dOptions& options = {});

// Volumes
//
// Convolution of volumes is a sum of convolutions of images, one for each tap along the depth: the depth joins the
// batch axis. Of each tap, a tape keeps a copy of the planes that it reads, so the memory is `kernel depth / stride`
// times x. Padding is never multiplied with, as in conv2d.

/// Along depth, rows and columns.
using Size3d = std::array<std::int64_t, 3>;

/// How a volume is padded: by a rule of Padding, or with so many planes, rows and columns {before, after}.
class Padding3d {
 public:
  constexpr Padding3d(Padding::Rule by = Padding::valid) : rule(by) {}
  constexpr Padding3d(Size2d of_depth, Size2d of_rows, Size2d of_columns)
      : rule(Padding::given), sides{of_depth, of_rows, of_columns} {}
  Padding::Rule rule;
  std::array<Size2d, 3> sides{};
};

/// Options of conv3d().
struct Conv3dOptions {
  Size3d stride = {1, 1, 1};
  Padding3d padding = {};
  Size3d dilation = {1, 1, 1};
  std::int64_t groups = 1;
};
/// Sums of products of the kernel w [filters, channels / groups, kernel depth, kernel height, kernel width] with
/// windows of x. (torch.nn.functional.conv3d.) Gradient: as conv2d's. To any order.
Tensor conv3d(const Operand& x, const Operand& w, const Conv3dOptions& options = {});

/// Options of conv3d_transpose().
struct Conv3dTransposeOptions {
  Size3d stride = {1, 1, 1};
  Padding3d padding = {};
  Size3d dilation = {1, 1, 1};
  std::int64_t groups = 1;
  /// Depth, height and width of the result; default, {0, 0, 0}: the smallest, of Padding::same the size times the
  /// stride.
  Size3d size = {0, 0, 0};
};
/// The transpose of conv3d, with the same arguments: x [batch, filters, ...] and w [filters, channels / groups, ...] to
/// [batch, channels, depth, height, width]. ShapeError unless conv3d of a volume of that size has x's.
/// (torch.nn.functional.conv_transpose3d.) Gradients: conv3d of g for x, that of conv3d with x and g exchanged for w.
Tensor conv3d_transpose(const Operand& x, const Operand& w, const Conv3dTransposeOptions& options = {});

/// Options of max_pool3d() and max_pool3d_with_indices().
struct MaxPool3dOptions {
  /// Default, {0, 0, 0}: the window.
  Size3d stride = {0, 0, 0};
  Padding3d padding = {};
  Size3d dilation = {1, 1, 1};
};
/// The greatest element of each window, NaN if one is: pooled in planes, then along the depth. ValueError if a window
/// has nothing but padding. Gradient: to the first greatest element in row-major order, or to the first NaN.
Tensor max_pool3d(const Operand& x, const Size3d& window, const MaxPool3dOptions& options = {});

/// Options of avg_pool3d().
struct AvgPool3dOptions {
  /// Default, {0, 0, 0}: the window.
  Size3d stride = {0, 0, 0};
  Padding3d padding = {};
  /// Whether sums are divided by the size of the window even where it reaches into the padding.
  bool count_include_padding = false;
};
/// The mean of each window, 0 of one with nothing but padding: a mean in planes, then along the depth. Gradient: g over
/// the number of elements, added at each of them.
Tensor avg_pool3d(const Operand& x, const Size3d& window, const AvgPool3dOptions& options = {});

}  // namespace reel
