// Rows of the ops of <reel/nn/sequence.hpp>.
#include <algorithm>
#include <reel/nn/sequence.hpp>

#include "naive.hpp"

namespace cases {

namespace {

using namespace reel;
using X = Operands;
using A = Arrays;

constexpr Real none_of = -std::numeric_limits<Real>::infinity();

// The element of x at the last indices that fit its rank; an extent of 1 repeats.
Real broadcast_at(const Array& x, const Index& index) {
  Index from(index.end() - x.shape.rank(), index.end());
  for (std::size_t d = 0; d < from.size(); ++d)
    if (x.shape[static_cast<std::int64_t>(d)] == 1) from[d] = 0;
  return at(x, from);
}
Index matrix_index(Index batch, std::int64_t i, std::int64_t j) {
  batch.push_back(i);
  batch.push_back(j);
  return batch;
}
Shape leading(const Shape& s) { return {s.data(), s.size() - 2}; }

// By the definition; more(index of a score) is added to the score.
template <class F>
Array attended(A x, Real scale, F more) {
  const std::int64_t rows = x[0].shape[-2], width = x[0].shape[-1], keys = x[1].shape[-2];
  Shape shape;
  for (std::size_t o = 0; o < 3; ++o) {
    Shape own = leading(x[o].shape);
    while (own.rank() < shape.rank()) own.insert(0, 1);
    while (shape.rank() < own.rank()) shape.insert(0, 1);
    for (int d = 0; d < own.rank(); ++d)
      if (own[d] != 1) shape[d] = own[d];
  }
  shape.push_back(rows);
  shape.push_back(x[2].shape[-1]);
  return build(shape, [&](const Index& index) {
    const Index batch(index.begin(), index.end() - 2);
    const std::int64_t i = index[index.size() - 2], e = index.back();
    Real sum = 0, weighted = 0, most = none_of;
    Row scores;
    for (std::int64_t j = 0; j < keys; ++j) {
      Real s = 0;
      for (std::int64_t k = 0; k < width; ++k)
        s += broadcast_at(x[0], matrix_index(batch, i, k)) * broadcast_at(x[1], matrix_index(batch, j, k));
      scores.push_back(s * scale + more(matrix_index(batch, i, j)));
      most = std::max(most, scores.back());
    }
    for (std::int64_t j = 0; j < keys && most > none_of; ++j) {
      const Real p = std::exp(scores[static_cast<std::size_t>(j)] - most);
      sum += p;
      weighted += p * broadcast_at(x[2], matrix_index(batch, j, e));
    }
    return sum > 0 ? weighted / sum : 0;
  });
}
Real unmasked(const Index&) { return 0; }
Real past_only(const Index& i) { return i.back() <= i[i.size() - 2] ? 0 : none_of; }
Real standard(A x) { return 1 / std::sqrt(static_cast<Real>(x[0].shape[-1])); }

// Keys of which 2 i + j is not a multiple of 3; query 1 sees none.
bool third(std::int64_t i, std::int64_t j) { return (2 * i + j) % 3 != 0 && i != 1; }
Tensor thirds(const Tensor& q, const Tensor& k) {
  std::vector<double> all;
  for (std::int64_t i = 0; i < q.shape()[-2]; ++i)
    for (std::int64_t j = 0; j < k.shape()[-2]; ++j) all.push_back(third(i, j));
  return greater(from_data(all, {q.shape()[-2], k.shape()[-2]}), 0);
}
Real third_only(const Index& i) { return third(i[i.size() - 2], i.back()) ? 0 : none_of; }

// Pairs of x [..., L, E] turned by position(row index) base^(-2 i / E).
template <class F>
Array rotated(const Array& x, Real base, bool interleaved, F position) {
  const std::int64_t width = x.shape[-1], half = width / 2;
  return build(x.shape, [&](const Index& index) {
    const std::int64_t e = index.back(), pair = interleaved ? e / 2 : e % half;
    const bool first = interleaved ? e % 2 == 0 : e < half;
    const Real angle = position(index) * std::pow(base, -2 * static_cast<Real>(pair) / static_cast<Real>(width));
    Index other = index;
    other.back() = interleaved ? (first ? e + 1 : e - 1) : (first ? e + half : e - half);
    return at(x, index) * std::cos(angle) + (first ? -1 : 1) * at(x, other) * std::sin(angle);
  });
}
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

Real sigmoid_of(Real x) { return 1 / (1 + std::exp(-x)); }
// Row g of w x[...] + b: the product of one gate's row with a vector.
Real affine(const Array& w, const Array& bias, std::int64_t row, const Row& v) {
  Real sum = bias.values.empty() ? 0 : bias.values[static_cast<std::size_t>(row)];
  for (std::size_t k = 0; k < v.size(); ++k) sum += at(w, {row, static_cast<std::int64_t>(k)}) * v[k];
  return sum;
}
Row line_of(const Array& x, Index index) {
  Row r;
  index.push_back(0);
  for (auto& k = index.back(); k < x.shape[-1]; ++k) r.push_back(at(x, index));
  return r;
}
// The states of all steps, and then the last ones, flattened.
Array recurrent(A x, bool lstm) {
  const std::int64_t steps = x[0].shape[0], batch = x[0].shape[1], width = x[2].shape[1];
  const auto index = [](std::int64_t i) { return static_cast<std::size_t>(i); };
  std::vector<Row> h, c;
  for (std::int64_t b = 0; b < batch; ++b) {
    h.push_back(x.size() > 5 ? line_of(x[5], {b}) : Row(index(width)));
    c.push_back(x.size() > 6 ? line_of(x[6], {b}) : Row(index(width)));
  }
  const Array none{{0}, {}};
  Array all{{}, {}};
  for (std::int64_t t = 0; t < steps; ++t)
    for (std::int64_t b = 0; b < batch; ++b) {
      const Row in = line_of(x[0], {t, b}), before = h[index(b)];
      const auto of_input = [&](std::int64_t g, std::int64_t k) {
        return affine(x[1], x.size() > 3 ? x[3] : none, g * width + k, in);
      };
      const auto of_state = [&](std::int64_t g, std::int64_t k) {
        return affine(x[2], x.size() > 4 ? x[4] : none, g * width + k, before);
      };
      for (std::int64_t k = 0; k < width; ++k) {
        Real &state = h[index(b)][index(k)], &cell = c[index(b)][index(k)];
        const auto both = [&](std::int64_t g) { return of_input(g, k) + of_state(g, k); };
        if (lstm) {
          cell = sigmoid_of(both(1)) * cell + sigmoid_of(both(0)) * std::tanh(both(2));
          state = sigmoid_of(both(3)) * std::tanh(cell);
        } else {
          const Real z = sigmoid_of(both(1)), n = std::tanh(of_input(2, k) + sigmoid_of(both(0)) * of_state(2, k));
          state = (1 - z) * n + z * before[index(k)];
        }
        all.values.push_back(state);
      }
    }
  for (const Row& r : h) all.values.insert(all.values.end(), r.begin(), r.end());
  for (const Row& r : c)
    if (lstm) all.values.insert(all.values.end(), r.begin(), r.end());
  all.shape = {static_cast<std::int64_t>(all.values.size())};
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
    return build({x.shape[1]}, [&](const Index& index) {
      const auto n = static_cast<std::size_t>(index[0]);
      Real total = 0;
      std::vector<std::int64_t> classes(static_cast<std::size_t>(steps[n]));
      for (bool more = true; more;) {
        std::vector<std::int64_t> merged;
        Real sum = 0;
        for (std::size_t t = 0; t < classes.size(); ++t) {
          sum += at(x, {static_cast<std::int64_t>(t), index[0], classes[t]});
          if (classes[t] != blank && (t == 0 || classes[t] != classes[t - 1])) merged.push_back(classes[t]);
        }
        if (merged == targets[n]) total += std::exp(sum);
        more = false;
        for (std::size_t t = 0; t < classes.size() && !more; ++t) more = ++classes[t] < x.shape[2] || (classes[t] = 0);
      }
      return total > 0 ? -std::log(total) : impossible;
    });
  }
};
const Alignments plain{{{1, 2}, {2}}, {4, 3}, 0}, repeated{{{1, 1}, {}, {0, 1}}, {3, 2, 2}, 2},
    unreachable{{{1, 1, 2}, {2, 1, 2}}, {3, 4}, 0};

// clang-format off
const Shaped rows[] = {
    {"attention", "3x4,5x4,5x2;2x3x4,2x5x4,2x5x3;1x1,1x1,1x1;2x1x3x2,3x4x2,2x3x4x1;0x2,3x2,3x2;2x2,0x2,0x3;2x2,3x2,3x0;2x0,3x0,3x2", [](X x) { return attention(x[0], x[1], x[2]); }, [](A x) { return attended(x, x[0].shape[-1] == 0 ? 1 : standard(x), unmasked); }, {-2, 2}, nullptr, none, 4},
    {"attention", "3x4,5x4,5x2;5x2,3x2,3x2;2x4x3,4x3,2x4x2", [](X x) { return attention(x[0], x[1], x[2], {.causal = true, .scale = 0.3}); }, [](A x) { return attended(x, 0.3, past_only); }, {-2, 2}, nullptr, none, 4},
    {"attention", "3x4,5x4,5x2;2x4x3,4x3,2x4x2", [](X x) { return attention(x[0], x[1], x[2], {.mask = thirds(x[0], x[1])}); }, [](A x) { return attended(x, standard(x), third_only); }, {-2, 2}, nullptr, none, 4},
    {"attention", "3x4,5x4,5x2,3x5;2x3x2,2x4x2,2x4x3,4;2x2x3x2,4x2,4x2,2x1x1x4", [](X x) { return attention(x[0], x[1], x[2], {.mask = x[3], .causal = true}); }, [](A x) { return attended(x, standard(x), [&](const Index& i) { return broadcast_at(x[3], i) + past_only(i); }); }, {-2, 2}, nullptr, none, 4},
    {"ctc_loss", "4x2x3;5x2x4", [](X x) { return plain.loss(x[0]); }, [](A x) { return plain.by_enumeration(x[0], 0); }, {-2, 0}, nullptr, none, 4},
    {"ctc_loss", "3x3x3", [](X x) { return repeated.loss(x[0]); }, [](A x) { return repeated.by_enumeration(x[0], 0); }, {-2, 0}, nullptr, none, 4},
    {"ctc_loss", "4x2x3", [](X x) { return unreachable.loss(x[0], true); }, [](A x) { return unreachable.by_enumeration(x[0], 0); }, {-2, 0}, nullptr, none, 4},
    {"lstm", "3x2x3,8x3,8x2,8,8,2x2,2x2;1x1x1,4x1,4x1,4,4,1x1,1x1;2x1x2,4x2,4x1", [](X x) { return all_of(lstm(x[0], x[1], x[2], options_of(x))); }, [](A x) { return recurrent(x, true); }, {-1, 1}, nullptr, none, 4},
    {"lstm", "3x2x3,8x3,8x2,8", [](X x) { return lstm(x[0], x[1], x[2], {.input_bias = x[3]}).output; }, [](A x) { Array y = recurrent(x, true); y.shape = {3, 2, 2}; y.values.resize(12); return y; }, {-1, 1}, nullptr, none, 4},
    {"gru", "3x2x3,6x3,6x2,6,6,2x2;1x1x1,3x1,3x1,3,3,1x1;2x1x2,3x2,3x1", [](X x) { return all_of(gru(x[0], x[1], x[2], options_of(x))); }, [](A x) { return recurrent(x, false); }, {-1, 1}, nullptr, none, 4},
    {"gru", "3x2x3,6x3,6x2", [](X x) { return gru(x[0], x[1], x[2]).state; }, [](A x) { Array y = recurrent(x, false); y.shape = {2, 2}; y.values.erase(y.values.begin(), y.values.begin() + 12); return y; }, {-1, 1}, nullptr, none, 4},
    {"rope", "3x4;2x2x6;1x2;0x2;2x0", [](X x) { return rope(x[0], 5); }, [](A x) { return rotated(x[0], 10000, false, row_from<5>); }},
    {"rope", "3x4;2x2x6;1x2", [](X x) { return rope(x[0], 0, {.base = 100, .interleaved = true}); }, [](A x) { return rotated(x[0], 100, true, row_from<0>); }},
    {"rope", "2x2x3x4", [](X x) { return rope(x[0], some_positions()); }, [](A x) { return rotated(x[0], 10000, false, [](const Index& i) { return some_position({i[0], 0, i[2]}); }); }},
};
// clang-format on

}  // namespace

std::span<const Shaped> sequence_rows() {
  static const auto kept = selected_rows(rows);
  return kept;
}

}  // namespace cases
