// Elementwise losses: each is a function of lanes, one pass over memory and one entry on a tape. where() replaces the
// operands of a branch that is not taken before a formula reads them: in the gradient 0 times infinity would be NaN.
#include <cmath>
#include <numbers>
#include <reel/nn/losses.hpp>

#include "core/fail.hpp"
#include "ops/elementwise/composed.hpp"
#include "tape/observe/observe.hpp"

namespace reel {

namespace ops {

namespace {

using X = const Lane*;
constexpr double log_normalizer = 0.91893853320467274178;

// log(cosh(d)): for small |d| by sinh(d / 2)^2, which does not cancel.
Lane log_cosh_of(const Lane& d) {
  const LaneMask near = abs(d) < 2;
  const Lane s = sinh(0.5 * where(near, d, 0)), a = abs(where(near, 2, d));
  return where(near, log1p(2 * s * s), a + softplus(-2 * a) - std::numbers::ln2);
}

// Stirling's approximation of log(t!), 0 up to 1 (torch).
Lane stirling(const Lane& t) {
  const LaneMask above = t > 1;
  const Lane s = where(above, t, 2), l = log(s);
  return where(above, s * l - s + 0.5 * (l + 2 * log_normalizer), 0);
}
Lane poisson_of_log(const Lane& x, const Lane& t) { return exp(x) - t * x; }
Lane poisson_of_rate(const Lane& x, const Lane& t, const Lane& epsilon) {
  const Lane rate = x + epsilon;
  return x - t * log(where(equal(t, 0) && equal(rate, 0), 1, rate));
}

Lane gaussian(X x) {
  const Lane d = x[0] - x[1], v = where(x[2] >= 0 && x[2] < x[3], x[3], x[2]);
  return 0.5 * (log(v) + d * d / v) + x[4];
}

// softplus and sigmoid from -|x|: their derivatives do not cancel there.
struct Logit {
  LaneMask positive;
  Lane x, minus_size;
  explicit Logit(const Lane& logit) : positive(logit > 0), x(logit), minus_size(where(positive, -x, x)) {}
  Lane softened() const { return where(positive, x, 0) + softplus(minus_size); }
};
// of_1: the label times its weight. With a label of 0 or 1 one term is 0 times a logarithm that may be infinite: 0.
Lane cross_entropy(const Logit& l, const Lane& label, const Lane& of_1) {
  constexpr double infinity = HUGE_VAL;
  const Lane below = where(l.positive || (equal(label, 0) && equal(l.x, -infinity)), 0, -l.x),
             above = where(l.positive && !(equal(label, 1) && equal(l.x, infinity)), l.x, 0);
  const Lane of_0 = 1 - label;
  return of_1 * below + of_0 * above + (of_1 + of_0) * softplus(l.minus_size);
}
// Without weights of labels. gamma is above 0.
Lane focal(const Lane& x, const Lane& label, const Lane& gamma) {
  const Logit l(x);
  const Lane less = sigmoid(l.minus_size), more = 1 - less;
  const Lane u = where(l.positive, more, less) * (1 - label) + where(l.positive, less, more) * label;
  const LaneMask live = not_equal(u, 0);
  const Lane inside = where(live, x, 0);
  return where(live, cross_entropy(Logit(inside), label, label) * power(where(live, u, 1), gamma), 0);
}
Lane class_weight(const Lane& label, const Lane& alpha) { return alpha * label + (1 - alpha) * (1 - label); }

// max(0, x), with derivative 0 at 0. NaN gives NaN.
Lane positive_part(const Lane& x) { return where(x <= 0, 0, x); }
Lane ranking(X x) {
  const LaneMask live = !(x[3] - x[2] * (x[0] - x[1]) <= 0);
  const Lane d = where(live, x[0], 0) - where(live, x[1], 0);
  return where(live, x[3] - x[2] * d, 0);
}
Lane hinge_of(X x) {
  const LaneMask live = !(1 - x[1] * x[0] <= 0);
  return where(live, 1 - x[1] * where(live, x[0], 0), 0);
}

// The table of losses: enumerator, name, value.
// clang-format off
#define REEL_POINTWISE_LOSSES(F) \
  F(mse_of, "mse", [](X x) { return square(x[0] - x[1]); }) \
  F(mae_of, "mae", [](X x) { return abs(x[0] - x[1]); }) \
  F(log_cosh_loss, "log_cosh", [](X x) { return log_cosh_of(x[0] - x[1]); }) \
  F(poisson_log, "poisson_nll", [](X x) { return poisson_of_log(x[0], x[1]); }) \
  F(poisson_log_full, "poisson_nll", [](X x) { return poisson_of_log(x[0], x[1]) + stirling(x[1]); }) \
  F(poisson_rate, "poisson_nll", [](X x) { return poisson_of_rate(x[0], x[1], x[2]); }) \
  F(poisson_rate_full, "poisson_nll", [](X x) { return poisson_of_rate(x[0], x[1], x[2]) + stirling(x[1]); }) \
  F(gaussian_loss, "gaussian_nll", gaussian) \
  F(weighted_loss, "weighted_sigmoid_cross_entropy", [](X x) { return cross_entropy(Logit(x[0]), x[1], x[2] * x[1]); }) \
  F(focal_plain, "focal_cross_entropy", [](X x) { return focal(x[0], x[1], x[2]); }) \
  F(focal_weighted, "focal_cross_entropy", [](X x) { return class_weight(x[1], x[3]) * focal(x[0], x[1], x[2]); }) \
  F(focal_weights_alone, "focal_cross_entropy", [](X x) { return class_weight(x[1], x[2]) * cross_entropy(Logit(x[0]), x[1], x[1]); }) \
  F(hinge_loss, "hinge", hinge_of) \
  F(hinge_embedding_loss, "hinge_embedding", [](X x) { return where(x[1] > 0, x[0], positive_part(x[2] - x[0])); }) \
  F(soft_margin_loss, "soft_margin", [](X x) { return Logit(-(x[1] * x[0])).softened(); }) \
  F(margin_ranking_loss, "margin_ranking", ranking)
// clang-format on

#define REEL_ENUMERATOR(function, name, ...) function,
enum LossFunction : std::size_t { REEL_POINTWISE_LOSSES(REEL_ENUMERATOR) };
#undef REEL_ENUMERATOR
#define REEL_DEFINITION(function, name, ...) {name, __VA_ARGS__},
constexpr Composed pointwise_losses[] = {REEL_POINTWISE_LOSSES(REEL_DEFINITION)};
#undef REEL_DEFINITION
constinit const ComposedOps loss_ops(pointwise_losses);

template <class... More>
Tensor call(LossFunction f, const Operand& x, const More&... more) {
  return loss_ops.call(f, {&x, &more...});
}

void check_not_negative(const char* op, const char* what, double v) {
  if (!(v >= 0) || v == HUGE_VAL) fail<ValueError>(op, "{} is {}; it must be finite and at least 0", what, v);
}

}  // namespace

}  // namespace ops

using ops::call;

Tensor mse(const Operand& x, const Operand& y) { return call(ops::mse_of, x, y); }
Tensor mae(const Operand& x, const Operand& y) { return call(ops::mae_of, x, y); }
Tensor log_cosh(const Operand& x, const Operand& y) { return call(ops::log_cosh_loss, x, y); }

Tensor poisson_nll(const Operand& x, const Operand& target, const PoissonNllOptions& options) {
  const tape::OpScope scope(x);
  ops::check_not_negative("poisson_nll", "epsilon", options.epsilon);
  if (options.log_input) return call(options.full ? ops::poisson_log_full : ops::poisson_log, x, target);
  return call(options.full ? ops::poisson_rate_full : ops::poisson_rate, x, target, Operand(options.epsilon));
}

Tensor gaussian_nll(const Operand& x, const Operand& target, const Operand& variance,
                    const GaussianNllOptions& options) {
  const tape::OpScope scope(x);
  ops::check_not_negative("gaussian_nll", "epsilon", options.epsilon);
  return call(ops::gaussian_loss, x, target, variance, Operand(options.epsilon),
              Operand(options.full ? ops::log_normalizer : 0.0));
}

Tensor weighted_sigmoid_cross_entropy(const Operand& logits, const Operand& labels, const Operand& weight) {
  return call(ops::weighted_loss, logits, labels, weight);
}

Tensor focal_cross_entropy(const Operand& logits, const Operand& labels, const FocalOptions& options) {
  constexpr const char* op = "focal_cross_entropy";
  const tape::OpScope scope(logits);
  ops::check_not_negative(op, "gamma", options.gamma);
  if (!(options.alpha <= 1))
    fail<ValueError>(op, "alpha is {}; it must be at most 1, or below 0 for no weights", options.alpha);
  const Operand gamma = options.gamma, alpha = options.alpha;
  if (options.gamma == 0 && options.alpha < 0) return call(ops::weighted_loss, logits, labels, Operand(1.0));
  if (options.gamma == 0) return call(ops::focal_weights_alone, logits, labels, alpha);
  if (options.alpha < 0) return call(ops::focal_plain, logits, labels, gamma);
  return call(ops::focal_weighted, logits, labels, gamma, alpha);
}

Tensor hinge(const Operand& x, const Operand& labels) { return call(ops::hinge_loss, x, labels); }
Tensor hinge_embedding(const Operand& x, const Operand& labels, double margin) {
  return call(ops::hinge_embedding_loss, x, labels, Operand(margin));
}
Tensor soft_margin(const Operand& x, const Operand& labels) { return call(ops::soft_margin_loss, x, labels); }
Tensor margin_ranking(const Operand& x, const Operand& y, const Operand& labels, double margin) {
  return call(ops::margin_ranking_loss, x, y, labels, Operand(margin));
}

}  // namespace reel
