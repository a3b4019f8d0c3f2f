// Building blocks of neural networks by their definitions: windows, normalisation, losses.
#include <algorithm>
#include <reel/nn.hpp>

#include "../ranged.hpp"

namespace random_programs {

namespace {

using reel::Operand;
using reel::Padding;
using reel::Tensor;
using Strings = std::vector<std::string>;

// ---- Windows. ints: stride 2, padding rule, before and after of rows and columns 4, dilation 2, groups, window 2,
// count_include_padding.
struct Window {
  std::int64_t stride[2], rule, given[4], dilation[2], groups, size[2];
  bool include;
  explicit Window(const Statement& s) {
    for (std::size_t i = 0; i < 2; ++i) stride[i] = s.ints[i], dilation[i] = s.ints[7 + i], size[i] = s.ints[10 + i];
    rule = s.ints[2], groups = s.ints[9], include = s.ints[12] != 0;
    for (std::size_t i = 0; i < 4; ++i) given[i] = s.ints[3 + i];
  }
  /// Rows (0) or columns (1) of padding in front, and results, of an image of n.
  std::pair<std::int64_t, std::int64_t> along(int axis, std::int64_t n) const {
    const std::int64_t reach = (size[axis] - 1) * dilation[axis] + 1;
    if (rule == 1) {
      const std::int64_t out = (n + stride[axis] - 1) / stride[axis];
      const std::int64_t pad = std::max<std::int64_t>(0, (out - 1) * stride[axis] + reach - n);
      return {pad / 2, out};
    }
    const std::int64_t before = rule == 2 ? given[2 * axis] : 0, after = rule == 2 ? given[2 * axis + 1] : 0;
    if (n + before + after < reach) throw Unfit();
    return {before, (n + before + after - reach) / stride[axis] + 1};
  }
  reel::Size2d strides() const { return {stride[0], stride[1]}; }
  reel::Size2d dilations() const { return {dilation[0], dilation[1]}; }
  Padding padding() const {
    if (rule == 2) return {{given[0], given[1]}, {given[2], given[3]}};
    return rule == 1 ? Padding::same : Padding::valid;
  }
};
void random_window(Maker& m, Statement& s, const Extents& image, bool pool) {
  const auto size = [&](std::size_t a) { return m.between(1, std::min<std::int64_t>(image[a], 3)); };
  s.ints = {m.between(1, 2), m.between(1, 2), m.below(3), m.below(2), m.below(2), m.below(2), m.below(2), 1, 1, 1,
            size(2),         size(3),         m.below(2)};
  if (m.chance(0.25)) s.ints[7] = 2, s.ints[10] = std::min<std::int64_t>(2, s.ints[10]);
  if (pool && s.ints[2] == 2)  // no window of padding alone
    for (std::size_t a = 0; a < 2; ++a)
      if (s.ints[10 + a] == 1) s.ints[3 + 2 * a] = s.ints[4 + 2 * a] = 0;
}
int image_of(Maker& m) {
  const int x = m.pick([](const Array& a) { return a.rank() == 4 && is_real_floating(a.dtype) && a.size() > 0; });
  if (x >= 0 && m.chance(0.8)) return x;
  if (m.depth) return -1;
  const Extents shape = {m.between(1, 2), m.between(1, 2), m.between(1, 3), m.between(1, 3)};
  const bool source = m.source_elements + elements(shape) < 16;
  return m.input(source ? Role::source : Role::constant, m.floating_dtype(), shape);
}
/// Calls f(result position, image position or -1, kernel row, kernel column) for every element of every window of one
/// channel plane [h, w].
template <class F>
void windows(const Window& w, std::int64_t h, std::int64_t v, const F& f) {
  const auto [top, rows] = w.along(0, h);
  const auto [left, columns] = w.along(1, v);
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j)
      for (std::int64_t p = 0; p < w.size[0]; ++p)
        for (std::int64_t q = 0; q < w.size[1]; ++q) {
          const std::int64_t y = i * w.stride[0] + p * w.dilation[0] - top,
                             x = j * w.stride[1] + q * w.dilation[1] - left;
          f(i * columns + j, y >= 0 && y < h && x >= 0 && x < v ? y * v + x : -1, p, q);
        }
}
std::string window_text(const Statement& s, const std::string& rest) {
  const Window w(s);
  const auto pair = [](const std::int64_t* p) {
    return "{" + std::to_string(p[0]) + ", " + std::to_string(p[1]) + "}";
  };
  const std::string padding = w.rule == 0   ? "Padding::valid"
                              : w.rule == 1 ? "Padding::same"
                                            : "Padding(" + pair(w.given) + ", " + pair(w.given + 2) + ")";
  return "{.stride = " + pair(w.stride) + ", .padding = " + padding + rest + "}";
}

void add_convolution(std::vector<Op>& t) {
  Op o;
  o.name = "conv2d";
  o.weight = 2;
  o.make = [](Maker& m, Statement& s) {
    const int x = image_of(m);
    if (x < 0) return false;
    const Extents image = m.at(x).shape;
    random_window(m, s, image, false);
    if (m.chance(0.3)) s.ints[9] = image[1];
    const std::int64_t groups = s.ints[9];
    const int w = value_like(m, {groups * m.between(1, 2), image[1] / groups, s.ints[10], s.ints[11]}, m.at(x).dtype);
    s.args = {Maker::arg(x), Maker::arg(w)};
    return w >= 0;
  };
  o.eval = [](const Statement& s, const Inputs& in, Arrays& out) {
    const Array &x = *in[0], &k = *in[1];
    const Window w(s);
    const std::int64_t h = x.shape[2], v = x.shape[3], channels = x.shape[1], filters = k.shape[0], part = k.shape[1];
    const DType d = given_dtype(in);
    Array y(d, {x.shape[0], filters, w.along(0, h).second, w.along(1, v).second});
    const std::int64_t plane = y.shape[2] * y.shape[3];
    for (std::int64_t n = 0; n < x.shape[0]; ++n)
      for (std::int64_t f = 0; f < filters; ++f)
        for (std::int64_t c = 0; c < part; ++c) {
          const std::int64_t channel = f / (filters / w.groups) * part + c;
          windows(w, h, v, [&](std::int64_t to, std::int64_t from, std::int64_t p, std::int64_t q) {
            if (from >= 0)
              y[(n * filters + f) * plane + to] +=
                  x[(n * channels + channel) * h * v + from] * k[((f * part + c) * w.size[0] + p) * w.size[1] + q];
          });
        }
    out.push_back(std::move(y));
  };
  o.call = [](const Statement& s, const Operands& a, std::vector<Tensor>& out) {
    const Window w(s);
    out.push_back(reel::conv2d(a[0], a[1], {w.strides(), w.padding(), w.dilations(), w.groups}));
  };
  o.text = [](const Statement& s, const Strings& a) {
    return "conv2d(" + a[0] + ", " + a[1] + ", " +
           window_text(s, ", .dilation = {" + std::to_string(s.ints[7]) + ", " + std::to_string(s.ints[8]) +
                              "}, .groups = " + std::to_string(s.ints[9])) +
           ")";
  };
  t.push_back(o);

  // The transpose: ints[13], ints[14] are the size of the result, whose convolution has the operand's size.
  o.name = "conv2d_transpose";
  o.make = [](Maker& m, Statement& s) {
    const Extents image = {m.between(1, 2), m.between(1, 2), m.between(1, 3), m.between(1, 3)};
    random_window(m, s, image, false);
    if (m.chance(0.3)) s.ints[9] = image[1];
    const std::int64_t groups = s.ints[9], filters = groups * m.between(1, 2);
    const Window w(s);
    const DType d = m.floating_dtype();
    const int x = value_like(m, {image[0], filters, w.along(0, image[2]).second, w.along(1, image[3]).second}, d);
    const int k = value_like(m, {filters, image[1] / groups, s.ints[10], s.ints[11]}, d);
    s.ints.push_back(image[2]), s.ints.push_back(image[3]);
    s.args = {Maker::arg(x), Maker::arg(k)};
    return x >= 0 && k >= 0;
  };
  o.eval = [](const Statement& s, const Inputs& in, Arrays& out) {
    const Array &x = *in[0], &k = *in[1];
    const Window w(s);
    const std::int64_t h = s.ints[13], v = s.ints[14], filters = k.shape[0], part = k.shape[1],
                       channels = part * w.groups;
    if (w.along(0, h).second != x.shape[2] || w.along(1, v).second != x.shape[3]) throw Unfit();
    Array y(given_dtype(in), {x.shape[0], channels, h, v});
    const std::int64_t plane = x.shape[2] * x.shape[3];
    for (std::int64_t n = 0; n < x.shape[0]; ++n)
      for (std::int64_t f = 0; f < filters; ++f)
        for (std::int64_t c = 0; c < part; ++c) {
          const std::int64_t channel = f / (filters / w.groups) * part + c;
          windows(w, h, v, [&](std::int64_t to, std::int64_t from, std::int64_t p, std::int64_t q) {
            if (from >= 0)
              y[(n * channels + channel) * h * v + from] +=
                  x[(n * filters + f) * plane + to] * k[((f * part + c) * w.size[0] + p) * w.size[1] + q];
          });
        }
    out.push_back(std::move(y));
  };
  o.call = [](const Statement& s, const Operands& a, std::vector<Tensor>& out) {
    const Window w(s);
    out.push_back(reel::conv2d_transpose(
        a[0], a[1], {w.strides(), w.padding(), w.dilations(), w.groups, {s.ints[13], s.ints[14]}}));
  };
  o.text = [](const Statement& s, const Strings& a) {
    return "conv2d_transpose(" + a[0] + ", " + a[1] + ", " +
           window_text(s, ", .dilation = {" + std::to_string(s.ints[7]) + ", " + std::to_string(s.ints[8]) +
                              "}, .groups = " + std::to_string(s.ints[9]) + ", .size = {" + std::to_string(s.ints[13]) +
                              ", " + std::to_string(s.ints[14]) + "}") +
           ")";
  };
  t.push_back(std::move(o));
}

void add_pools(std::vector<Op>& t) {
  for (const bool largest : {true, false}) {
    Op o;
    o.name = largest ? "max_pool2d" : "avg_pool2d";
    o.weight = 1.5;
    o.make = [largest](Maker& m, Statement& s) {
      const int x = image_of(m);
      if (x < 0) return false;
      random_window(m, s, m.at(x).shape, true);
      if (!largest) s.ints[7] = 1;
      s.args = {Maker::arg(x)};
      return true;
    };
    o.eval = [largest](const Statement& s, const Inputs& in, Arrays& out) {
      const Array& x = *in[0];
      const Window w(s);
      const std::int64_t h = x.shape[2], v = x.shape[3];
      Array y(given_dtype(in), {x.shape[0], x.shape[1], w.along(0, h).second, w.along(1, v).second});
      const std::int64_t plane = y.shape[2] * y.shape[3];
      std::vector<std::int64_t> count(at(y.size()));
      for (std::int64_t n = 0; n < x.shape[0] * x.shape[1]; ++n)
        windows(w, h, v, [&](std::int64_t to, std::int64_t from, std::int64_t, std::int64_t) {
          Num& r = y[n * plane + to];
          std::int64_t& c = count[at(n * plane + to)];
          if (from >= 0) {
            const Num& e = x[n * h * v + from];
            if (!largest)
              r += e;
            else if (c == 0 || less(r.re, e.re))  // the first of equal ones
              r = e;
          }
          c += from >= 0;
        });
      for (std::int64_t i = 0; i < y.size(); ++i) {
        if (largest && count[at(i)] == 0) throw Unfit();
        const std::int64_t n = w.include ? w.size[0] * w.size[1] : count[at(i)];
        if (!largest) y[i] = n == 0 ? Num(0) : Num(rounded(y[i].re / Jet(static_cast<Real>(n)), 2));
      }
      out.push_back(std::move(y));
    };
    o.call = [largest](const Statement& s, const Operands& a, std::vector<Tensor>& out) {
      const Window w(s);
      const reel::Size2d window = {w.size[0], w.size[1]};
      out.push_back(largest ? reel::max_pool2d(a[0], window, {w.strides(), w.padding(), w.dilations()})
                            : reel::avg_pool2d(a[0], window, {w.strides(), w.padding(), w.include}));
    };
    o.text = [largest](const Statement& s, const Strings& a) {
      const Window w(s);
      return std::string(largest ? "max" : "avg") + "_pool2d(" + a[0] + ", {" + std::to_string(w.size[0]) + ", " +
             std::to_string(w.size[1]) + "}, " +
             window_text(s, largest ? ", .dilation = {" + std::to_string(w.dilation[0]) + ", " +
                                          std::to_string(w.dilation[1]) + "}"
                                    : std::string(", .count_include_padding = ") + (w.include ? "true" : "false")) +
             ")";
    };
    t.push_back(std::move(o));
  }
}

// ---- Normalisation. ints: axes; reals: epsilon.

/// Positions in groups that are normalised together, each in the order of the axes' extents.
std::vector<std::vector<std::int64_t>> groups_of(const Array& x, const std::vector<bool>& together) {
  std::vector<std::vector<std::int64_t>> groups;
  std::vector<Extents> keys;
  for (std::int64_t i = 0; i < x.size(); ++i) {
    Extents k = indices_of(x.shape, i);
    for (std::size_t a = 0; a < k.size(); ++a)
      if (together[a]) k[a] = 0;
    const auto group = static_cast<std::size_t>(std::find(keys.begin(), keys.end(), k) - keys.begin());
    if (group == keys.size()) keys.push_back(k), groups.emplace_back();
    groups[group].push_back(i);
  }
  return groups;
}
Jet reciprocal_root(const Jet& x) { return chain(x, pow(Series::variable(x.v[0]), -0.5L), 8); }
/// (x - mean) / sqrt(variance + epsilon) of a group, or without the mean.
std::vector<Jet> normalised(const Array& x, const std::vector<std::int64_t>& group, double epsilon, bool centred,
                            Jet* mean_out = nullptr, Jet* variance_out = nullptr) {
  const Jet n(static_cast<Real>(group.size()));
  Jet mean, square;
  if (centred) {
    for (const auto i : group) mean += x[i].re;
    mean = rounded(mean / n, 2);
  }
  std::vector<Jet> d;
  for (const auto i : group) {
    d.push_back(x[i].re - mean);
    square += d.back() * d.back();
  }
  square = square / n;
  if (square.v[0] + epsilon < 0.02L) throw Unfit();
  const Jet r = reciprocal_root(square + Jet(epsilon));
  for (Jet& e : d) e = rounded(e * r, 4);
  if (mean_out) *mean_out = mean.value(), *variance_out = square.value();
  return d;
}
std::vector<bool> marked(const Extents& axes, int rank) {
  std::vector<bool> r(at(rank));
  for (const auto a : axes) r[at(a < 0 ? a + rank : a)] = true;
  return r;
}

void add_normalisation(std::vector<Op>& t) {
  for (const std::string name : {"layer_norm", "rms_norm"}) {
    Op o;
    o.name = name;
    o.weight = 1.5;
    o.make = [name](Maker& m, Statement& s) {
      const int x = m.floating(1, 4);
      if (x < 0 || m.at(x).size() == 0) return false;
      const Extents shape = m.at(x).shape;
      const int rank = static_cast<int>(shape.size());
      Extents part;
      for (int a = 0; a < rank; ++a)
        if (m.chance(a == rank - 1 ? 0.9 : 0.3))
          s.ints.push_back(m.chance(0.4) ? a - rank : a), part.push_back(shape[at(a)]);
      if (s.ints.empty()) return false;
      s.reals = {m.chance(0.5) ? 1e-5 : 0.125};
      s.args = {Maker::arg(x)};
      if (name == "layer_norm" && m.chance(0.3)) return true;
      const DType d = m.at(x).dtype;
      for (int k = 0; k < (name == "layer_norm" ? 2 : 1); ++k) {
        const int v = value_like(m, part, d);
        if (v < 0) return false;
        s.args.push_back(Maker::arg(v));
      }
      return true;
    };
    o.eval = [name](const Statement& s, const Inputs& in, Arrays& out) {
      const Array& x = *in[0];
      Array y(given_dtype(in), x.shape);
      for (const auto& group : groups_of(x, marked(s.ints, x.rank()))) {
        const std::vector<Jet> z = normalised(x, group, s.reals[0], name == "layer_norm");
        for (std::size_t k = 0; k < group.size(); ++k) {
          Jet r = z[k];
          if (in.size() > 1) r = r * in[1]->data[k].re;
          if (in.size() > 2) r = r + in[2]->data[k].re;
          y[group[k]] = Num(r);
        }
      }
      out.push_back(std::move(y));
    };
    o.call = [name](const Statement& s, const Operands& a, std::vector<Tensor>& out) {
      const reel::LayerNormOptions options{reel::Axes(s.ints), s.reals[0]};
      if (name == "rms_norm")
        out.push_back(reel::rms_norm(a[0], a[1], options));
      else
        out.push_back(a.size() == 1 ? reel::layer_norm(a[0], options) : reel::layer_norm(a[0], a[1], a[2], options));
    };
    o.text = [name](const Statement& s, const Strings& a) {
      std::string r = name + "(";
      for (const auto& v : a) r += v + ", ";
      return r + "{" + braces(s.ints) + ", " + std::to_string(s.reals[0]) + "})";
    };
    t.push_back(std::move(o));
  }

  // args: x, scale, offset, and of inference mean, variance. ints: axis.
  Op o;
  o.name = "batch_norm";
  o.weight = 2;
  o.make = [](Maker& m, Statement& s) {
    const int x = m.floating(2, 4);
    if (x < 0 || m.at(x).size() == 0 || m.at(x).dtype < DType::float32) return false;
    const int axis = m.below(m.at(x).rank());
    const DType d = m.at(x).dtype;
    const Extents channels = {m.at(x).shape[at(axis)]};
    s.ints = {m.chance(0.3) ? axis - m.at(x).rank() : axis};
    s.reals = {0.125};
    s.args = {Maker::arg(x)};
    const bool inference = m.chance(0.4);
    for (int k = 0; k < (inference ? 4 : 2); ++k) {
      int v = value_like(m, channels, d);
      if (k == 3 && v >= 0) v = m.within(v, 0.1, 10);
      if (v < 0) return false;
      s.args.push_back(Maker::arg(v));
    }
    return true;
  };
  o.eval = [](const Statement& s, const Inputs& in, Arrays& out) {
    const Array& x = *in[0];
    const DType d = given_dtype(in);
    std::vector<bool> together(at(x.rank()), true);
    together[at(s.ints[0] < 0 ? s.ints[0] + x.rank() : s.ints[0])] = false;
    Array y(d, x.shape), mean(d, {in[1]->size()}), variance = mean;
    const auto groups = groups_of(x, together);
    for (std::size_t c = 0; c < groups.size(); ++c) {
      std::vector<Jet> z;
      if (in.size() == 3) {
        z = normalised(x, groups[c], s.reals[0], true, &mean.data[c].re, &variance.data[c].re);
      } else {
        const Jet r = reciprocal_root(in[4]->data[c].re + Jet(s.reals[0]));
        for (const auto i : groups[c]) z.push_back(rounded((x[i].re - in[3]->data[c].re) * r, 4));
      }
      for (std::size_t k = 0; k < z.size(); ++k) y[groups[c][k]] = Num(z[k] * in[1]->data[c].re + in[2]->data[c].re);
    }
    out.push_back(std::move(y));
    if (in.size() == 3) out.push_back(std::move(mean)), out.push_back(std::move(variance));
  };
  o.call = [](const Statement& s, const Operands& a, std::vector<Tensor>& out) {
    const reel::BatchNormOptions options{s.ints[0], s.reals[0]};
    if (a.size() == 5) return out.push_back(reel::batch_norm(a[0], a[1], a[2], a[3], a[4], options));
    const reel::BatchNorm r = reel::batch_norm(a[0], a[1], a[2], options);
    out = {r.y, r.mean, r.variance};
  };
  o.text = [](const Statement& s, const Strings& a) {
    std::string r = "batch_norm(";
    for (const auto& v : a) r += v + ", ";
    return r + "{" + std::to_string(s.ints[0]) + ", " + std::to_string(s.reals[0]) + "})";
  };
  t.push_back(std::move(o));
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

void add_networks(std::vector<Op>& t) {
  for (const Initialiser& f : initialisers) t.push_back(times_weights(f));
  t.push_back(orthogonal());
  add_convolution(t);
  add_pools(t);
  add_normalisation(t);
}

}  // namespace random_programs
