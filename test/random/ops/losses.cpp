// Losses: their operands and calls.
#include "../../nn/references/losses.hpp"

#include <reel/nn/losses.hpp>

#include "../rows.hpp"

namespace random_programs {

namespace {

using reel::Operand;
using Elements = const Jet*;

DType first_dtype(const Inputs& in) { return given_dtype({in[0]}); }

// ---- Elementwise, with the default options and, of Poisson's, the others.

// clang-format off
std::vector<RangedFunction> elementwise_losses() {
  const OperandRange any{-60, 60}, logit{-4, 4}, label{0, 1}, positive{0.3, 5};
  return {
      {"mse", {any, any}, cases::mse_of, [](const Operands& x) { return reel::mse(x[0], x[1]); }},
      {"mae", {any, any}, cases::mae_of, [](const Operands& x) { return reel::mae(x[0], x[1]); }},
      {"log_cosh", {logit, logit}, cases::log_cosh_of, [](const Operands& x) { return reel::log_cosh(x[0], x[1]); }},
      {"poisson_nll", {logit, any}, cases::poisson_of, [](const Operands& x) { return reel::poisson_nll(x[0], x[1]); }},
      {"poisson_nll", {positive, positive}, [](Elements x) { return cases::poisson_of_rates(x, 1e-8L, true); },
       [](const Operands& x) { return reel::poisson_nll(x[0], x[1], {.log_input = false, .full = true}); }},
      {"gaussian_nll", {any, any, positive}, cases::gaussian_of, [](const Operands& x) { return reel::gaussian_nll(x[0], x[1], x[2]); }},
      {"weighted_sigmoid_cross_entropy", {logit, label, positive}, cases::weighted_of,
       [](const Operands& x) { return reel::weighted_sigmoid_cross_entropy(x[0], x[1], x[2]); }},
      {"focal_cross_entropy", {logit, label}, cases::default_focal_of, [](const Operands& x) { return reel::focal_cross_entropy(x[0], x[1]); }},
      {"hinge", {any, any}, cases::hinge_of, [](const Operands& x) { return reel::hinge(x[0], x[1]); }},
      {"hinge_embedding", {any, any}, [](Elements x) { return cases::hinge_embedding_of(x, 1); },
       [](const Operands& x) { return reel::hinge_embedding(x[0], x[1]); }},
      {"soft_margin", {logit, logit}, cases::soft_margin_of, [](const Operands& x) { return reel::soft_margin(x[0], x[1]); }},
      {"margin_ranking", {any, any, any}, [](Elements x) { return cases::margin_ranking_of(x, 0); },
       [](const Operands& x) { return reel::margin_ranking(x[0], x[1], x[2]); }},
  };
}
// clang-format on

// Of two operands in these ranges. reals: delta.
std::function<bool(Maker&, Statement&)> make_pair(OperandRange first, OperandRange second) {
  return [=](Maker& m, Statement& s) {
    int x = m.floating();
    if (x < 0) return false;
    Arg y = m.beside(x, false);
    x = m.within(x, first.low, first.high);
    if (x >= 0) y.index = m.within(y.index, second.low, second.high);
    s.args = {Maker::arg(x), y};
    s.reals = {0.5 * static_cast<double>(m.between(1, 3))};
    return x >= 0 && y.index >= 0;
  };
}
Op pair_loss(const char* name, OperandRange first, OperandRange second, Jet (*f)(Elements v, double delta), Call call) {
  return row_op<Jet>(
      name, make_pair(first, second), given_dtype,
      [=](ArraysOf<Jet> x, const Statement& s) {
        return cases::by_elements(x, [&](Elements v) { return f(v, s.reals[0]); });
      },
      call);
}

// ---- Of classes along an axis, or vectors

Extents without(Extents shape, std::int64_t axis) {
  shape.erase(shape.begin() + axis);
  return shape;
}

// ints: axis; reals: label_smoothing.
bool make_distributions(Maker& m, Statement& s) {
  const int x = m.floating(1, 3);
  if (x < 0 || m.at(x).size() == 0) return false;
  const Extents shape = m.at(x).shape;
  const DType d = m.at(x).dtype;
  int labels = m.pick([&](const Array& a) { return a.shape == shape && is_real_floating(a.dtype); });
  if (labels < 0 || m.chance(0.3))
    labels = m.input(m.depth == 0 && m.chance(0.5) ? Role::source : Role::constant, d, shape);
  if (labels >= 0 && m.chance(0.5)) labels = m.emit("softmax", {Maker::arg(labels)}, {-1, 0, 0});
  s.ints = {m.below(static_cast<int>(shape.size()))};
  if (m.chance(0.5)) s.ints[0] -= static_cast<std::int64_t>(shape.size());
  s.reals = {m.chance(0.7) ? 0 : 0.25};
  s.args = {Maker::arg(x), Maker::arg(labels)};
  return labels >= 0;
}
// A tensor and labels of its classes. ints: the axis.
bool make_classified(Maker& m, Statement& s, bool may_count_from_end) {
  const int x = m.floating(1, 3);
  if (x < 0 || m.at(x).size() == 0) return false;
  const Extents shape = m.at(x).shape;
  const int axis = m.below(static_cast<int>(shape.size()));
  const int labels = m.integers(without(shape, axis), 0, shape[at(axis)] - 1);
  if (labels < 0 || !reel::is_integer(m.at(labels).dtype)) return false;
  s.ints = {!may_count_from_end || m.chance(0.5) ? axis : axis - m.at(x).rank()};
  s.args = {Maker::arg(x), Maker::arg(labels)};
  return true;
}
// ints: axis, the label that is ignored.
template <bool MayCountFromEnd>
bool make_labelled(Maker& m, Statement& s) {
  if (!make_classified(m, s, MayCountFromEnd)) return false;
  s.ints.push_back(m.chance(0.3) ? 0 : INT64_MIN);
  return true;
}
// ints: axis, p; reals: margin.
bool make_margins(Maker& m, Statement& s) {
  if (!make_classified(m, s, true)) return false;
  s.ints.push_back(m.between(1, 2));
  s.reals = {0.5 * static_cast<double>(m.between(0, 3))};
  return true;
}
// Floating operands that broadcast. ints: an axis that all have.
bool make_vectors(Maker& m, Statement& s, int operands) {
  const int x = m.floating(1, 3);
  if (x < 0) return false;
  s.args = {Maker::arg(x)};
  while (static_cast<int>(s.args.size()) < operands) {
    const Arg y = m.beside(x, false);
    if (y.index < 0) return false;
    s.args.push_back(y);
  }
  s.ints = {-1 - m.below(m.at(x).rank())};
  return true;
}
// ints: axis, whether swapped; reals: p.
bool make_triplets(Maker& m, Statement& s) {
  s.reals = {static_cast<double>(m.between(1, 3))};
  if (!make_vectors(m, s, 3)) return false;
  s.ints.push_back(m.chance(0.5));
  return true;
}
bool make_one(Maker& m, Statement& s) {
  const int x = m.floating();
  s.args = {Maker::arg(x)};
  return x >= 0;
}

}  // namespace

// clang-format off
void add_losses(std::vector<Op>& t) {
  using X = ArraysOf<Jet>;
  using S = Statement;
  t.push_back(row_op<Jet>("softmax_cross_entropy", make_distributions, given_dtype, [](X x, const S& s) { return cases::softmax_cross_entropy_of(x, s.ints[0], s.reals[0]); },
      REEL_CALL(reel::softmax_cross_entropy(x[0], x[1], {i[0], r[0]})), {.weight = 1.5}));
  t.push_back(row_op<Jet>("sparse_softmax_cross_entropy", make_labelled<false>, first_dtype, [](X x, const S& s) { return cases::sparse_cross_entropy_of(x[0], s.ints[0], cases::labels_of(x[1]), s.ints[1]); },
      REEL_CALL(reel::sparse_softmax_cross_entropy(x[0], x[1], {i[0], i[1]})), {.weight = 1.5}));
  t.push_back(pair_loss("binary_cross_entropy", {0.05, 0.95}, {0, 1}, [](Elements v, double) { if (v[0].v[0] < 0.01L || v[0].v[0] > 0.99L) throw Unfit(); return cases::binary_cross_entropy_of(v); },
      REEL_CALL(reel::binary_cross_entropy(x[0], x[1]))));
  t.push_back(pair_loss("kl_divergence", {0.1, 5}, {0.1, 5}, [](Elements v, double) { if (v[0].v[0] < 0.05L || v[1].v[0] < 0.05L) throw Unfit(); return cases::kl_divergence_of(v); },
      REEL_CALL(reel::kl_divergence(x[0], x[1]))));
  t.push_back(pair_loss("huber", {-60, 60}, {-60, 60}, [](Elements v, double delta) { return cases::huber_of(v, delta); }, REEL_CALL(reel::huber(x[0], x[1], r[0]))));

  static const std::vector<RangedFunction> elementwise = elementwise_losses();
  for (const RangedFunction& f : elementwise) add_ranged(t, f);
  t.push_back(row_op<Jet>("nll", make_labelled<true>, first_dtype, [](X x, const S& s) { return cases::nll_of(x[0], s.ints[0], cases::labels_of(x[1]), s.ints[1]); },
      REEL_CALL(reel::nll(x[0], x[1], {i[0], i[1]}))));
  t.push_back(row_op<Jet>("multi_margin", make_margins, first_dtype, [](X x, const S& s) { return cases::multi_margin_of(x[0], s.ints[0], cases::labels_of(x[1]), s.ints[1], s.reals[0]); },
      REEL_CALL(reel::multi_margin(x[0], x[1], {i[0], static_cast<int>(i[1]), r[0]}))));
  t.push_back(row_op<Jet>("cosine_similarity", [](Maker& m, S& s) { return make_vectors(m, s, 2); }, given_dtype, [](X x, const S& s) { return cases::cosine_similarity_of(x, s.ints[0]); },
      REEL_CALL(reel::cosine_similarity(x[0], x[1], i[0]))));
  t.push_back(row_op<Jet>("triplet_margin", make_triplets, given_dtype, [](X x, const S& s) { return cases::triplet_margin_of(x, s.ints[0], s.reals[0], 1, s.ints[1] != 0); },
      REEL_CALL(reel::triplet_margin(x[0], x[1], x[2], {.axis = i[0], .p = r[0], .swap = i[1] != 0}))));
  t.push_back(row_op<Jet>("l2_loss", make_one, given_dtype, [](X x, const S&) { return cases::l2_loss_of(x[0]); }, REEL_CALL(reel::l2_loss(x[0]))));
}
// clang-format on

}  // namespace random_programs
