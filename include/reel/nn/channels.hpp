// Normalisation of channels, axis 1 of x [batch, channels, ...]. float16 and bfloat16 compute in float32 and are
// rounded once, at the end. Derivatives exist to every order, in both modes.
#pragma once
#include <cstdint>
#include <reel/api.hpp>
#include <reel/tensor.hpp>

namespace REEL_API reel {

/// layer_norm of the elements of each group of channels of each example: channels fall into `groups` parts of
/// neighbours. (Wu, He 2018; torch.nn.functional.group_norm.) ShapeError if `groups` does not divide them; ValueError
/// for groups below 1 and epsilon below 0. Gradient: layer_norm's.
Tensor group_norm(const Operand& x, std::int64_t groups, double epsilon = 1e-5);
/// The same times `scale` plus `offset`, [channels] each (ShapeError otherwise).
Tensor group_norm(const Operand& x, const Operand& scale, const Operand& offset, std::int64_t groups,
                  double epsilon = 1e-5);
/// layer_norm of each channel of each example over all axes behind axis 1, of which there is at least one (ShapeError
/// otherwise). (Ulyanov, Vedaldi, Lempitsky 2016; torch.nn.functional.instance_norm.) Gradient: that of layer_norm.
Tensor instance_norm(const Operand& x, double epsilon = 1e-5);
/// The same times `scale` plus `offset`, [channels] each (ShapeError otherwise).
Tensor instance_norm(const Operand& x, const Operand& scale, const Operand& offset, double epsilon = 1e-5);

/// Options of local_response_norm().
struct LocalResponseNormOptions {
  std::int64_t size = 5;  ///< channels in a window; ValueError below 1
  double alpha = 1e-4;    ///< ValueError unless it is finite and at least 0
  double beta = 0.75;     ///< ValueError unless it is finite
  double k = 1;           ///< ValueError unless it is finite and above 0
};
/// x / (k + alpha / size sum(x^2))^beta, where the sum is over the channels from c - size / 2 to c + (size - 1) / 2
/// that exist. (Krizhevsky, Sutskever, Hinton 2012; torch.nn.functional.local_response_norm, defaults too but `size`,
/// which has none there. TensorFlow's is alpha sum(x^2) over a radius.) Gradient: that of the expression.
Tensor local_response_norm(const Operand& x, const LocalResponseNormOptions& options = {});

/// Options of l2_normalize().
struct L2NormalizeOptions {
  Axes axes = -1;          ///< what is normalised together
  double epsilon = 1e-12;  ///< a lower bound for sum(x^2); ValueError below 0
};
/// x / sqrt(max(sum(x^2), epsilon)) over `axes`. (tf.math.l2_normalize.) Squares do not overflow or underflow. Of a
/// vector of zeros: 0, with gradient 0 (TensorFlow's is g / sqrt(epsilon)). Gradient with y the result and n the
/// root: (g - y sum(g y)) / n, or g / n where epsilon decides.
Tensor l2_normalize(const Operand& x, const L2NormalizeOptions& options = {});
/// The same over one axis.
template <detail::Integer T>
Tensor l2_normalize(const Operand& x, T axis, double epsilon = 1e-12) {
  return l2_normalize(x, L2NormalizeOptions{.axes = axis, .epsilon = epsilon});
}

}  // namespace reel
