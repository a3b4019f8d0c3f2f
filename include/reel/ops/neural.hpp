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
// Images are [batch, channels, height, width], as in PyTorch and ONNX; of others, transpose: y = transpose(x, {0, 3, 1,
// 2}). A bias [filters, 1, 1] is added like anything that broadcasts. Any batch, an empty one too; results have the
// same bits for every number of threads. Padding counts as zeros, of max_pool2d as nothing, and is never multiplied
// with: an infinity or NaN reaches only what it is part of, in gradients too. ShapeError for another rank, channels
// that do not match, and windows that are larger than the padded image; ValueError for strides, dilations and groups
// below 1 and negative padding.

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
  /// Height and width of the result; default, {0, 0}: the smallest, of Padding::same the size times the stride.
  Size2d size = {0, 0};
};
/// The transpose of conv2d, with the same arguments: x [batch, filters, ...] and w [filters, channels / groups, ...] to
/// [batch, channels, height, width] (PyTorch's conv_transpose2d, TensorFlow's conv2d_transpose). ShapeError unless
/// conv2d of an image of that size has x's. Gradient: conv2d(g, w), and sums of products of g and x.
Tensor conv2d_transpose(const Operand& x, const Operand& w, const Conv2dTransposeOptions& options = {});

struct MaxPool2dOptions {
  /// Default, {0, 0}: the window.
  Size2d stride = {0, 0};
  Padding padding = {};
  Size2d dilation = {1, 1};
};
/// The greatest element of each window, NaN if one is. ValueError if a window has nothing but padding. Gradient: to the
/// first greatest element in row-major order, or to the first NaN.
Tensor max_pool2d(const Operand& x, const Size2d& window, const MaxPool2dOptions& options = {});

struct AvgPool2dOptions {
  /// Default, {0, 0}: the window.
  Size2d stride = {0, 0};
  Padding padding = {};
  /// Whether sums are divided by the size of the window even where it reaches into the padding.
  bool count_include_padding = false;
};
/// The mean of each window, 0 of one with nothing but padding. Gradient: the cotangent over the count, to each element.
Tensor avg_pool2d(const Operand& x, const Size2d& window, const AvgPool2dOptions& options = {});

// Normalisation and losses
//
// Means and variances take two passes (no E[x^2] - E[x]^2), so a large mean costs no digits. Losses are per example and
// unreduced, as TensorFlow's: take the mean yourself. Operands of different dtypes are promoted.

struct LayerNormOptions {
  Axes axes = -1;         ///< what is normalised together
  double epsilon = 1e-5;  ///< added to the variance; ValueError below 0
};
/// (x - mean) / sqrt(variance + epsilon) over `axes` for each index of the others, variance = mean((x - mean)^2). (Ba,
/// Kiros, Hinton 2016; torch.nn.functional.layer_norm.) Gradient with y the result and r = 1 / sqrt(variance +
/// epsilon): r (g - mean(g) - y mean(g y)).
Tensor layer_norm(const Operand& x, const LayerNormOptions& options = {});
/// The same times `scale` plus `offset`, each with the extents of `axes` as shape, in the order in which
/// `axes` names them (ShapeError otherwise). Their gradients: the sums of g times the normalised x, and of g, over the
/// other axes.
Tensor layer_norm(const Operand& x, const Operand& scale, const Operand& offset, const LayerNormOptions& options = {});
/// x / sqrt(mean(x^2) + epsilon) scale over `axes`; scale has their extents as shape, in their order. (Zhang, Sennrich
/// 2019.)
Tensor rms_norm(const Operand& x, const Operand& scale, const LayerNormOptions& options = {});

struct BatchNormOptions {
  std::int64_t axis = 1;  ///< the channels: 1 of [batch, channels, height, width]
  double epsilon = 1e-5;  ///< added to the variance; ValueError below 0
};
/// What batch_norm gives in training. mean and variance (without epsilon, over n, not n - 1) have shape [channels], and
/// are float32 for float16 and bfloat16; no gradient reaches them: update running averages with them.
struct BatchNorm {
  Tensor y, mean, variance;
  auto leaves() { return std::tie(y, mean, variance); }
};
/// (x - mean) / sqrt(variance + epsilon) scale + offset with the mean and variance of each channel over all other axes;
/// scale and offset have shape [channels] (ShapeError otherwise). (Ioffe, Szegedy 2015.) Its gradient goes through mean
/// and variance: layer_norm's over the axes that are not the channels'.
BatchNorm batch_norm(const Operand& x, const Operand& scale, const Operand& offset,
                     const BatchNormOptions& options = {});
/// The same with a given mean and variance, [channels] each: for inference, with running averages. Linear in x;
/// differentiable in all five.
Tensor batch_norm(const Operand& x, const Operand& scale, const Operand& offset, const Operand& mean,
                  const Operand& variance, const BatchNormOptions& options = {});

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

struct SparseCrossEntropyOptions {
  std::int64_t axis = -1;                 ///< the classes
  std::int64_t ignore_index = INT64_MIN;  ///< examples with this label have loss 0 and gradient 0; default: none has
};
/// -log_softmax(logits)[label] for integer labels, of the shape of logits without `axis` (ShapeError otherwise).
/// IndexError for a label outside [0, classes), unless it is to be ignored; TypeError unless labels are integers.
/// (tf.nn.sparse_softmax_cross_entropy_with_logits.) Gradient: g (softmax(logits) - 1 at the label).
Tensor sparse_softmax_cross_entropy(const Operand& logits, const Operand& labels,
                                    const SparseCrossEntropyOptions& options = {});

/// -labels log(sigmoid(logits)) - (1 - labels) log(1 - sigmoid(logits)), elementwise, as max(x, 0) - x labels +
/// log(1 + exp(-|x|)), which does not overflow, and without its cancellation; operands broadcast; floating, integers
/// compute in float64. (tf.nn.sigmoid_cross_entropy_with_logits.) Gradient: g (sigmoid(logits) - labels) and -g logits.
Tensor sigmoid_cross_entropy(const Operand& logits, const Operand& labels);
/// -labels log(p) - (1 - labels) log(1 - p), elementwise, where a label of 0 (of 1) contributes 0 whatever p. Of
/// logits, use sigmoid_cross_entropy. Gradient: g (p - labels) / (p (1 - p)).
Tensor binary_cross_entropy(const Operand& p, const Operand& labels);
/// target log(target / p), elementwise, 0 where target is 0: sum it over an axis of probabilities. Gradient of p:
/// -g target / p; of target: g (log(target / p) + 1), 0 where target is 0.
Tensor kl_divergence(const Operand& target, const Operand& p);
/// d^2 / 2 where |d| <= delta, else delta (|d| - delta / 2), elementwise, for d = x - y. (Huber 1964.) Gradient: g
/// times d clipped to [-delta, delta], and its negative. ValueError unless delta > 0.
Tensor huber(const Operand& x, const Operand& y, double delta = 1);

}  // namespace reel
