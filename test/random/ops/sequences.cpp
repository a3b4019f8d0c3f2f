// Attention, rotary embedding, recurrent networks and bags of embeddings by their definitions.
#include <limits>
#include <reel/nn.hpp>
#include <reel/nn/sequence.hpp>

#include "../program.hpp"
#include "../ranged.hpp"

namespace random_programs {

namespace {

using reel::Tensor;
using Strings = std::vector<std::string>;

int like(Maker& m, const Extents& shape, DType d) {
  const int k = m.pick([&](const Array& a) { return a.shape == shape && a.dtype == d; });
  if (k >= 0 && m.chance(0.6)) return k;
  const bool s = m.depth == 0 && m.source_elements + elements(shape) < 18 && m.chance(0.6);
  return m.input(s ? Role::source : Role::constant, d, shape);
}
Extents without_matrix(const Array& x) { return {x.shape.begin(), x.shape.end() - 2}; }
// The element at the last indices that fit the rank.
const Jet& element(const Array& x, const Extents& shape, const Extents& i) {
  return x[broadcast_index(x.shape, shape, position_of(shape, i))].re;
}

// ints: causal, whether the mask is boolean; reals: the scale. Operands: q, k, v, and the mask if there is one.
Array attended(const Statement& s, const Inputs& in) {
  const Inputs numbers(in.begin(), in.begin() + 3);
  const Array &q = *in[0], &k = *in[1], &v = *in[2];
  const std::int64_t rows = q.shape[q.shape.size() - 2], keys = k.shape[k.shape.size() - 2];
  Extents batch = broadcast_shapes(broadcast_shapes(without_matrix(q), without_matrix(k)), without_matrix(v));
  const auto shaped = [&](std::int64_t a, std::int64_t b) {
    Extents e = batch;
    e.push_back(a), e.push_back(b);
    return e;
  };
  const Extents of_q = shaped(rows, q.shape.back()), of_k = shaped(keys, q.shape.back()),
                of_v = shaped(keys, v.shape.back()), of_scores = shaped(rows, keys);
  Array y(computed_dtype(numbers), shaped(rows, v.shape.back()));
  for (std::int64_t b = 0; b < elements(batch); ++b)
    for (std::int64_t i = 0; i < rows; ++i) {
      std::vector<Jet> weights;
      std::vector<std::int64_t> seen;
      Extents at = indices_of(batch, b);
      at.push_back(i), at.push_back(0);
      const auto read = [&](const Array& x, const Extents& shape, std::int64_t row, std::int64_t column) {
        at[at.size() - 2] = row, at.back() = column;
        return element(x, shape, at);
      };
      Jet most;
      for (std::int64_t j = 0; j < keys; ++j) {
        if (s.ints[0] && j > i) continue;
        if (in.size() > 3 && s.ints[1] && read(*in[3], of_scores, i, j).v[0] == 0) continue;
        Jet score;
        for (std::int64_t e = 0; e < q.shape.back(); ++e) score += read(q, of_q, i, e) * read(k, of_k, j, e);
        score = score * s.reals[0];
        if (in.size() > 3 && !s.ints[1]) score += read(*in[3], of_scores, i, j);
        if (weights.empty() || most.v[0] < score.v[0]) most = score.value();
        weights.push_back(score);
        seen.push_back(j);
      }
      Jet sum;
      for (Jet& w : weights) sum += w = rounded(exp(w - most), 4);
      for (std::int64_t e = 0; e < v.shape.back(); ++e) {
        Jet total;
        for (std::size_t n = 0; n < weights.size(); ++n) total += weights[n] / sum * read(v, of_v, seen[n], e);
        at[at.size() - 2] = i, at.back() = e;
        y[position_of(y.shape, at)] = rounded(total, 8);
      }
    }
  return y;
}
bool make_attention(Maker& m, Statement& s) {
  const int q = m.floating(2, 3);
  if (q < 0) return false;
  const Extents shape = m.at(q).shape;
  const DType d = m.at(q).dtype;
  const std::int64_t keys = m.between(1, 3);
  Extents k = {keys, shape.back()}, v = {keys, m.between(1, 2)};
  if (shape.size() > 2 && m.chance(0.5)) k.insert(k.begin(), m.chance(0.5) ? shape[0] : 1);
  if (m.chance(0.3)) v.insert(v.begin(), shape.size() > 2 ? shape[0] : 2);
  s.args = {Maker::arg(q), Maker::arg(like(m, k, d)), Maker::arg(like(m, v, d))};
  s.ints = {m.chance(0.3), m.chance(0.6)};
  s.reals = {0.25 * static_cast<double>(m.between(1, 4))};
  if (m.chance(0.6)) {
    const Extents mask = {m.chance(0.7) ? shape[shape.size() - 2] : 1, keys};
    s.args.push_back(Maker::arg(s.ints[1] ? m.input(Role::constant, DType::boolean, mask) : like(m, mask, d)));
  }
  for (const Arg& a : s.args)
    if (a.index < 0) return false;
  return true;
}

Op attention() {
  Op o;
  o.name = "attention";
  o.weight = 2;
  o.make = make_attention;
  o.eval = [](const Statement& s, const Inputs& in, Arrays& out) { out.push_back(attended(s, in)); };
  o.call = [](const Statement& s, const Operands& a, std::vector<Tensor>& out) {
    reel::AttentionOptions options{.causal = s.ints[0] != 0, .scale = s.reals[0]};
    if (a.size() > 3) options.mask = a.tensor(3);
    out.push_back(reel::attention(a[0], a[1], a[2], options));
  };
  o.text = [](const Statement& s, const Strings& a) {
    return "attention(" + a[0] + ", " + a[1] + ", " + a[2] + ", {.mask = " + (a.size() > 3 ? a[3] : "{}") +
           ", .causal = " + (s.ints[0] ? "true" : "false") + ", .scale = " + std::to_string(s.reals[0]) + "})";
  };
  return o;
}

// ints: first position, whether interleaved; reals: base
Op rope() {
  Op o;
  o.name = "rope";
  o.make = [](Maker& m, Statement& s) {
    const int x = m.floating(2, 3);
    if (x < 0 || m.at(x).shape.back() % 2 != 0) return false;
    s.args = {Maker::arg(x)};
    s.ints = {m.between(-2, 5), m.chance(0.5)};
    s.reals = {m.chance(0.5) ? 10000.0 : 4.0};
    return true;
  };
  o.eval = [](const Statement& s, const Inputs& in, Arrays& out) {
    const Array& x = *in[0];
    Array y(computed_dtype(in), x.shape);
    const std::int64_t width = x.shape.back(), rows = x.shape[x.shape.size() - 2], half = width / 2;
    for (std::int64_t at = 0; at < x.size(); at += width)
      for (std::int64_t i = 0; i < half; ++i) {
        const Real p = static_cast<Real>(at / width % rows + s.ints[0]),
                   angle = p * std::pow(static_cast<Real>(s.reals[0]),
                                        -2 * static_cast<Real>(i) / static_cast<Real>(width));
        const Jet c = rounded(std::cos(angle), 2), n = rounded(std::sin(angle), 2);
        const std::int64_t a = at + (s.ints[1] ? 2 * i : i), b = s.ints[1] ? a + 1 : a + half;
        y[a] = x[a].re * c - x[b].re * n;
        y[b] = x[b].re * c + x[a].re * n;
      }
    out.push_back(std::move(y));
  };
  o.call = [](const Statement& s, const Operands& a, std::vector<Tensor>& out) {
    out.push_back(reel::rope(a[0], s.ints[0], {.base = s.reals[0], .interleaved = s.ints[1] != 0}));
  };
  o.text = [](const Statement& s, const Strings& a) {
    return "rope(" + a[0] + ", " + std::to_string(s.ints[0]) + ", {" + std::to_string(s.reals[0]) +
           (s.ints[1] ? ", true})" : ", false})");
  };
  return o;
}

// Sigmoid and tanh with the library's roundings.
Jet sigmoid_of(const Jet& x) { return rounded(1 / (1 + exp(-x)), 8); }
Jet tanh_of(const Jet& x) { return rounded(sinh(x) / cosh(x), 8); }

// Operands: x, weights, biases, state, and of lstm the cell state. ints: how many of the optional ones are given.
void run_recurrent(const Inputs& in, bool lstm, Arrays& out) {
  const Array &x = *in[0], &wi = *in[1], &wh = *in[2];
  const std::int64_t steps = x.shape[0], batch = x.shape[1], inputs = x.shape[2], width = wh.shape[1];
  Array y(computed_dtype(in), {steps, batch, width}), h(y.dtype, {batch, width}), c(y.dtype, {batch, width});
  for (std::int64_t k = 0; k < batch * width; ++k) {
    if (in.size() > 5) h[k] = (*in[5])[k].re;
    if (in.size() > 6) c[k] = (*in[6])[k].re;
  }
  const auto affine = [&](const Array& w, std::size_t bias, std::int64_t row, const Array& v, std::int64_t from,
                          std::int64_t n) {
    Jet sum = in.size() > bias ? (*in[bias])[row].re : Jet(0);
    for (std::int64_t k = 0; k < n; ++k) sum += w[row * n + k].re * v[from + k].re;
    return sum;
  };
  for (std::int64_t t = 0; t < steps; ++t) {
    const Array before = h;
    for (std::int64_t b = 0; b < batch; ++b)
      for (std::int64_t k = 0; k < width; ++k) {
        const auto of_input = [&](std::int64_t g) {
          return affine(wi, 3, g * width + k, x, (t * batch + b) * inputs, inputs);
        };
        const auto of_state = [&](std::int64_t g) { return affine(wh, 4, g * width + k, before, b * width, width); };
        const auto both = [&](std::int64_t g) { return of_input(g) + of_state(g); };
        Num &state = h[b * width + k], &cell = c[b * width + k];
        if (lstm) {
          cell = sigmoid_of(both(1)) * cell.re + sigmoid_of(both(0)) * tanh_of(both(2));
          state = sigmoid_of(both(3)) * tanh_of(cell.re);
        } else {
          const Jet z = sigmoid_of(both(1)), n = tanh_of(of_input(2) + sigmoid_of(both(0)) * of_state(2));
          state = rounded(n + z * (before[b * width + k].re - n), 4);
        }
        y[(t * batch + b) * width + k] = state;
      }
  }
  out.push_back(std::move(y));
  out.push_back(std::move(h));
  if (lstm) out.push_back(std::move(c));
}
bool make_recurrent(Maker& m, Statement& s, bool lstm) {
  const int x = m.floating(3, 3);
  if (x < 0 || m.at(x).size() == 0) return false;
  const DType d = m.at(x).dtype;
  const std::int64_t batch = m.at(x).shape[1], inputs = m.at(x).shape[2], width = m.between(1, 2),
                     gates = lstm ? 4 * width : 3 * width;
  const std::vector<Extents> shapes = {{gates, inputs}, {gates, width}, {gates},
                                       {gates},         {batch, width}, {batch, width}};
  const std::int64_t given = m.between(0, lstm ? 4 : 3);
  s.args = {Maker::arg(x)};
  for (std::int64_t i = 0; i < 2 + given; ++i)
    s.args.push_back(Maker::arg(like(m, shapes[static_cast<std::size_t>(i)], d)));
  s.results = lstm ? 3 : 2;
  for (const Arg& a : s.args)
    if (a.index < 0) return false;
  return true;
}
Op recurrent(bool lstm) {
  Op o;
  o.name = lstm ? "lstm" : "gru";
  o.make = [lstm](Maker& m, Statement& s) { return make_recurrent(m, s, lstm); };
  o.eval = [lstm](const Statement&, const Inputs& in, Arrays& out) { run_recurrent(in, lstm, out); };
  o.call = [lstm](const Statement&, const Operands& a, std::vector<Tensor>& out) {
    reel::RecurrentOptions options;
    Tensor* const optional[] = {&options.input_bias, &options.hidden_bias, &options.state, &options.cell};
    for (std::size_t k = 3; k < a.size(); ++k) *optional[k - 3] = a.tensor(k);
    if (lstm) {
      const reel::Lstm y = reel::lstm(a[0], a[1], a[2], options);
      out.insert(out.end(), {y.output, y.state, y.cell});
    } else {
      const reel::Gru y = reel::gru(a[0], a[1], a[2], options);
      out.insert(out.end(), {y.output, y.state});
    }
  };
  o.text = [lstm](const Statement&, const Strings& a) {
    std::string all = (lstm ? "lstm(" : "gru(") + a[0] + ", " + a[1] + ", " + a[2] + ", {";
    for (std::size_t k = 3; k < a.size(); ++k) all += (k > 3 ? ", " : "") + a[k];
    return all + "})";
  };
  return o;
}

// By all sequences of classes. ints: the number of labels of each example, then its labels.
Op ctc_loss() {
  Op o;
  o.name = "ctc_loss";
  o.make = [](Maker& m, Statement& s) {
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
  };
  o.eval = [](const Statement& s, const Inputs& in, Arrays& out) {
    const Array& x = *in[0];
    const std::int64_t steps = x.shape[0], count = x.shape[1], classes = x.shape[2];
    Array y(computed_dtype(in), {count});
    std::size_t next = 0;
    for (std::int64_t n = 0; n < count; ++n) {
      const auto labels = static_cast<std::size_t>(s.ints[next]);
      const auto* first = s.ints.data() + next + 1;
      const std::vector<std::int64_t> target(first, first + labels);
      next += labels + 1;
      Jet total;
      const Extents all(static_cast<std::size_t>(steps), classes);
      for (std::int64_t p = 0; p < elements(all); ++p) {
        const Extents path = indices_of(all, p);
        std::vector<std::int64_t> merged;
        Jet sum;
        for (std::size_t t = 0; t < path.size(); ++t) {
          sum += x[(static_cast<std::int64_t>(t) * count + n) * classes + path[t]].re;
          if (path[t] != 0 && (t == 0 || path[t] != path[t - 1])) merged.push_back(path[t]);
        }
        if (merged == target) total += exp(sum);
      }
      if (total.v[0] == 0) throw Unfit();
      y[n] = rounded(-log(total), 16);
    }
    out.push_back(std::move(y));
  };
  o.call = [](const Statement& s, const Operands& a, std::vector<Tensor>& out) {
    const Tensor x = a.tensor(0);
    std::vector<std::int64_t> labels, lengths;
    for (std::size_t k = 0; k < s.ints.size(); k += static_cast<std::size_t>(s.ints[k]) + 1) {
      lengths.push_back(s.ints[k]);
      for (std::int64_t i = 0; i < 2; ++i)
        labels.push_back(i < s.ints[k] ? s.ints[k + static_cast<std::size_t>(i) + 1] : 0);
    }
    const std::vector<std::int64_t> steps(lengths.size(), x.shape()[0]);
    out.push_back(reel::ctc_loss(x, reel::from_data(labels, {x.shape()[1], 2}), reel::from_data(steps),
                                 reel::from_data(lengths)));
  };
  o.text = [](const Statement& s, const Strings& a) {
    return "ctc_loss(" + a[0] + ", lengths and labels " + braces(s.ints) + ")";
  };
  return o;
}

Jet sum_of(const std::vector<Jet>& x, bool mean) {
  Jet total;
  for (const Jet& e : x) total += e;
  return mean && x.size() > 1 ? rounded(total / Jet(static_cast<Real>(x.size())), 4) : total;
}
// Ties share; 0 of none.
Jet greatest_of(const std::vector<Jet>& x) {
  if (x.empty()) return Jet();
  Jet best = x[0];
  for (const Jet& e : x)
    if (less(best, e)) best = e;
  std::vector<Jet> ties;
  for (const Jet& e : x)
    if (same(e, best)) ties.push_back(e);
  return ties.size() == 1 ? best : sum_of(ties, true);
}
// ints: mode, padding id or -1, offsets' number, offsets, ids. Operands: the table, of mode 0 also weights.
Op embedding_bag() {
  Op o;
  o.name = "embedding_bag";
  o.make = [](Maker& m, Statement& s) {
    const int table = m.floating(1, 2);
    if (table < 0 || m.at(table).shape[0] == 0) return false;
    const auto rows = static_cast<int>(m.at(table).shape[0]);
    const std::int64_t ids = m.between(1, 4), mode = m.below(3);
    s.ints = {mode, m.chance(0.4) ? m.below(rows) : -1, 2, 0, m.between(0, ids)};
    for (std::int64_t k = 0; k < ids; ++k) s.ints.push_back(m.below(rows));
    s.args = {Maker::arg(table)};
    if (mode > 0 || m.chance(0.4)) return true;
    s.args.push_back(Maker::arg(like(m, {ids}, m.at(table).dtype)));
    return s.args[1].index >= 0;
  };
  o.eval = [](const Statement& s, const Inputs& in, Arrays& out) {
    const Array& table = *in[0];
    Extents shape = table.shape;
    shape[0] = 2;
    const DType d = table.dtype;
    if (!is_real_floating(d)) throw Unfit();
    round_like(d);
    Array y(d, shape);
    const std::int64_t width = table.size() / table.shape[0], count = static_cast<std::int64_t>(s.ints.size()) - 5;
    for (std::int64_t i = 0; i < y.size(); ++i) {
      const bool first = i / width == 0;
      std::vector<Jet> members;
      for (std::int64_t k = first ? 0 : s.ints[4]; k < (first ? s.ints[4] : count); ++k) {
        const std::int64_t id = s.ints[static_cast<std::size_t>(5 + k)];
        if (id == s.ints[1]) continue;
        const Jet& e = table[id * width + i % width].re;
        members.push_back(in.size() > 1 ? rounded(e * (*in[1])[k].re, 1) : e);
      }
      const Jet total = s.ints[0] == 2 ? greatest_of(members) : sum_of(members, s.ints[0] == 1);
      y[i] = Num(total);
    }
    out.push_back(std::move(y));
  };
  o.call = [](const Statement& s, const Operands& a, std::vector<Tensor>& out) {
    reel::EmbeddingBagOptions options{.mode = static_cast<reel::BagMode>(s.ints[0])};
    if (s.ints[1] >= 0) options.padding_id = s.ints[1];
    if (a.size() > 1) options.weights = a.tensor(1);
    const std::vector<std::int64_t> ids(s.ints.begin() + 5, s.ints.end());
    out.push_back(reel::embedding_bag(a[0], reel::from_data(ids),
                                      reel::from_data(std::vector<std::int64_t>{0, s.ints[4]}), options));
  };
  o.text = [](const Statement& s, const Strings& a) {
    return "embedding_bag(" + a[0] + (a.size() > 1 ? ", weights " + a[1] : "") + ", mode, padding, 2, offsets, ids " +
           braces(s.ints) + ")";
  };
  return o;
}

}  // namespace

void add_sequences(std::vector<Op>& t) {
  for (const Op& o : {attention(), rope(), recurrent(true), recurrent(false), ctc_loss(), embedding_bag()})
    t.push_back(o);
}

}  // namespace random_programs
