// Attention, rotary embedding, recurrent networks, CTC and bags of embeddings: their operands and calls.
#include <reel/nn.hpp>

#include "../../nn/references/convolution.hpp"
#include "../../nn/references/sequence.hpp"
#include "../rows.hpp"

namespace random_programs {

namespace {

using reel::Tensor;
using Strings = std::vector<std::string>;
using X = ArraysOf<Jet>;
using S = Statement;

bool all_found(const S& s) {
  return std::all_of(s.args.begin(), s.args.end(), [](const Arg& a) { return a.index >= 0; });
}

// ints: causal, whether the mask is boolean; reals: the scale. Operands: q, k, v, and the mask if there is one.
bool make_attention(Maker& m, S& s) {
  const int q = m.floating(2, 3);
  if (q < 0) return false;
  const Extents shape = m.at(q).shape;
  const DType d = m.at(q).dtype;
  const std::int64_t keys = m.between(1, 3);
  Extents k = {keys, shape.back()}, v = {keys, m.between(1, 2)};
  if (shape.size() > 2 && m.chance(0.5)) k.insert(k.begin(), m.chance(0.5) ? shape[0] : 1);
  if (m.chance(0.3)) v.insert(v.begin(), shape.size() > 2 ? shape[0] : 2);
  s.args = {Maker::arg(q), Maker::arg(value_like(m, k, d)), Maker::arg(value_like(m, v, d))};
  s.ints = {m.chance(0.3), m.chance(0.6)};
  s.reals = {0.25 * static_cast<double>(m.between(1, 4))};
  if (m.chance(0.6)) {
    const Extents mask = {m.chance(0.7) ? shape[shape.size() - 2] : 1, keys};
    s.args.push_back(Maker::arg(s.ints[1] ? m.input(Role::constant, DType::boolean, mask) : value_like(m, mask, d)));
  }
  return all_found(s);
}
DType attention_dtype(const Inputs& in) { return computed_dtype(Inputs(in.begin(), in.begin() + 3)); }
ArrayOf<Jet> attention(X x, const S& s) {
  return cases::attention_of(x, s.reals[0], [&](const cases::Index& i) -> cases::Bias<Jet> {
    if (s.ints[0] && i.back() > i[i.size() - 2]) return {false};
    if (x.size() < 4) return {};
    const Jet& mask = cases::broadcast_at(x[3], i);
    return s.ints[1] ? cases::Bias<Jet>{mask.v[0] != 0} : cases::Bias<Jet>{true, mask};
  });
}

// ints: first position, whether interleaved; reals: base.
bool make_rope(Maker& m, S& s) {
  const int x = m.floating(2, 3);
  if (x < 0 || m.at(x).shape.back() % 2 != 0) return false;
  s.args = {Maker::arg(x)};
  s.ints = {m.between(-2, 5), m.chance(0.5)};
  s.reals = {m.chance(0.5) ? 10000.0 : 4.0};
  return true;
}
ArrayOf<Jet> rope(X x, const S& s) {
  return cases::rope_of(x[0], s.reals[0], s.ints[1] != 0,
                        [&](const cases::Index& i) { return static_cast<Real>(i[i.size() - 2] + s.ints[0]); });
}

// Operands: x, weights, biases, state, and of lstm the cell state; some of the optional ones.
bool make_recurrent(Maker& m, S& s, bool lstm) {
  const int x = m.floating(3, 3);
  if (x < 0 || m.at(x).size() == 0) return false;
  const DType d = m.at(x).dtype;
  const std::int64_t batch = m.at(x).shape[1], inputs = m.at(x).shape[2], width = m.between(1, 2),
                     gates = lstm ? 4 * width : 3 * width;
  const std::vector<Extents> shapes = {{gates, inputs}, {gates, width}, {gates},
                                       {gates},         {batch, width}, {batch, width}};
  const std::int64_t given = m.between(0, lstm ? 4 : 3);
  s.args = {Maker::arg(x)};
  for (std::int64_t i = 0; i < 2 + given; ++i) s.args.push_back(Maker::arg(value_like(m, shapes[at(i)], d)));
  s.results = lstm ? 3 : 2;
  return all_found(s);
}
reel::RecurrentOptions options_of(const Operands& x) {
  reel::RecurrentOptions options;
  Tensor* const optional[] = {&options.input_bias, &options.hidden_bias, &options.state, &options.cell};
  for (std::size_t k = 3; k < x.size(); ++k) *optional[k - 3] = x.tensor(k);
  return options;
}
std::vector<Tensor> results_of(const reel::Lstm& y) { return {y.output, y.state, y.cell}; }
std::vector<Tensor> results_of(const reel::Gru& y) { return {y.output, y.state}; }
std::string recurrent_text(const S& s, const Strings& a) {
  std::string all = s.op->name + "(" + a[0] + ", " + a[1] + ", " + a[2] + ", {";
  for (std::size_t k = 3; k < a.size(); ++k) all += (k > 3 ? ", " : "") + a[k];
  return all + "})";
}

// ints: the number of labels of each example, then its labels.
bool make_ctc_loss(Maker& m, S& s) {
  const int x = m.floating(3, 3);
  if (x < 0 || m.at(x).size() == 0 || m.at(x).shape[2] < 2) return false;
  const Extents shape = m.at(x).shape;
  if (std::pow(static_cast<double>(shape[2]), static_cast<double>(shape[0])) > 64) return false;
  for (std::int64_t n = 0; n < shape[1]; ++n) {
    const std::int64_t count = m.between(0, std::min<std::int64_t>(2, (shape[0] + 1) / 2));
    s.ints.push_back(count);
    for (std::int64_t k = 0; k < count; ++k) s.ints.push_back(m.between(1, shape[2] - 1));
  }
  s.args = {Maker::arg(x)};
  return true;
}
std::vector<Ints> targets_of(const S& s) {
  std::vector<Ints> targets;
  for (auto k = s.ints.begin(); k != s.ints.end(); k += *k + 1) targets.emplace_back(k + 1, k + 1 + *k);
  return targets;
}
Tensor ctc_loss(const Tensor& x, const S& s) {
  Ints labels, lengths;
  for (Ints target : targets_of(s)) {
    lengths.push_back(std::ssize(target));
    target.resize(2);
    labels.insert(labels.end(), target.begin(), target.end());
  }
  const Ints steps(lengths.size(), x.shape()[0]);
  return reel::ctc_loss(x, reel::from_data(labels, {x.shape()[1], 2}), reel::from_data(steps),
                        reel::from_data(lengths));
}

// ints: mode, padding id or -1, the second offset, ids. Operands: the table, of mode 0 also weights.
bool make_embedding_bag(Maker& m, S& s) {
  const int table = m.floating(1, 2);
  if (table < 0 || m.at(table).shape[0] == 0) return false;
  const auto rows = static_cast<int>(m.at(table).shape[0]);
  const std::int64_t ids = m.between(1, 4), mode = m.below(3);
  s.ints = {mode, m.chance(0.4) ? m.below(rows) : -1, m.between(0, ids)};
  for (std::int64_t k = 0; k < ids; ++k) s.ints.push_back(m.below(rows));
  s.args = {Maker::arg(table)};
  if (mode == 0 && !m.chance(0.4)) s.args.push_back(Maker::arg(value_like(m, {ids}, m.at(table).dtype)));
  return all_found(s);
}
Ints ids_of(const S& s) { return {s.ints.begin() + 3, s.ints.end()}; }
ArrayOf<Jet> embedding_bag(X x, const S& s) {
  const cases::Bags bags = cases::bags_of(ids_of(s), {0, s.ints[2]}, s.ints[1]);
  if (s.ints[0] == 0) return cases::embedding_bag_of(x, bags, cases::total);
  return s.ints[0] == 1 ? cases::embedding_bag_of(x, bags, cases::window_mean)
                        : cases::embedding_bag_of(x, bags, cases::greatest_or_zero);
}
Tensor embedding_bag(const Operands& x, const S& s) {
  reel::EmbeddingBagOptions options{.mode = static_cast<reel::BagMode>(s.ints[0])};
  if (s.ints[1] >= 0) options.padding_id = s.ints[1];
  if (x.size() > 1) options.weights = x.tensor(1);
  return reel::embedding_bag(x[0], reel::from_data(ids_of(s)), reel::from_data(Ints{0, s.ints[2]}), options);
}

}  // namespace

// clang-format off
void add_sequences(std::vector<Op>& t) {
  t.push_back(row_op<Jet>("attention", make_attention, attention_dtype, attention,
      REEL_CALL(reel::attention(x[0], x[1], x[2], {.mask = x.size() > 3 ? x.tensor(3) : Tensor(), .causal = i[0] != 0, .scale = r[0]})), {.weight = 2}));
  t.push_back(row_op<Jet>("rope", make_rope, computed_dtype, rope, REEL_CALL(reel::rope(x[0], i[0], {.base = r[0], .interleaved = i[1] != 0}))));
  t.push_back(row_op<Jet>("lstm", [](Maker& m, S& s) { return make_recurrent(m, s, true); }, computed_dtype, [](X x, const S&) { return cases::recurrent_of(x, true); },
      REEL_CALL(results_of(reel::lstm(x[0], x[1], x[2], options_of(x))))));
  t.back().text = recurrent_text;
  t.push_back(row_op<Jet>("gru", [](Maker& m, S& s) { return make_recurrent(m, s, false); }, computed_dtype, [](X x, const S&) { return cases::recurrent_of(x, false); },
      REEL_CALL(results_of(reel::gru(x[0], x[1], x[2], options_of(x))))));
  t.back().text = recurrent_text;
  t.push_back(row_op<Jet>("ctc_loss", make_ctc_loss, computed_dtype, [](X x, const S& s) { return cases::ctc_loss_of(x[0], targets_of(s), Ints(at(x[0].shape[1]), x[0].shape[0]), 0, 0); },
      REEL_CALL(ctc_loss(x.tensor(0), s))));
  t.push_back(row_op<Jet>("embedding_bag", make_embedding_bag, [](const Inputs& in) { return given_dtype({in[0]}); }, [](X x, const S& s) { return embedding_bag(x, s); },
      REEL_CALL(embedding_bag(x, s))));
}
// clang-format on

}  // namespace random_programs
