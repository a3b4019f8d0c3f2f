// Losses of regression, classification and ranking, besides those of <reel/nn/cross_entropy.hpp>. They are elementwise
// or per example, and unreduced: take the mean yourself. float16 and bfloat16 compute in float32 and are rounded once.
#pragma once
#include <reel/api.hpp>
#include <reel/nn/cross_entropy.hpp>

namespace REEL_API reel {

// Elementwise
//
// Operands broadcast (ShapeError otherwise) and are promoted; integers and booleans compute as float64. TypeError for
// complex operands. Each runs in one pass over memory and is differentiable to every order. Signs of labels are 1 and
// -1.

/// (x - y)^2. (torch's mse_loss.) Gradient: 2 g (x - y), and its negative.
Tensor mse(const Operand& x, const Operand& y);
/// |x - y|. (torch's l1_loss.) Gradient: g sign(x - y), 0 where they are equal, and its negative.
Tensor mae(const Operand& x, const Operand& y);
/// log(cosh(x - y)), accurate near 0 and without overflow. (Keras.) Gradient: g tanh(x - y), and its negative.
Tensor log_cosh(const Operand& x, const Operand& y);

/// Options of poisson_nll().
struct PoissonNllOptions {
  bool log_input = true;  ///< x is the logarithm of the rate, otherwise the rate
  bool full = false;      ///< adds Stirling's target log(target) - target + log(2 pi target) / 2 where target > 1
  double epsilon = 1e-8;  ///< added to a rate before its logarithm; ValueError below 0
};
/// exp(x) - target x; of a rate, x - target log(x + epsilon), where 0 log(0) is 0. (torch's poisson_nll_loss.)
/// Gradient: g (exp(x) - target) or g (1 - target / (x + epsilon)), and -g x or -g log(x + epsilon), with full g
/// (log(target) + 1 / (2 target)) more.
Tensor poisson_nll(const Operand& x, const Operand& target, const PoissonNllOptions& options = {});

/// Options of gaussian_nll().
struct GaussianNllOptions {
  bool full = false;      ///< adds log(2 pi) / 2
  double epsilon = 1e-6;  ///< the least variance; ValueError below 0
};
/// (log(v) + (x - target)^2 / v) / 2 for v = max(variance, epsilon); NaN where the variance is negative. (torch's
/// gaussian_nll_loss.) Gradient with d = x - target: g d / v, its negative, and g (1 - d^2 / v) / (2 v), which is 0
/// where the variance is below epsilon (torch lets it through).
Tensor gaussian_nll(const Operand& x, const Operand& target, const Operand& variance,
                    const GaussianNllOptions& options = {});

/// -weight labels log(sigmoid(logits)) - (1 - labels) log(1 - sigmoid(logits)), as softplus of the logits, which
/// neither overflows nor cancels. (tf.nn.weighted_cross_entropy_with_logits; torch's pos_weight.) Gradient with p =
/// sigmoid(logits): g ((1 - labels) p - weight labels (1 - p)), g (weight softplus(-logits) - softplus(logits)), and g
/// labels softplus(-logits).
Tensor weighted_sigmoid_cross_entropy(const Operand& logits, const Operand& labels, const Operand& weight);

/// Options of focal_cross_entropy().
struct FocalOptions {
  double alpha = 0.25;  ///< weight of label 1, and 1 - alpha that of label 0; below 0: no weights. ValueError above 1
  double gamma = 2;     ///< ValueError unless it is finite and at least 0
};
/// weight sigmoid_cross_entropy(logits, labels) u^gamma for u = p (1 - labels) + (1 - p) labels, p = sigmoid(logits),
/// and weight = alpha labels + (1 - alpha) (1 - labels). (Lin et al. 2017; torchvision's sigmoid_focal_loss.) Gradient:
/// that of the product; 0 where u^gamma underflows.
Tensor focal_cross_entropy(const Operand& logits, const Operand& labels, const FocalOptions& options = {});

/// max(0, 1 - labels x). (tf.keras.losses.hinge before its mean.) Gradient: -g labels and -g x where the loss is above
/// 0, otherwise 0.
Tensor hinge(const Operand& x, const Operand& labels);
/// x where the label is above 0, otherwise max(0, margin - x). (torch's hinge_embedding_loss.) Gradient: g, or -g where
/// x < margin; none to labels.
Tensor hinge_embedding(const Operand& x, const Operand& labels, double margin = 1);
/// log(1 + exp(-labels x)), without overflow. (torch's soft_margin_loss.) Gradient: -g labels sigmoid(-labels x), and
/// -g x sigmoid(-labels x).
Tensor soft_margin(const Operand& x, const Operand& labels);
/// max(0, margin - labels (x - y)): label 1 where x should rank above y. (torch's margin_ranking_loss.) Gradient: -g
/// labels, g labels and -g (x - y) where the loss is above 0, otherwise 0.
Tensor margin_ranking(const Operand& x, const Operand& y, const Operand& labels, double margin = 0);

// Per example
//
// Floating; TypeError for integer, boolean and complex operands other than class labels. Differentiable to every order.

/// -log_probabilities[label] for integer labels, of the shape of log_probabilities without the axis (ShapeError
/// otherwise). IndexError for a label outside [0, classes), unless it is to be ignored; TypeError unless labels are
/// integers. (torch's nll_loss.) Gradient: -g at the label; an ignored example has loss 0 and gradient 0.
Tensor nll(const Operand& log_probabilities, const Operand& labels, const SparseCrossEntropyOptions& options = {});

/// Options of multi_margin().
struct MultiMarginOptions {
  std::int64_t axis = -1;  ///< the classes
  int p = 1;               ///< ValueError unless 1 or 2
  double margin = 1;
};
/// sum(max(0, margin - x[label] + x[j])^p) / classes over the classes j other than the label. Labels as those of nll.
/// (torch's multi_margin_loss.) Gradient, with h = max(0, ...): g p h^(p - 1) / classes to each such x[j] where h > 0,
/// and minus their sum to x[label].
Tensor multi_margin(const Operand& x, const Operand& labels, const MultiMarginOptions& options = {});

/// sum(x y) / (norm(x) norm(y)) along the axis, of operands that broadcast; 0, with gradient 0, where either is a
/// vector of zeros. (torch's cosine_similarity, without its epsilon.) Gradient: g (v - z u) / norm(x) with u and v the
/// normalised operands and z the result, and likewise for y.
Tensor cosine_similarity(const Operand& x, const Operand& y, std::int64_t axis = -1);

/// Options of triplet_margin().
struct TripletMarginOptions {
  std::int64_t axis = -1;  ///< of the vectors
  double p = 2;            ///< of the norm; ValueError unless above 0
  double margin = 1;
  double epsilon = 1e-6;  ///< added to each difference
  bool swap = false;      ///< also measures from the positive to the negative, and takes the lesser distance
};
/// max(0, margin + d(anchor, positive) - d(anchor, negative)) for d(x, y) = norm(x - y + epsilon, p) along the axis, of
/// operands that broadcast. (torch's triplet_margin_loss.) Gradient: that of the norms, 0 where the loss is 0.
Tensor triplet_margin(const Operand& anchor, const Operand& positive, const Operand& negative,
                      const TripletMarginOptions& options = {});

/// sum(x^2) / 2 of all elements. (tf.nn.l2_loss.) Gradient: g x.
Tensor l2_loss(const Operand& x);

}  // namespace reel
