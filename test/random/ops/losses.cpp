// Losses by their definitions.
#include <algorithm>

#include "../program.hpp"
#include "../ranged.hpp"

namespace random_programs {

namespace {

using reel::Operand;
using reel::Tensor;
using Strings = std::vector<std::string>;

/// log_softmax along an axis: f(positions of a line, its log_softmax, number of the line).
template <class F>
void lines(const Array& x, std::int64_t axis, const F& f) {
  const std::size_t a = static_cast<std::size_t>(axis < 0 ? axis + x.rank() : axis);
  std::int64_t line = 0;
  Extents rest = x.shape;
  rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(a));
  for (std::int64_t r = 0; r < elements(rest); ++r, ++line) {
    Extents k = indices_of(rest, r);
    k.insert(k.begin() + static_cast<std::ptrdiff_t>(a), 0);
    std::vector<std::int64_t> places;
    std::vector<Jet> z;
    Jet sum;
    for (k[a] = 0; k[a] < x.shape[a]; ++k[a]) {
      places.push_back(position_of(x.shape, k));
      z.push_back(x[places.back()].re);
      sum += exp(z.back());
    }
    const Jet total = log(sum);
    for (Jet& e : z) e = rounded(e - total, 8);
    f(places, z, line);
  }
}
Extents without(Extents shape, std::int64_t axis) {
  shape.erase(shape.begin() + (axis < 0 ? axis + static_cast<std::int64_t>(shape.size()) : axis));
  return shape;
}

// ints: axis; reals: label_smoothing.
void add_cross_entropies(std::vector<Op>& t) {
  Op o;
  o.name = "softmax_cross_entropy";
  o.weight = 1.5;
  o.make = [](Maker& m, Statement& s) {
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
  };
  o.eval = [](const Statement& s, const Inputs& in, Arrays& out) {
    const Array &x = *in[0], &labels = *in[1];
    if (x.shape != labels.shape) throw Unfit();
    Array y(given_dtype(in), without(x.shape, s.ints[0]));
    lines(x, s.ints[0], [&](const std::vector<std::int64_t>& places, const std::vector<Jet>& z, std::int64_t line) {
      Jet sum;
      const Jet share(s.reals[0] / static_cast<double>(places.size()));
      for (std::size_t k = 0; k < places.size(); ++k)
        sum += (Jet(1 - s.reals[0]) * labels[places[k]].re + share) * z[k];
      y[line] = Num(-sum);
    });
    out.push_back(std::move(y));
  };
  o.call = [](const Statement& s, const Operands& a, std::vector<Tensor>& out) {
    out.push_back(reel::softmax_cross_entropy(a[0], a[1], {s.ints[0], s.reals[0]}));
  };
  o.text = [](const Statement& s, const Strings& a) {
    return "softmax_cross_entropy(" + a[0] + ", " + a[1] + ", {" + std::to_string(s.ints[0]) + ", " +
           std::to_string(s.reals[0]) + "})";
  };
  t.push_back(o);

  // ints: axis, whether label 0 is ignored.
  o.name = "sparse_softmax_cross_entropy";
  o.make = [](Maker& m, Statement& s) {
    const int x = m.floating(1, 3);
    if (x < 0 || m.at(x).size() == 0) return false;
    const Extents shape = m.at(x).shape;
    const int axis = m.below(static_cast<int>(shape.size()));
    const int labels = m.integers(without(shape, axis), 0, shape[static_cast<std::size_t>(axis)] - 1);
    if (labels < 0 || !reel::is_integer(m.at(labels).dtype)) return false;
    s.ints = {axis, m.chance(0.3)};
    s.args = {Maker::arg(x), Maker::arg(labels)};
    return true;
  };
  o.eval = [](const Statement& s, const Inputs& in, Arrays& out) {
    const Array &x = *in[0], &labels = *in[1];
    Array y(given_dtype({in[0]}), without(x.shape, s.ints[0]));
    lines(x, s.ints[0], [&](const std::vector<std::int64_t>&, const std::vector<Jet>& z, std::int64_t line) {
      const auto label = static_cast<std::size_t>(labels[line].re.v[0]);
      y[line] = s.ints[1] && label == 0 ? Num(0) : Num(-z[label]);
    });
    out.push_back(std::move(y));
  };
  o.call = [](const Statement& s, const Operands& a, std::vector<Tensor>& out) {
    out.push_back(reel::sparse_softmax_cross_entropy(a[0], a[1], {s.ints[0], s.ints[1] ? 0 : INT64_MIN}));
  };
  o.text = [](const Statement& s, const Strings& a) {
    return "sparse_softmax_cross_entropy(" + a[0] + ", " + a[1] + ", {" + std::to_string(s.ints[0]) +
           (s.ints[1] ? ", 0" : "") + "})";
  };
  t.push_back(std::move(o));
}

using Binary = Tensor (*)(const Operand&, const Operand&, double);
void add_elementwise_loss(std::vector<Op>& t, const char* name, double low, double high, double low2, double high2,
                          Binary call, Jet (*f)(const Jet&, const Jet&, double)) {
  Op o;
  o.name = name;
  o.make = [=](Maker& m, Statement& s) {
    int x = m.floating();
    if (x < 0) return false;
    Arg y = m.beside(x, false);
    x = m.within(x, low, high);
    if (x >= 0) y.index = m.within(y.index, low2, high2);
    s.args = {Maker::arg(x), y};
    s.reals = {0.5 * static_cast<double>(m.between(1, 3))};
    return x >= 0 && y.index >= 0;
  };
  o.eval = [f](const Statement& s, const Inputs& in, Arrays& out) {
    const Array &x = *in[0], &y = *in[1];
    Array z(given_dtype(in), broadcast_shapes(x.shape, y.shape));
    for (std::int64_t i = 0; i < z.size(); ++i)
      z[i] = Num(f(x[broadcast_index(x.shape, z.shape, i)].re, y[broadcast_index(y.shape, z.shape, i)].re, s.reals[0]));
    out.push_back(std::move(z));
  };
  o.call = [call](const Statement& s, const Operands& a, std::vector<Tensor>& out) {
    out.push_back(call(a[0], a[1], s.reals[0]));
  };
  const bool delta = std::string(name) == "huber";
  o.text = [name, delta](const Statement& s, const Strings& a) {
    return name + ("(" + a[0]) + ", " + a[1] + (delta ? ", " + std::to_string(s.reals[0]) : "") + ")";
  };
  t.push_back(std::move(o));
}

}  // namespace

