// Losses of classification: cross entropies and the divergence of Kullback and Leibler; and Huber's, of regression.
// They are per example and unreduced, as TensorFlow's: take the mean yourself. Operands of different dtypes are
// promoted. float16 and bfloat16 compute in float32 and are rounded once, at the end. TypeError for complex operands.
#pragma once
#include <cstdint>
#include <reel/api.hpp>
#include <reel/tensor.hpp>

namespace REEL_API reel {

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
