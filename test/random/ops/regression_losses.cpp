// The losses of <reel/nn/losses.hpp> by their definitions.
#include <reel/nn/losses.hpp>

#include "../ranged.hpp"

namespace random_programs {

namespace {

using reel::Tensor;
using Jets = const Jet*;
using Strings = std::vector<std::string>;
using Line = std::vector<Jet>;

const Real pi = std::acos(-1.0L);

Jet positive_part(const Jet& x) { return less(Jet(0), x) ? x : Jet(0); }
Jet sigmoid_of(const Jet& x) { return 1 / (1 + exp(-x)); }
Jet weighted(const Jet& x, const Jet& label, const Jet& weight) {
  return -(weight * label * log(sigmoid_of(x)) + (1 - label) * log(sigmoid_of(-x)));
}
Jet focal(const Jet& x, const Jet& label) {
  const Jet p = sigmoid_of(x), missed = p * (1 - label) + (1 - p) * label;
  return (0.25L * label + 0.75L * (1 - label)) * weighted(x, label, 1) * missed * missed;
}
Jet stirling(const Jet& t) { return less(Jet(1), t) ? t * log(t) - t + 0.5L * log(2 * pi * t) : Jet(0); }
Jet gaussian(Jets x) {
  const Jet d = x[0] - x[1];
  return 0.5L * (log(x[2]) + d * d / x[2]);
}

// Elementwise, with the default options and, of Poisson's, the others.
// clang-format off
std::vector<RangedFunction> elementwise_losses() {
  const OperandRange any{-60, 60}, logit{-4, 4}, label{0, 1}, positive{0.3, 5};
  return {
      {"mse", {any, any}, [](Jets x) { return (x[0] - x[1]) * (x[0] - x[1]); }, [](const Operands& x) { return reel::mse(x[0], x[1]); }},
      {"mae", {any, any}, [](Jets x) { return absolute(x[0] - x[1]); }, [](const Operands& x) { return reel::mae(x[0], x[1]); }},
      {"log_cosh", {logit, logit}, [](Jets x) { return log(cosh(x[0] - x[1])); }, [](const Operands& x) { return reel::log_cosh(x[0], x[1]); }},
      {"poisson_nll", {logit, any}, [](Jets x) { return exp(x[0]) - x[1] * x[0]; }, [](const Operands& x) { return reel::poisson_nll(x[0], x[1]); }},
      {"poisson_nll", {positive, positive}, [](Jets x) { return x[0] - x[1] * log(x[0] + 1e-8L) + stirling(x[1]); },
       [](const Operands& x) { return reel::poisson_nll(x[0], x[1], {.log_input = false, .full = true}); }},
      {"gaussian_nll", {any, any, positive}, gaussian, [](const Operands& x) { return reel::gaussian_nll(x[0], x[1], x[2]); }},
      {"weighted_sigmoid_cross_entropy", {logit, label, positive}, [](Jets x) { return weighted(x[0], x[1], x[2]); },
       [](const Operands& x) { return reel::weighted_sigmoid_cross_entropy(x[0], x[1], x[2]); }},
      {"focal_cross_entropy", {logit, label}, [](Jets x) { return focal(x[0], x[1]); }, [](const Operands& x) { return reel::focal_cross_entropy(x[0], x[1]); }},
      {"hinge", {any, any}, [](Jets x) { return positive_part(1 - x[1] * x[0]); }, [](const Operands& x) { return reel::hinge(x[0], x[1]); }},
      {"hinge_embedding", {any, any}, [](Jets x) { return less(Jet(0), x[1]) ? x[0] : positive_part(1 - x[0]); },
       [](const Operands& x) { return reel::hinge_embedding(x[0], x[1]); }},
      {"soft_margin", {logit, logit}, [](Jets x) { return log(1 + exp(-(x[0] * x[1]))); }, [](const Operands& x) { return reel::soft_margin(x[0], x[1]); }},
      {"margin_ranking", {any, any, any}, [](Jets x) { return positive_part(-(x[2] * (x[0] - x[1]))); },
       [](const Operands& x) { return reel::margin_ranking(x[0], x[1], x[2]); }},
  };
}
// clang-format on

// ---- Per example

/// Of arrays that broadcast, f(lines along the axis, number of the line) at each other position.
template <class F>
Array by_lines(DType dtype, const Inputs& in, std::int64_t axis, const F& f) {
  Extents shape = in[0]->shape;
  for (const auto* x : in) shape = broadcast_shapes(shape, x->shape);
  const auto a = static_cast<std::ptrdiff_t>(axis < 0 ? axis + static_cast<std::int64_t>(shape.size()) : axis);
  const std::int64_t length = shape[static_cast<std::size_t>(a)];
  Extents rest = shape;
  rest.erase(rest.begin() + a);
  Array z(dtype, rest);
  for (std::int64_t r = 0; r < z.size(); ++r) {
    std::vector<Line> lines(in.size());
    Extents k = indices_of(rest, r);
    k.insert(k.begin() + a, 0);
    for (auto& i = k[static_cast<std::size_t>(a)]; i < length; ++i)
      for (std::size_t n = 0; n < in.size(); ++n)
        lines[n].push_back((*in[n])[broadcast_index(in[n]->shape, shape, position_of(shape, k))].re);
    z[r] = f(lines, r);
  }
  return z;
}

// A tensor and labels of its classes. ints: the axis.
bool make_classified(Maker& m, Statement& s) {
  const int x = m.floating(1, 3);
  if (x < 0 || m.at(x).size() == 0) return false;
  Extents rest = m.at(x).shape;
  const int axis = m.below(static_cast<int>(rest.size()));
  const std::int64_t classes = rest[static_cast<std::size_t>(axis)];
  rest.erase(rest.begin() + axis);
  const int labels = m.integers(rest, 0, classes - 1);
  if (labels < 0 || !reel::is_integer(m.at(labels).dtype)) return false;
  s.ints = {m.chance(0.5) ? axis : axis - m.at(x).rank()};
  s.args = {Maker::arg(x), Maker::arg(labels)};
  return true;
}
std::size_t label_of(const Array& labels, std::int64_t line) { return static_cast<std::size_t>(labels[line].re.v[0]); }

// ints: axis, whether label 0 is ignored.
Op nll() {
  Op o;
  o.name = "nll";
  o.make = [](Maker& m, Statement& s) {
    if (!make_classified(m, s)) return false;
    s.ints.push_back(m.chance(0.3));
    return true;
  };
  o.eval = [](const Statement& s, const Inputs& in, Arrays& out) {
    out.push_back(by_lines(given_dtype({in[0]}), {in[0]}, s.ints[0], [&](const auto& lines, std::int64_t line) {
      const std::size_t label = label_of(*in[1], line);
      return s.ints[1] && label == 0 ? Jet(0) : -lines[0][label];
    }));
  };
  o.call = [](const Statement& s, const Operands& a, std::vector<Tensor>& out) {
    out.push_back(reel::nll(a[0], a[1], {s.ints[0], s.ints[1] ? 0 : INT64_MIN}));
  };
  o.text = [](const Statement& s, const Strings& a) {
    return "nll(" + a[0] + ", " + a[1] + ", {" + std::to_string(s.ints[0]) + (s.ints[1] ? ", 0" : "") + "})";
  };
  return o;
}

// ints: axis, p; reals: margin.
Op multi_margin() {
  Op o;
  o.name = "multi_margin";
  o.make = [](Maker& m, Statement& s) {
    if (!make_classified(m, s)) return false;
    s.ints.push_back(m.between(1, 2));
    s.reals = {0.5 * static_cast<double>(m.between(0, 3))};
    return true;
  };
  o.eval = [](const Statement& s, const Inputs& in, Arrays& out) {
    out.push_back(by_lines(given_dtype({in[0]}), {in[0]}, s.ints[0], [&](const auto& lines, std::int64_t line) {
      const Line& x = lines[0];
      const std::size_t label = label_of(*in[1], line);
      Jet sum;
      for (std::size_t j = 0; j < x.size(); ++j) {
        if (j == label) continue;
        const Jet h = positive_part(s.reals[0] - x[label] + x[j]);
        sum += s.ints[1] == 1 ? h : h * h;
      }
      return sum / static_cast<Real>(x.size());
    }));
  };
  o.call = [](const Statement& s, const Operands& a, std::vector<Tensor>& out) {
    out.push_back(reel::multi_margin(a[0], a[1], {s.ints[0], static_cast<int>(s.ints[1]), s.reals[0]}));
  };
  o.text = [](const Statement& s, const Strings& a) {
    return "multi_margin(" + a[0] + ", " + a[1] + ", {" + std::to_string(s.ints[0]) + ", " + std::to_string(s.ints[1]) +
           ", " + std::to_string(s.reals[0]) + "})";
  };
  return o;
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
std::string with_axis(const char* name, const Statement& s, const Strings& a, const std::string& behind) {
  std::string all = name + ("(" + a[0]);
  for (std::size_t k = 1; k < a.size(); ++k) all += ", " + a[k];
  return all + ", " + behind.substr(0, behind.find('@')) + std::to_string(s.ints[0]) +
         behind.substr(behind.find('@') + 1) + ")";
}

Op cosine_similarity() {
  Op o;
  o.name = "cosine_similarity";
  o.make = [](Maker& m, Statement& s) { return make_vectors(m, s, 2); };
  o.eval = [](const Statement& s, const Inputs& in, Arrays& out) {
    out.push_back(by_lines(given_dtype(in), in, s.ints[0], [](const auto& lines, std::int64_t) {
      Jet xy, xx, yy;
      for (std::size_t k = 0; k < lines[0].size(); ++k) {
        xy += lines[0][k] * lines[1][k];
        xx += lines[0][k] * lines[0][k];
        yy += lines[1][k] * lines[1][k];
      }
      if (!less(Jet(0), xx) || !less(Jet(0), yy)) return Jet(0);
      return rounded(xy / (sqrt(xx) * sqrt(yy)), 8);
    }));
  };
  o.call = [](const Statement& s, const Operands& a, std::vector<Tensor>& out) {
    out.push_back(reel::cosine_similarity(a[0], a[1], s.ints[0]));
  };
  o.text = [](const Statement& s, const Strings& a) { return with_axis("cosine_similarity", s, a, "@"); };
  return o;
}

// ints: axis, whether swapped; reals: p.
Op triplet_margin() {
  Op o;
  o.name = "triplet_margin";
  o.make = [](Maker& m, Statement& s) {
    s.reals = {static_cast<double>(m.between(1, 3))};
    if (!make_vectors(m, s, 3)) return false;
    s.ints.push_back(m.chance(0.5));
    return true;
  };
  o.eval = [](const Statement& s, const Inputs& in, Arrays& out) {
    const auto distance = [&](const Line& x, const Line& y) {
      Jet sum;
      for (std::size_t k = 0; k < x.size(); ++k) {
        const Jet d = absolute(x[k] - y[k] + 1e-6L);
        sum += s.reals[0] == 1 ? d : s.reals[0] == 2 ? d * d : d * d * d;
      }
      if (sum.v[0] < 1e-3L) throw Unfit();  // differences of the size of epsilon
      return s.reals[0] == 1 ? sum : s.reals[0] == 2 ? sqrt(sum) : exp(log(sum) / 3);
    };
    out.push_back(by_lines(given_dtype(in), in, s.ints[0], [&](const auto& lines, std::int64_t) {
      const Jet near = distance(lines[0], lines[1]);
      Jet far = distance(lines[0], lines[2]);
      if (s.ints[1]) {
        const Jet other = distance(lines[1], lines[2]);
        if (!less(far, other)) {
          if (!less(other, far)) throw Unfit();  // which of two equal distances a gradient goes to
          far = other;
        }
      }
      return rounded(positive_part(near - far + 1), 8);
    }));
  };
  o.call = [](const Statement& s, const Operands& a, std::vector<Tensor>& out) {
    out.push_back(reel::triplet_margin(a[0], a[1], a[2], {.axis = s.ints[0], .p = s.reals[0], .swap = s.ints[1] != 0}));
  };
  o.text = [](const Statement& s, const Strings& a) {
    return with_axis("triplet_margin", s, a,
                     "{.axis = @, .p = " + std::to_string(s.reals[0]) + (s.ints[1] ? ", .swap = true}" : "}"));
  };
  return o;
}

Op l2_loss() {
  Op o;
  o.name = "l2_loss";
  o.make = [](Maker& m, Statement& s) {
    const int x = m.floating();
    s.args = {Maker::arg(x)};
    return x >= 0;
  };
  o.eval = [](const Statement&, const Inputs& in, Arrays& out) {
    Array z(given_dtype(in), {});
    Jet sum;
    for (const Num& n : in[0]->data) sum += n.re * n.re;
    z[0] = Num(rounded(sum / 2, 4));
    out.push_back(std::move(z));
  };
  o.call = [](const Statement&, const Operands& a, std::vector<Tensor>& out) { out.push_back(reel::l2_loss(a[0])); };
  return o;
}

}  // namespace

void add_regression_losses(std::vector<Op>& t) {
  static const std::vector<RangedFunction> elementwise = elementwise_losses();
  for (const RangedFunction& f : elementwise) add_ranged(t, f);
  for (const Op& o : {nll(), multi_margin(), cosine_similarity(), triplet_margin(), l2_loss()}) t.push_back(o);
}

}  // namespace random_programs
