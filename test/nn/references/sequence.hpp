// Attention, rotary embedding, recurrent networks and CTC by their definitions, over any numbers.
#pragma once
#include <functional>
#include <limits>

#include "../../op_cases/references/reductions.hpp"

namespace cases {

inline Index matrix_index(Index batch, std::int64_t i, std::int64_t j) {
  batch.push_back(i);
  batch.push_back(j);
  return batch;
}
/// What is added to a score: a number, or nothing where the key is not seen.
template <class N>
struct Bias {
  bool seen = true;
  N more = 0;
};
/// softmax(scale q k^T + bias(index of the score)) v, whose batches broadcast; 0 where no key is seen.
template <class N, class F>
ArrayOf<N> attention_of(ArraysOf<N> x, Real scale, F bias) {
  const std::int64_t rows = x[0].shape[-2], width = x[0].shape[-1], keys = x[1].shape[-2];
  Extents shape;
  for (std::size_t o = 0; o < 3; ++o) shape = broadcast(shape, Extents(x[o].shape.begin(), x[o].shape.end() - 2));
  shape.push_back(rows);
  shape.push_back(x[2].shape[-1]);
  return build<N>(shape, [&](const Index& index) {
    const Index batch(index.begin(), index.end() - 2);
    const std::int64_t i = index[index.size() - 2], e = index.back();
    RowOf<N> scores;
    std::vector<std::int64_t> seen;
    for (std::int64_t j = 0; j < keys; ++j) {
      const Bias<N> own = bias(matrix_index(batch, i, j));
      if (!own.seen) continue;
      N score = 0;
      for (std::int64_t k = 0; k < width; ++k)
        score += broadcast_at(x[0], matrix_index(batch, i, k)) * broadcast_at(x[1], matrix_index(batch, j, k));
      scores.push_back(score * scale + own.more);
      seen.push_back(j);
    }
    Real most = -std::numeric_limits<Real>::infinity();
    for (const N& s : scores) most = std::max(most, value_of(s));
    N sum = 0, result = 0;
    for (N& s : scores) sum += s = rounded(exp(s - most), 4);
    for (std::size_t n = 0; n < seen.size(); ++n)
      result += scores[n] / sum * broadcast_at(x[2], matrix_index(batch, seen[n], e));
    return rounded(result, 8);
  });
}

/// Pairs of x [..., L, E] turned by position(row index) base^(-2 i / E).
template <class N, class F>
ArrayOf<N> rope_of(const ArrayOf<N>& x, Real base, bool interleaved, F position) {
  const std::int64_t width = x.shape[-1], half = width / 2;
  return build<N>(x.shape, [&](const Index& index) {
    const std::int64_t e = index.back(), pair = interleaved ? e / 2 : e % half;
    const bool first = interleaved ? e % 2 == 0 : e < half;
    const Real angle = position(index) * std::pow(base, -2 * static_cast<Real>(pair) / static_cast<Real>(width));
    const N c = rounded(N(std::cos(angle)), 2), s = rounded(N(std::sin(angle)), 2);
    Index other = index;
    other.back() = interleaved ? (first ? e + 1 : e - 1) : (first ? e + half : e - half);
    return first ? at(x, index) * c - at(x, other) * s : at(x, index) * c + at(x, other) * s;
  });
}

template <class N>
N gate_of(const N& x) {
  return rounded(1 / (1 + exp(-x)), 8);
}
template <class N>
N tanh_of(const N& x) {
  return rounded(sinh(x) / cosh(x), 8);
}
/// Row `row` of w v + bias, where v begins at element `from`.
template <class N>
N affine(const ArrayOf<N>& w, const ArrayOf<N>* bias, std::int64_t row, const RowOf<N>& v, std::int64_t from) {
  N sum = bias ? bias->values[static_cast<std::size_t>(row)] : N(0);
  for (std::int64_t k = 0; k < w.shape[1]; ++k) sum += at(w, {row, k}) * v[static_cast<std::size_t>(from + k)];
  return sum;
}
/// Operands: x [steps, batch, inputs], weights of inputs and states, then or not: biases of both, the first state, and
/// of lstm the first cell. Results: the states of all steps, the last ones, and of lstm the last cells.
template <class N>
std::vector<ArrayOf<N>> recurrent_of(ArraysOf<N> x, bool lstm) {
  const std::int64_t steps = x[0].shape[0], batch = x[0].shape[1], inputs = x[0].shape[2], width = x[2].shape[1];
  const auto operand = [&](std::size_t k) { return k < x.size() ? &x[k] : nullptr; };
  ArrayOf<N> all{{steps, batch, width}, {}}, h = operand(5) ? x[5] : filled<N>({batch, width}, 0),
                                             c = operand(6) ? x[6] : filled<N>({batch, width}, 0);
  for (std::int64_t t = 0; t < steps; ++t) {
    const ArrayOf<N> before = h;
    for (std::int64_t b = 0; b < batch; ++b)
      for (std::int64_t k = 0; k < width; ++k) {
        const auto of_input = [&](std::int64_t g) {
          return affine(x[1], operand(3), g * width + k, x[0].values, (t * batch + b) * inputs);
        };
        const auto of_state = [&](std::int64_t g) {
          return affine(x[2], operand(4), g * width + k, before.values, b * width);
        };
        const auto both = [&](std::int64_t g) { return of_input(g) + of_state(g); };
        N &state = at(h, {b, k}), &cell = at(c, {b, k});
        if (lstm) {
          cell = gate_of(both(1)) * cell + gate_of(both(0)) * tanh_of(both(2));
          state = gate_of(both(3)) * tanh_of(cell);
        } else {
          const N z = gate_of(both(1)), n = tanh_of(of_input(2) + gate_of(both(0)) * of_state(2));
          state = rounded(n + z * (at(before, {b, k}) - n), 4);
        }
        all.values.push_back(state);
      }
  }
  std::vector<ArrayOf<N>> results = {all, h};
  if (lstm) results.push_back(c);
  return results;
}

/// Of log probabilities [T, examples, C], by all sequences of classes; `impossible` where none is the target.
template <class N>
ArrayOf<N> ctc_loss_of(const ArrayOf<N>& x, const std::vector<Index>& targets, const Index& steps, std::int64_t blank,
                       Real impossible) {
  return build<N>({x.shape[1]}, [&](const Index& index) {
    const auto n = static_cast<std::size_t>(index[0]);
    N sum = 0;
    for_each_index(Extents(static_cast<std::size_t>(steps[n]), x.shape[2]), [&](const Index& classes) {
      Index merged;
      N path = 0;
      for (std::size_t t = 0; t < classes.size(); ++t) {
        path += at(x, {static_cast<std::int64_t>(t), index[0], classes[t]});
        if (classes[t] != blank && (t == 0 || classes[t] != classes[t - 1])) merged.push_back(classes[t]);
      }
      if (merged == targets[n]) sum += exp(path);
    });
    require<N>(value_of(sum) != 0);
    return value_of(sum) == 0 ? N(impossible) : rounded(-log(sum), 16);
  });
}

}  // namespace cases
