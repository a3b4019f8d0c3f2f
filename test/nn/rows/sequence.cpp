// Rows of the ops of <reel/nn/sequence.hpp>.
#include "../references/sequence.hpp"

#include <algorithm>
#include <reel/nn/sequence.hpp>

namespace cases {

namespace {

using namespace reel;
using X = Operands;
using A = Arrays;

Bias<Real> unmasked(const Index&) { return {}; }
Bias<Real> past_only(const Index& i) { return {i.back() <= i[i.size() - 2]}; }
Real standard(A x) { return 1 / std::sqrt(static_cast<Real>(x[0].shape[-1])); }

// Keys of which 2 i + j is not a multiple of 3; query 1 sees none.
bool third(std::int64_t i, std::int64_t j) { return (2 * i + j) % 3 != 0 && i != 1; }
Tensor thirds(const Tensor& q, const Tensor& k) {
  std::vector<double> all;
  for (std::int64_t i = 0; i < q.shape()[-2]; ++i)
    for (std::int64_t j = 0; j < k.shape()[-2]; ++j) all.push_back(third(i, j));
  return greater(from_data(all, {q.shape()[-2], k.shape()[-2]}), 0);
}
Bias<Real> third_only(const Index& i) { return {third(i[i.size() - 2], i.back())}; }

template <int Offset>
Real row_from(const Index& i) {
  return static_cast<Real>(i[i.size() - 2] + Offset);
}
// Positions of [2, 1, 3] for rows of [2, 2, 3].
Tensor some_positions() { return from_data(std::vector<double>{3, 0.5, 2, 7, 1, -4}, {2, 1, 3}); }
Real some_position(const Index& i) {
  constexpr Real all[] = {3, 0.5, 2, 7, 1, -4};
  return all[i[0] * 3 + i[2]];
}

// ---- Recurrent networks. Operands: x, input and hidden weight, input and hidden bias, state, and of lstm the cell
// state.

// All results, flattened.
Array recurrent(A x, bool lstm) {
  Array all{{0}, {}};
  for (const Array& y : recurrent_of(x, lstm)) all.values.insert(all.values.end(), y.values.begin(), y.values.end());
  all.shape = {std::ssize(all.values)};
  return all;
}
RecurrentOptions options_of(X x) {
  RecurrentOptions o;
  if (x.size() > 3) o.input_bias = x[3];
  if (x.size() > 4) o.hidden_bias = x[4];
  if (x.size() > 5) o.state = x[5];
  if (x.size() > 6) o.cell = x[6];
  return o;
}
Tensor all_of(const Lstm& y) {
  return concatenate({reshape(y.output, {-1}), reshape(y.state, {-1}), reshape(y.cell, {-1})});
}
Tensor all_of(const Gru& y) { return concatenate({reshape(y.output, {-1}), reshape(y.state, {-1})}); }

// ---- ctc_loss: log_probs [T, N, C], by all sequences of classes.

struct Alignments {
  std::vector<std::vector<std::int64_t>> targets;
  std::vector<std::int64_t> steps;
  std::int64_t blank;
  Tensor loss(const Tensor& x, bool zero_infinity = false) const {
    std::size_t width = 0;
    for (const auto& t : targets) width = std::max(width, t.size());
    std::vector<std::int64_t> padded, lengths;
    for (const auto& t : targets) {
      padded.insert(padded.end(), t.begin(), t.end());
      padded.resize(padded.size() + width - t.size(), -7);  // not read
      lengths.push_back(static_cast<std::int64_t>(t.size()));
    }
    const Tensor labels =
        from_data(padded, {static_cast<std::int64_t>(targets.size()), static_cast<std::int64_t>(width)});
    return ctc_loss(x, labels, from_data(steps), from_data(lengths), {.blank = blank, .zero_infinity = zero_infinity});
  }
  Array by_enumeration(const Array& x, Real impossible) const {
    return ctc_loss_of(x, targets, steps, blank, impossible);
  }
};
const Alignments plain{{{1, 2}, {2}}, {4, 3}, 0}, repeated{{{1, 1}, {}, {0, 1}}, {3, 2, 2}, 2},
    unreachable{{{1, 1, 2}, {2, 1, 2}}, {3, 4}, 0};

// clang-format off
const Shaped rows[] = {
    {"attention", "3x4,5x4,5x2;2x3x4,2x5x4,2x5x3;1x1,1x1,1x1;2x1x3x2,3x4x2,2x3x4x1;0x2,3x2,3x2;2x2,0x2,0x3;2x2,3x2,3x0;2x0,3x0,3x2", [](X x) { return attention(x[0], x[1], x[2]); }, [](A x) { return attention_of(x, x[0].shape[-1] == 0 ? 1 : standard(x), unmasked); }, {-2, 2}, nullptr, none, 4},
    {"attention", "3x4,5x4,5x2;5x2,3x2,3x2;2x4x3,4x3,2x4x2", [](X x) { return attention(x[0], x[1], x[2], {.causal = true, .scale = 0.3}); }, [](A x) { return attention_of(x, 0.3, past_only); }, {-2, 2}, nullptr, none, 4},
    {"attention", "3x4,5x4,5x2;2x4x3,4x3,2x4x2", [](X x) { return attention(x[0], x[1], x[2], {.mask = thirds(x[0], x[1])}); }, [](A x) { return attention_of(x, standard(x), third_only); }, {-2, 2}, nullptr, none, 4},
    {"attention", "3x4,5x4,5x2,3x5;2x3x2,2x4x2,2x4x3,4;2x2x3x2,4x2,4x2,2x1x1x4", [](X x) { return attention(x[0], x[1], x[2], {.mask = x[3], .causal = true}); }, [](A x) { return attention_of(x, standard(x), [&](const Index& i) { return Bias<Real>{past_only(i).seen, broadcast_at(x[3], i)}; }); }, {-2, 2}, nullptr, none, 4},
    {"ctc_loss", "4x2x3;5x2x4", [](X x) { return plain.loss(x[0]); }, [](A x) { return plain.by_enumeration(x[0], 0); }, {-2, 0}, nullptr, none, 4},
    {"ctc_loss", "3x3x3", [](X x) { return repeated.loss(x[0]); }, [](A x) { return repeated.by_enumeration(x[0], 0); }, {-2, 0}, nullptr, none, 4},
    {"ctc_loss", "4x2x3", [](X x) { return unreachable.loss(x[0], true); }, [](A x) { return unreachable.by_enumeration(x[0], 0); }, {-2, 0}, nullptr, none, 4},
    {"lstm", "3x2x3,8x3,8x2,8,8,2x2,2x2;1x1x1,4x1,4x1,4,4,1x1,1x1;2x1x2,4x2,4x1", [](X x) { return all_of(lstm(x[0], x[1], x[2], options_of(x))); }, [](A x) { return recurrent(x, true); }, {-1, 1}, nullptr, none, 4},
    {"lstm", "3x2x3,8x3,8x2,8", [](X x) { return lstm(x[0], x[1], x[2], {.input_bias = x[3]}).output; }, [](A x) { return recurrent_of(x, true)[0]; }, {-1, 1}, nullptr, none, 4},
    {"gru", "3x2x3,6x3,6x2,6,6,2x2;1x1x1,3x1,3x1,3,3,1x1;2x1x2,3x2,3x1", [](X x) { return all_of(gru(x[0], x[1], x[2], options_of(x))); }, [](A x) { return recurrent(x, false); }, {-1, 1}, nullptr, none, 4},
    {"gru", "3x2x3,6x3,6x2", [](X x) { return gru(x[0], x[1], x[2]).state; }, [](A x) { return recurrent_of(x, false)[1]; }, {-1, 1}, nullptr, none, 4},
    {"rope", "3x4;2x2x6;1x2;0x2;2x0", [](X x) { return rope(x[0], 5); }, [](A x) { return rope_of(x[0], 10000, false, row_from<5>); }},
    {"rope", "3x4;2x2x6;1x2", [](X x) { return rope(x[0], 0, {.base = 100, .interleaved = true}); }, [](A x) { return rope_of(x[0], 100, true, row_from<0>); }},
    {"rope", "2x2x3x4", [](X x) { return rope(x[0], some_positions()); }, [](A x) { return rope_of(x[0], 10000, false, [](const Index& i) { return some_position({i[0], 0, i[2]}); }); }},
};
// clang-format on

}  // namespace

std::span<const Shaped> sequence_rows() {
  static const auto kept = selected_rows(rows);
  return kept;
}

}  // namespace cases
