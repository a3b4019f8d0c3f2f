// Normalisation, first weights and dropout of neural networks: their operands and calls.
#include <reel/nn.hpp>

#include "../../nn/references/normalization.hpp"
#include "../rows.hpp"

namespace random_programs {

namespace {

using reel::Tensor;
using Strings = std::vector<std::string>;
using X = ArraysOf<Jet>;
using S = Statement;

int filled_value(Maker& m, int min_rank, int max_rank) {
  const int x = m.floating(min_rank, max_rank);
  return x >= 0 && m.at(x).size() > 0 ? x : -1;
}
// x, and further operands of one shape and its dtype.
bool with_operands(Maker& m, S& s, int x, int count, const Extents& shape) {
  s.args = {Maker::arg(x)};
  const DType d = m.at(x).dtype;
  for (int k = 0; k < count; ++k) {
    const int v = value_like(m, shape, d);
    if (v < 0) return false;
    s.args.push_back(Maker::arg(v));
  }
  return true;
}

// ints: axes; reals: epsilon.
bool make_layer_norm(Maker& m, S& s, bool centred) {
  const int x = filled_value(m, 1, 4);
  if (x < 0) return false;
  const Extents shape = m.at(x).shape;
  const int rank = m.at(x).rank();
  Extents part;
  for (int a = 0; a < rank; ++a)
    if (m.chance(a == rank - 1 ? 0.9 : 0.3))
      s.ints.push_back(m.chance(0.4) ? a - rank : a), part.push_back(shape[at(a)]);
  if (s.ints.empty()) return false;
  s.reals = {m.chance(0.5) ? 1e-5 : 0.125};
  return with_operands(m, s, x, !centred ? 1 : m.chance(0.3) ? 0 : 2, part);
}
// ints: axis; reals: epsilon.
bool make_batch_norm(Maker& m, S& s) {
  const int x = filled_value(m, 2, 4);
  if (x < 0 || m.at(x).dtype < DType::float32) return false;
  const int axis = m.below(m.at(x).rank());
  s.ints = {m.chance(0.3) ? axis - m.at(x).rank() : axis};
  s.reals = {0.125};
  const bool inference = m.chance(0.4);
  if (!with_operands(m, s, x, inference ? 4 : 2, {m.at(x).shape[at(axis)]})) return false;
  if (inference) s.args[4].index = m.within(s.args[4].index, 0.1, 10);
  return s.args.back().index >= 0;
}
std::vector<Tensor> batch_norm(const Operands& x, const reel::BatchNormOptions& options) {
  if (x.size() == 5) return {reel::batch_norm(x[0], x[1], x[2], x[3], x[4], options)};
  const reel::BatchNorm y = reel::batch_norm(x[0], x[1], x[2], options);
  return {y.y, y.mean, y.variance};
}
// ints: groups, 0 of instance_norm; reals: epsilon.
bool make_group_norm(Maker& m, S& s, bool each) {
  const int x = filled_value(m, each ? 3 : 2, 4);
  if (x < 0) return false;
  const std::int64_t channels = m.at(x).shape[1];
  std::int64_t groups = m.between(1, channels);
  while (channels % groups) --groups;
  s.ints = {each ? 0 : groups};
  s.reals = {m.chance(0.5) ? 1e-5 : 0.125};
  return with_operands(m, s, x, m.chance(0.5) ? 0 : 2, {channels});
}
// ints: size, or the axis.
bool make_response_norm(Maker& m, S& s) {
  const int x = filled_value(m, 2, 4);
  s.args = {Maker::arg(x)};
  s.ints = {m.between(1, 4)};
  return x >= 0;
}
bool make_unit_vectors(Maker& m, S& s) {
  const int x = filled_value(m, 1, 3);
  if (x < 0) return false;
  s.args = {Maker::arg(x)};
  s.ints = {m.below(m.at(x).rank())};
  return true;
}

// clang-format off
void add_normalization(std::vector<Op>& t) {
  t.push_back(row_op<Jet>("layer_norm", [](Maker& m, S& s) { return make_layer_norm(m, s, true); }, given_dtype, [](X x, const S& s) { return cases::normalized_of(x, s.ints, s.reals[0], true); },
      REEL_CALL(x.size() == 1 ? reel::layer_norm(x[0], {reel::Axes(i), r[0]}) : reel::layer_norm(x[0], x[1], x[2], {reel::Axes(i), r[0]})), {.weight = 1.5}));
  t.push_back(row_op<Jet>("rms_norm", [](Maker& m, S& s) { return make_layer_norm(m, s, false); }, given_dtype, [](X x, const S& s) { return cases::normalized_of(x, s.ints, s.reals[0], false); },
      REEL_CALL(reel::rms_norm(x[0], x[1], {reel::Axes(i), r[0]})), {.weight = 1.5}));
  t.push_back(row_op<Jet>("batch_norm", make_batch_norm, given_dtype, [](X x, const S& s) { return cases::batch_norm_of(x, s.ints[0], s.reals[0]); },
      REEL_CALL(batch_norm(x, {i[0], r[0]})), {.weight = 2}));
  t.push_back(row_op<Jet>("group_norm", [](Maker& m, S& s) { return make_group_norm(m, s, false); }, given_dtype, [](X x, const S& s) { return cases::group_norm_of(x, s.ints[0], s.reals[0]); },
      REEL_CALL(x.size() == 1 ? reel::group_norm(x[0], i[0], r[0]) : reel::group_norm(x[0], x[1], x[2], i[0], r[0]))));
  t.push_back(row_op<Jet>("instance_norm", [](Maker& m, S& s) { return make_group_norm(m, s, true); }, given_dtype, [](X x, const S& s) { return cases::group_norm_of(x, s.ints[0], s.reals[0]); },
      REEL_CALL(x.size() == 1 ? reel::instance_norm(x[0], r[0]) : reel::instance_norm(x[0], x[1], x[2], r[0]))));
  t.push_back(row_op<Jet>("local_response_norm", make_response_norm, given_dtype, [](X x, const S& s) { return cases::local_response_of(x[0], s.ints[0], 0.5L, 0.75L, 2); },
      REEL_CALL(reel::local_response_norm(x[0], {.size = i[0], .alpha = 0.5, .k = 2}))));
  t.push_back(row_op<Jet>("l2_normalize", make_unit_vectors, given_dtype, [](X x, const S& s) { return cases::along(x[0], s.ints[0], [](const auto& row) { return cases::unit_vector(row, 1e-12L); }); },
      REEL_CALL(reel::l2_normalize(x[0], {.axes = i[0]}))));
}
// clang-format on

// ints: p, 0 or 1, which draw nothing.
Tensor dropout(const reel::Operand& x, std::int64_t p) {
  reel::Generator generator(1);
  return reel::dropout(x, static_cast<double>(p), generator);
}
Op dropout() {
  return row_op<Jet>(
      "dropout",
      [](Maker& m, S& s) {
        const int x = m.floating(0, 3);
        s.args = {Maker::arg(x)};
        s.ints = {m.below(2)};
        return x >= 0;
      },
      given_dtype, [](X x, const S& s) { return s.ints[0] == 0 ? x[0] : cases::filled<Jet>(x[0].shape, 0); },
      REEL_CALL(dropout(x[0], i[0])), {.weight = 0.5});
}

// ---- First weights, times x. Draws of a layer are those of the same generator, in the range that its fans ask for and
// in x's dtype: float32 and float64 have draws of their own.

struct Initialiser {
  const char* name;
  Tensor (*call)(reel::Generator& generator, const reel::Shape& shape, DType dtype);
  bool normal, by_outputs;
};
constexpr Initialiser initialisers[] = {
    {"glorot_uniform", reel::glorot_uniform, false, true},
    {"glorot_normal", reel::glorot_normal, true, true},
    {"he_uniform", reel::he_uniform, false, false},
    {"he_normal", reel::he_normal, true, false},
};
Tensor in_range(const Initialiser& f, reel::Generator& generator, const reel::Shape& shape, DType dtype) {
  Real inputs = 1, outputs = 1;
  if (shape.rank() > 0) inputs = outputs = static_cast<Real>(shape[0]);
  if (shape.rank() == 2) outputs = static_cast<Real>(shape[1]);
  if (shape.rank() > 2) {  // [filters, channels, kernel...]
    inputs = static_cast<Real>(shape[1]);
    for (int k = 2; k < shape.rank(); ++k)
      inputs *= static_cast<Real>(shape[k]), outputs *= static_cast<Real>(shape[k]);
  }
  const Real variance = f.by_outputs ? 2 / (inputs + outputs) : 2 / inputs;
  const auto width = static_cast<double>(std::sqrt(3 * variance));
  if (!f.normal) return reel::random_uniform(generator, shape, -width, width, dtype);
  // The standard deviation of a normal number between -2 and 2.
  const auto deviation = static_cast<double>(std::sqrt(variance) / 0.87962566103423978L);
  return reel::random_truncated_normal(generator, shape, 0, deviation, dtype);
}
Op times_weights(const Initialiser& f) {
  Op o;
  o.name = f.name;
  o.weight = 0.3;
  o.make = [](Maker& m, Statement& s) {
    const int x = m.floating(m.chance(0.8) ? 2 : 0, 4);
    s.args = {Maker::arg(x)};
    s.ints = {m.below(1000)};
    return x >= 0 && m.at(x).size() > 0;
  };
  o.eval = [&f](const Statement& s, const Inputs& in, Arrays& out) {
    const Array& x = *in[0];
    Array y(x.dtype, x.shape);
    reel::Generator generator(static_cast<std::uint64_t>(s.ints[0]));
    reel::Shape shape;
    for (const std::int64_t extent : x.shape) shape.push_back(extent);
    const std::vector<double> w = reel::cast(in_range(f, generator, shape, x.dtype), DType::float64).to_vector();
    for (std::int64_t i = 0; i < y.size(); ++i) {
      Jet weight(static_cast<Real>(w[static_cast<std::size_t>(i)]));
      weight.e[0] = 4 * Jet::unit;
      y[i].re = x[i].re * weight;
    }
    out.push_back(std::move(y));
  };
  o.call = [&f](const Statement& s, const Operands& a, std::vector<Tensor>& out) {
    reel::Generator generator(static_cast<std::uint64_t>(s.ints[0]));
    const Tensor x = a.tensor(0);
    out.push_back(x * f.call(generator, x.shape(), x.dtype()));
  };
  o.text = [&f](const Statement& s, const Strings& a) {
    return std::string(f.name) + " of its shape by Generator(" + std::to_string(s.ints[0]) + "), times " + a[0];
  };
  return o;
}
// x times an orthogonal matrix and its transpose: x times the square of the gain.
Op orthogonal() {
  Op o;
  o.name = "orthogonal";
  o.make = [](Maker& m, Statement& s) {
    const int x = m.floating(1, 3);
    s.args = {Maker::arg(x)};
    s.ints = {m.below(1000), m.below(3)};
    return x >= 0 && m.at(x).size() > 0;
  };
  o.eval = [](const Statement&, const Inputs& in, Arrays& out) {
    Array y(in[0]->dtype, in[0]->shape);
    const std::int64_t n = y.shape.back();
    for (std::int64_t i = 0; i < y.size(); ++i) {
      y[i].re = (*in[0])[i].re * Jet(2.25L);
      for (int k = 0; k < Jet::count; ++k)  // sums of products with numbers up to 1
        for (std::int64_t j = i / n * n; j < (i / n + 1) * n; ++j) {
          const Jet& x = (*in[0])[j].re;
          y[i].re.e[k] +=
              2.25 * x.e[k] + 60 * static_cast<double>(n) * Jet::unit * static_cast<double>(std::fabs(x.v[k]));
        }
    }
    out.push_back(std::move(y));
  };
  o.call = [](const Statement& s, const Operands& a, std::vector<Tensor>& out) {
    reel::Generator generator(static_cast<std::uint64_t>(s.ints[0]));
    const Tensor x = a.tensor(0);
    const std::int64_t n = x.shape().back();
    const Tensor w = reel::orthogonal(generator, {n, n + s.ints[1]}, 1.5, x.dtype());
    out.push_back(reel::matmul(reel::matmul(x, w), w, {.transpose_b = true}));
  };
  return o;
}

}  // namespace

// clang-format off
void add_networks(std::vector<Op>& t) {
  for (const Initialiser& f : initialisers) t.push_back(times_weights(f));
  t.push_back(orthogonal());
  add_normalization(t);
  t.push_back(dropout());
}
// clang-format on

}  // namespace random_programs
