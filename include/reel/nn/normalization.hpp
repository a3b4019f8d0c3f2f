// Normalisation of layers and batches. Means and variances take two passes (not E[x^2] - E[x]^2), so that a large mean
// costs no digits. Results and derivatives are right where squares of x overflow or underflow; a variance that is
// returned is not. Operands of different dtypes are promoted. float16 and bfloat16 compute in float32 and are rounded
// once, at the end. TypeError for integer, boolean and complex operands.
#pragma once
#include <reel/api.hpp>
#include <reel/tensor.hpp>
#include <tuple>

namespace REEL_API reel {

/// Options of layer_norm and rms_norm.
struct LayerNormOptions {
  Axes axes = -1;         ///< the axes that mean and variance are taken over
  double epsilon = 1e-5;  ///< added to the variance; ValueError below 0
};
/// (x - mean) / sqrt(variance + epsilon) over `axes` for each index of the others, variance = mean((x - mean)^2). (Ba,
/// Kiros, Hinton 2016; torch.nn.functional.layer_norm.) Gradient with y the result and r = 1 / sqrt(variance +
/// epsilon): r (g - mean(g) - y mean(g y)).
Tensor layer_norm(const Operand& x, const LayerNormOptions& options = {});
/// layer_norm(x) scale + offset. The shape of scale and offset is that of `axes`, in the order in which `axes`
/// lists them (ShapeError otherwise). Their gradients, summed over the other axes: g times the normalised x, and
/// g.
Tensor layer_norm(const Operand& x, const Operand& scale, const Operand& offset, const LayerNormOptions& options = {});
/// x / sqrt(mean(x^2) + epsilon) scale over `axes`; scale has their extents as shape, in their order. (Zhang, Sennrich
/// 2019.) Gradient with r the root and u = g scale: (u - x mean(u x) / r^2) / r; to scale: g x / r, summed. At zeros
/// alone r counts as a constant, which derivatives from the third order on would tell.
Tensor rms_norm(const Operand& x, const Operand& scale, const LayerNormOptions& options = {});

/// Options of batch_norm().
struct BatchNormOptions {
  std::int64_t axis = 1;  ///< the channels: 1 of [batch, channels, height, width]
  double epsilon = 1e-5;  ///< added to the variance; ValueError below 0
};
/// The results of batch_norm in training. mean and variance (divided by n, without epsilon) have shape [channels], and
/// are float32 for float16 and bfloat16. They have no gradient: they are for running averages.
struct BatchNorm {
  Tensor y, mean, variance;
  auto leaves() { return std::tie(y, mean, variance); }
};
/// (x - mean) / sqrt(variance + epsilon) scale + offset with the mean and variance of each channel over all other axes;
/// scale and offset have shape [channels] (ShapeError otherwise). (Ioffe, Szegedy 2015.) Its gradient goes through mean
/// and variance: layer_norm's over the axes that are not the channels'.
BatchNorm batch_norm(const Operand& x, const Operand& scale, const Operand& offset,
                     const BatchNormOptions& options = {});
/// The same with a given mean and variance, [channels] each, for inference with running averages. Linear in x, and
/// differentiable by all five operands.
Tensor batch_norm(const Operand& x, const Operand& scale, const Operand& offset, const Operand& mean,
                  const Operand& variance, const BatchNormOptions& options = {});

}  // namespace reel
