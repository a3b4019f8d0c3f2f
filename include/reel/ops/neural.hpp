// Building blocks of neural networks: convolution and pooling, normalisation and losses. float16 and bfloat16 compute
// in float32 and are rounded once, at the end. TypeError for integer, boolean and complex operands.
#pragma once
#include <array>
#include <cstdint>
#include <reel/tensor.hpp>
#include <tuple>

namespace [[gnu::visibility("default")]] reel {

// Convolution and pooling
//
// Images are [batch, channels, height, width], as in PyTorch and ONNX. Transpose images of other layouts: y =
// transpose(x, {0, 3, 1, 2}). A bias [filters, 1, 1] is added by broadcasting. A batch may be empty. Results have the
// same bits for every number of threads. Padding counts as zeros; max_pool2d ignores it. It is never multiplied: an
// infinity or NaN reaches only the windows that contain it, in gradients too. ShapeError for another rank, channels
// that do not match, and windows larger than the padded image. ValueError for strides, dilations and groups below 1,
// and for negative padding.

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

// Normalisation and losses
//
// Means and variances take two passes (not E[x^2] - E[x]^2), so that a large mean costs no digits. Normalisations are
// right, with their derivatives, where squares of x overflow or underflow; a variance that is returned is not. Losses
// are per example and unreduced, as TensorFlow's: take the mean yourself. Operands of different dtypes are promoted.

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
/// 2019.) Gradient with r the root and u = g scale: (u - x mean(u x) / r^2) / r; to scale: g x / r, summed.
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

/// Options of softmax_cross_entropy().
struct SoftmaxCrossEntropyOptions {
  std::int64_t axis = -1;      ///< the classes
  double label_smoothing = 0;  ///< s in [0, 1]: labels become (1 - s) labels + s / classes
};
/// -sum(labels log_softmax(logits)) along the axis, for labels that are probabilities, of the shape of logits
/// (ShapeError otherwise); the result has one axis less. A label of 0 contributes 0, even where its logit is -inf. With
/// smoothing, a logit of -inf makes the loss inf. (tf.nn.softmax_cross_entropy_with_logits.) Gradient: g
/// (softmax(logits) sum(labels) - labels) and -g log_softmax(logits). ValueError for smoothing outside [0, 1].
Tensor softmax_cross_entropy(const Operand& logits, const Operand& labels,
                             const SoftmaxCrossEntropyOptions& options = {});

/// Options of sparse_softmax_cross_entropy() and nll().
struct SparseCrossEntropyOptions {
  std::int64_t axis = -1;                 ///< the classes
  std::int64_t ignore_index = INT64_MIN;  ///< examples with this label have loss 0 and gradient 0; default: none has
};
/// -log_softmax(logits)[label] for integer labels, of the shape of logits without `axis` (ShapeError otherwise).
/// IndexError for a label outside [0, classes), unless it is to be ignored; TypeError unless labels are integers.
/// (tf.nn.sparse_softmax_cross_entropy_with_logits.) Gradient: g (softmax(logits) - 1 at the label).
Tensor sparse_softmax_cross_entropy(const Operand& logits, const Operand& labels,
                                    const SparseCrossEntropyOptions& options = {});

/// -labels log(sigmoid(logits)) - (1 - labels) log(1 - sigmoid(logits)), elementwise. It is computed as max(x, 0) - x
/// labels + log(1 + exp(-|x|)), which does not overflow, rearranged so that it does not cancel. Operands broadcast.
/// Floating; integers compute in float64. (tf.nn.sigmoid_cross_entropy_with_logits.) Gradient: g (sigmoid(logits) -
/// labels) and -g logits.
Tensor sigmoid_cross_entropy(const Operand& logits, const Operand& labels);
/// -labels log(p) - (1 - labels) log(1 - p), elementwise. A label of 0 (of 1) removes the first (second) term, whatever
/// p is. For logits use sigmoid_cross_entropy. Gradient: g (p - labels) / (p (1 - p)).
Tensor binary_cross_entropy(const Operand& p, const Operand& labels);
/// target log(target / p), elementwise, and 0 where target is 0. Sum it over an axis of probabilities. Gradient to p:
/// -g target / p; to target: g (log(target / p) + 1), 0 where target is 0.
Tensor kl_divergence(const Operand& target, const Operand& p);
/// d^2 / 2 where |d| <= delta, else delta (|d| - delta / 2), elementwise, for d = x - y. (Huber 1964.) Gradient: g
/// times d clipped to [-delta, delta], and its negative. ValueError unless delta > 0.
Tensor huber(const Operand& x, const Operand& y, double delta = 1);

}  // namespace reel