void add_losses(std::vector<Op>& t) {
  add_cross_entropies(t);
  add_elementwise_loss(
      t, "binary_cross_entropy", 0.05, 0.95, 0, 1,
      [](const Operand& p, const Operand& l, double) { return reel::binary_cross_entropy(p, l); },
      [](const Jet& p, const Jet& l, double) {
        if (p.v[0] < 0.01L || p.v[0] > 0.99L) throw Unfit();
        return -(l * log(p)) - (Jet(1) - l) * log(Jet(1) - p);
      });
  add_elementwise_loss(
      t, "kl_divergence", 0.1, 5, 0.1, 5,
      [](const Operand& x, const Operand& p, double) { return reel::kl_divergence(x, p); },
      [](const Jet& x, const Jet& p, double) {
        if (x.v[0] < 0.05L || p.v[0] < 0.05L) throw Unfit();
        return rounded(x * (log(x) - log(p)), 4);
      });
  add_elementwise_loss(
      t, "huber", -60, 60, -60, 60,
      [](const Operand& x, const Operand& y, double delta) { return reel::huber(x, y, delta); },
      [](const Jet& x, const Jet& y, double delta) {
        const Jet d = x - y, size = absolute(d);
        return less(Jet(delta), size) ? Jet(delta) * (size - Jet(delta / 2)) : Jet(0.5L) * d * d;
      });
}

}  // namespace random_programs
