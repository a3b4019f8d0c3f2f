// Images and fields at other sizes. <reel/reel.hpp> does not include this header.
#pragma once
#include <reel/api.hpp>
#include <reel/tensor.hpp>

namespace REEL_API reel {

/// How an element of the result is computed from those of x around it. nearest: the nearest one. Others: their weighted
/// mean. The weight is a function of the distance in elements of x: linear, 0 from distance 1 on; Keys's cubic kernel
/// (Keys 1981), from 2 on; Lanczos's windowed sinc, from 3 or 5 on.
enum class ResizeMethod : std::uint8_t { nearest, linear, cubic, lanczos3, lanczos5 };
/// Options of resize().
struct ResizeOptions {
  ResizeMethod method = ResizeMethod::linear;
  /// Along axes that become shorter, distances are divided by that of neighbouring elements of the result, so that
  /// every element of x takes part. An axis of one element with aligned corners is left out: it has the first element.
  bool antialias = true;
  /// Whether the centres of the outermost elements stay where they are, rather than their outer edges.
  bool align_corners = false;
  /// Keys's coefficient: -0.5 in TensorFlow and JAX, -0.75 in PyTorch without antialias. PyTorch then repeats the
  /// outermost elements beyond the borders, so that results there differ, by up to a tenth of the values' range;
  /// grid_sample with GridMethod::cubic, GridPadding::border and the affine_grid of the identity does that too.
  double cubic = -0.5;
};
/// x resampled to `shape`, which has the rank of x: images, lines or volumes, with batch and channel axes anywhere.
/// (JAX's image.resize; TensorFlow's image.resize with antialias.) Axes that keep their extent are not changed. Along
/// an axis from n to m elements, element i of the result is at position (i + 1/2) n / m - 1/2 of x, with aligned
/// corners at i (n - 1) / (m - 1). Halfway between two elements the nearest is the later one. Weights are divided by
/// the sum of those inside x. NaN and infinities between the outermost weights that are not 0 reach the result, also
/// where their own weight is 0. Gradient: the transposed weights; to any order, in both modes.
///
/// nearest takes every dtype. Others: float32 and float64; float16 and bfloat16 compute as float32, integers and
/// booleans as float64; TypeError for complex numbers. ShapeError for another rank, for an extent above 2^29, and for a
/// positive extent where x has none; ValueError for a coefficient that is not finite.
Tensor resize(const Operand& x, const Shape& shape, const ResizeOptions& options = {});

}  // namespace reel
