// Images and fields at other sizes. <reel/reel.hpp> does not include this header.
#pragma once
#include <reel/tensor.hpp>

namespace [[gnu::visibility("default")]] reel {

/// How elements of a smaller or larger array follow from those around: the nearest one; or weights that fall to 0
/// within a radius: linearly within 1, by Keys's cubic kernel within 2 (Keys 1981), by Lanczos's windowed sinc within 3
/// or 5.
enum class ResizeMethod : std::uint8_t { nearest, linear, cubic, lanczos3, lanczos5 };
/// Options of resize().
struct ResizeOptions {
  ResizeMethod method = ResizeMethod::linear;
  /// Along axes that become shorter, the radius is multiplied by the distance of the new elements, so that each element
  /// has its part in the result; but for one new element with aligned corners, which is the first.
  bool antialias = true;
  /// Whether the centres of the outermost elements stay where they are, rather than their outer edges.
  bool align_corners = false;
  double cubic = -0.5;  ///< Keys's coefficient: -0.5 in TensorFlow and JAX, -0.75 in PyTorch without antialias
};
/// x at the extents of `shape`, which has its rank: an image, a line, a volume, with channels and batch axes anywhere.
/// Axes of the same extent stay as they are. (JAX's image.resize; TensorFlow's image.resize with antialias.) An element
/// at i of m is at (i + 1/2) n / m - 1/2 of n, with aligned corners at i (n - 1) / (m - 1), and the nearest one is that
/// with halves up. The weights of the elements that exist are divided by their sum. NaN and infinities between the
/// outermost weights that are not 0 reach the result, also where their own weight is 0. ShapeError for another rank,
/// for an extent above 2^29, and for elements of an axis without any; ValueError for a coefficient that is not finite.
/// Nearest: every dtype. Others: float32 and float64; float16 and bfloat16 compute as float32, integers and booleans as
/// float64; TypeError for complex numbers. Gradient: the transposed weights. To any order, in both modes.
Tensor resize(const Operand& x, const Shape& shape, const ResizeOptions& options = {});

}  // namespace reel
