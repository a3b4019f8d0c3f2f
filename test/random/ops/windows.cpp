// Borders, windows and blocks, morphology and pooling at random places, by the rule that says where an element of the
// operand goes to, or comes from.
#include <algorithm>
#include <reel/nn.hpp>
#include <reel/ops/windows.hpp>

#include "../ranged.hpp"

namespace random_programs {

namespace {

using reel::Operand;
using reel::Shape;
using reel::Tensor;
using Ints = std::vector<std::int64_t>;
using Strings = std::vector<std::string>;

struct WindowOp {
  const char* name;
  int rank;  // the least that the operand has
  // Shapes of which an operand is made where none fits.
  Extents (*fresh)(Maker& m);
  // Chooses ints; false: the operand does not fit.
  bool (*choose)(Maker& m, const Extents& x, Ints& n);
  Extents (*shape)(const Extents& x, const Ints& n);
  // For each element of the result its sources, or, `scatters`, for each element of the operand where it goes;
  // nowhere: no index.
  bool scatters;
  Extents (*other)(const Extents& x, const Ints& n, Extents i);
  Tensor (*call)(const Operand& x, const Ints& n);
};

// ints of pad: mode, before and after of the first axis, and of the last.
std::int64_t place(std::int64_t k, std::int64_t n, std::int64_t mode) {
  while (k < 0 || k >= n) {
    if (mode == 2) k = k < 0 ? 0 : n - 1;
    if (mode == 3) k += k < 0 ? n : -n;
    if (mode == 1) k = k < 0 ? -1 - k : 2 * n - 1 - k;
    if (mode == 0) k = n == 1 ? 0 : k < 0 ? -k : 2 * (n - 1) - k;
  }
  return k;
}
Shape borders(std::size_t rank, const Ints& n, std::size_t first) {
  Extents e(rank, 0);
  e.front() = n[first];
  if (rank > 1) e.back() = n[first + 2];
  return Shape(e);
}

Extents any_shape(Maker& m) { return m.random_shape(1, 3); }

const std::vector<WindowOp>& window_ops() {
  static const std::vector<WindowOp> all = {
      {"pad_mode", 1, any_shape,
       [](Maker& m, const Extents& x, Ints& n) {
         n = {m.below(4), m.between(0, 3), m.between(0, 2), m.between(0, 2), m.between(0, 1)};
         return x.front() > 0 && x.back() > 0;
       },
       [](const Extents& x, const Ints& n) {
         Extents s = x;
         s.front() += n[1] + n[2];
         if (x.size() > 1) s.back() += n[3] + n[4];
         return s;
       },
       false,
       [](const Extents& x, const Ints& n, Extents i) {
         i.front() = place(i.front() - n[1], x.front(), n[0]);
         if (x.size() > 1) i.back() = place(i.back() - n[3], x.back(), n[0]);
         return i;
       },
       [](const Operand& x, const Ints& n) {
         const auto rank = static_cast<std::size_t>(x.tensor().rank());
         return reel::pad(x, borders(rank, n, 1), borders(rank, n, 2), static_cast<reel::PadMode>(n[0]));
       }},
      // ints: axis, window, stride, dilation
      {"sliding_window", 1, any_shape,
       [](Maker& m, const Extents& x, Ints& n) {
         n = {m.below(static_cast<int>(x.size())), m.between(1, 3), m.between(1, 2), m.between(1, 2)};
         return (n[1] - 1) * n[3] < x[at(n[0])];
       },
       [](const Extents& x, const Ints& n) {
         Extents s = x;
         s[at(n[0])] = (x[at(n[0])] - 1 - (n[1] - 1) * n[3]) / n[2] + 1;
         s.push_back(n[1]);
         return s;
       },
       false,
       [](const Extents&, const Ints& n, Extents i) {
         const std::int64_t k = i.back();
         i.pop_back();
         i[at(n[0])] = i[at(n[0])] * n[2] + k * n[3];
         return i;
       },
       [](const Operand& x, const Ints& n) { return reel::sliding_window(x, n[1], n[0], n[2], n[3]); }},
      // ints: axis, elements beyond those covered, stride, dilation
      {"overlap_add", 2, any_shape,
       [](Maker& m, const Extents& x, Ints& n) {
         n = {m.below(static_cast<int>(x.size()) - 1), m.between(0, 1), m.between(1, 2), m.between(1, 2)};
         return x[at(n[0])] > 0 && x.back() > 0;
       },
       [](const Extents& x, const Ints& n) {
         Extents s = x;
         s.pop_back();
         s[at(n[0])] = (x[at(n[0])] - 1) * n[2] + (x.back() - 1) * n[3] + 1 + n[1];
         return s;
       },
       true,
       [](const Extents&, const Ints& n, Extents i) {
         const std::int64_t k = i.back();
         i.pop_back();
         i[at(n[0])] = i[at(n[0])] * n[2] + k * n[3];
         return i;
       },
       [](const Operand& x, const Ints& n) {
         const Shape s = x.tensor().shape();
         const std::int64_t extent = (s[n[0]] - 1) * n[2] + (s[-1] - 1) * n[3] + 1 + n[1];
         return reel::overlap_add(x, n[0], n[2], n[3], n[1] ? extent : -1);
       }},
      {"pixel_shuffle", 3,
       [](Maker& m) {
         return Extents{4, m.between(1, 2), m.between(1, 2)};
       },
       [](Maker&, const Extents& x, Ints&) { return x[x.size() - 3] % 4 == 0; },
       [](const Extents& x, const Ints&) {
         Extents s = x;
         s[s.size() - 3] /= 4, s[s.size() - 2] *= 2, s.back() *= 2;
         return s;
       },
       false,
       [](const Extents&, const Ints&, Extents i) {
         std::int64_t &channel = i[i.size() - 3], &row = i[i.size() - 2], &column = i.back();
         channel = channel * 4 + row % 2 * 2 + column % 2;
         row /= 2, column /= 2;
         return i;
       },
       [](const Operand& x, const Ints&) { return reel::pixel_shuffle(x, 2); }},
      {"pixel_unshuffle", 3,
       [](Maker& m) {
         return Extents{1, 2, 2 * m.between(1, 2)};
       },
       [](Maker&, const Extents& x, Ints&) { return x[x.size() - 2] % 2 == 0 && x.back() % 2 == 0; },
       [](const Extents& x, const Ints&) {
         Extents s = x;
         s[s.size() - 3] *= 4, s[s.size() - 2] /= 2, s.back() /= 2;
         return s;
       },
       true,
       [](const Extents&, const Ints&, Extents i) {
         std::int64_t &channel = i[i.size() - 3], &row = i[i.size() - 2], &column = i.back();
         channel = channel * 4 + row % 2 * 2 + column % 2;
         row /= 2, column /= 2;
         return i;
       },
       [](const Operand& x, const Ints&) { return reel::pixel_unshuffle(x, 2); }},
      // ints: block, before and after of axis 1
      {"space_to_batch", 2, any_shape,
       [](Maker& m, const Extents& x, Ints& n) {
         n = {m.between(1, 3), m.between(0, 1), 0};
         n[2] = (n[0] - (x[1] + n[1]) % n[0]) % n[0];
         return true;
       },
       [](const Extents& x, const Ints& n) {
         Extents s = x;
         s[0] *= n[0];
         s[1] = (x[1] + n[1] + n[2]) / n[0];
         return s;
       },
       true,
       [](const Extents& x, const Ints& n, Extents i) {
         const std::int64_t k = i[1] + n[1];
         i[0] += k % n[0] * x[0];
         i[1] = k / n[0];
         return i;
       },
       [](const Operand& x, const Ints& n) { return reel::space_to_batch(x, {n[0]}, {n[1]}, {n[2]}); }},
      {"batch_to_space", 2,
       [](Maker& m) {
         return Extents{2 * m.between(1, 2), m.between(1, 3)};
       },
       [](Maker& m, const Extents& x, Ints& n) {
         n = {2, m.between(0, 1), m.between(0, 1)};
         return x[0] % 2 == 0 && x[1] > 0;
       },
       [](const Extents& x, const Ints& n) {
         Extents s = x;
         s[0] /= n[0];
         s[1] = x[1] * n[0] - n[1] - n[2];
         return s;
       },
       false,
       [](const Extents& x, const Ints& n, Extents i) {
         const std::int64_t k = i[1] + n[1];
         i[0] += k % n[0] * (x[0] / n[0]);
         i[1] = k / n[0];
         return i;
       },
       [](const Operand& x, const Ints& n) { return reel::batch_to_space(x, {n[0]}, {n[1]}, {n[2]}); }},
  };
  return all;
}

std::string text_of(const WindowOp& op, const Statement& s, const std::string& x) {
  std::string text = std::string(op.name) + "(" + x;
  for (const std::int64_t i : s.ints) text += ", " + std::to_string(i);
  return text + ")";
}

void add(std::vector<Op>& t, const WindowOp& op) {
  Op o;
  o.name = op.name;
  o.weight = 0.6;
  o.body = true;
  o.make = [&op](Maker& m, Statement& s) {
    int x = m.floating(op.rank, 3, true);
    if (x < 0) return false;
    if (!op.choose(m, m.at(x).shape, s.ints)) {
      if (m.depth > 0) return false;
      const Extents shape = op.fresh(m);
      if (static_cast<int>(shape.size()) < op.rank) return false;
      const bool source = m.source_elements + elements(shape) < 14;
      x = m.input(source ? Role::source : Role::constant, m.floating_dtype(), shape);
      if (x < 0 || !op.choose(m, m.at(x).shape, s.ints)) return false;
    }
    s.args = {Maker::arg(x)};
    return true;
  };
  o.eval = [&op](const Statement& s, const Inputs& in, Arrays& out) {
    const Array& x = *in[0];
    Array y(x.dtype, op.shape(x.shape, s.ints));
    if (y.size() > 200) throw Unfit();
    round_like(x.dtype);
    const Array& walked = op.scatters ? x : y;
    for (std::int64_t i = 0; i < walked.size(); ++i) {
      const Extents other = op.other(x.shape, s.ints, indices_of(walked.shape, i));
      if (op.scatters)
        y[position_of(y.shape, other)] += x[i];
      else
        y[i] = x[position_of(x.shape, other)];
    }
    out.push_back(std::move(y));
  };
  o.call = [&op](const Statement& s, const Operands& a, std::vector<Tensor>& out) {
    const Tensor x = reel::identity(a[0]);
    out.push_back(op.call(x, s.ints));
  };
  o.text = [&op](const Statement& s, const Strings& a) { return text_of(op, s, a[0]); };
  t.push_back(std::move(o));
}

int image_like(Maker& m, const Extents& shape) {
  const int k = m.pick([&](const Array& a) { return a.shape == shape && is_real_floating(a.dtype); });
  if (k >= 0 && m.chance(0.6)) return k;
  const bool s = m.depth == 0 && m.source_elements + elements(shape) < 18 && m.chance(0.6);
  return m.input(s ? Role::source : Role::constant, m.floating_dtype(), shape);
}

// Morphology. Operands: image, kernel. ints: stride, dilation, padding in front and behind, of rows and columns each.
reel::Morphology2dOptions morphology_options(const Ints& n) {
  return {{n[0], n[1]}, {{n[4], n[6]}, {n[5], n[7]}}, {n[2], n[3]}};
}
Array morphology(const Ints& n, const Inputs& in, bool erosion) {
  const Array &x = *in[0], &w = *in[1];
  Extents results;
  for (std::size_t d = 0; d < 2; ++d) {
    const std::int64_t room = x.shape[d + 2] + n[4 + d] + n[6 + d] - (w.shape[d + 1] - 1) * n[2 + d] - 1;
    if (room < 0) throw Unfit();
    results.push_back(room / n[d] + 1);
  }
  Array y(given_dtype(in), {x.shape[0], x.shape[1], results[0], results[1]});
  const std::int64_t taps = w.shape[1] * w.shape[2];
  for (std::int64_t i = 0; i < y.size(); ++i) {
    const Extents at_y = indices_of(y.shape, i);
    bool any = false;
    Jet best;
    for (std::int64_t k = 0; k < taps; ++k) {
      const std::int64_t row = at_y[2] * n[0] + k / w.shape[2] * n[2] - n[4],
                         column = at_y[3] * n[1] + k % w.shape[2] * n[3] - n[5];
      if (row < 0 || column < 0 || row >= x.shape[2] || column >= x.shape[3]) continue;
      const Jet &e = x[position_of(x.shape, {at_y[0], at_y[1], row, column})].re,
                &f = w[at_y[1] * taps + (erosion ? taps - 1 - k : k)].re;
      const Jet candidate = erosion ? e - f : e + f;
      if (!any || (erosion ? less(candidate, best) : less(best, candidate))) best = candidate;
      any = true;
    }
    if (!any) throw Unfit();
    y[i] = Num(best);
  }
  return y;
}
void add_morphology(std::vector<Op>& t, bool erosion) {
  Op o;
  o.name = erosion ? "erosion2d" : "dilation2d";
  o.make = [](Maker& m, Statement& s) {
    const Extents image = {1, m.between(1, 2), m.between(1, 3), m.between(1, 3)},
                  kernel = {image[1], m.between(1, std::min<std::int64_t>(image[2], 2)),
                            m.between(1, std::min<std::int64_t>(image[3], 2))};
    s.ints = {m.between(1, 2), m.between(1, 2), m.between(1, 2), m.between(1, 2)};
    for (int k = 0; k < 4; ++k) s.ints.push_back(m.below(2));
    const int x = image_like(m, image), w = x < 0 ? -1 : image_like(m, kernel);
    s.args = {Maker::arg(x), Maker::arg(w)};
    return w >= 0;
  };
  o.eval = [erosion](const Statement& s, const Inputs& in, Arrays& out) {
    out.push_back(morphology(s.ints, in, erosion));
  };
  o.call = [erosion](const Statement& s, const Operands& a, std::vector<Tensor>& out) {
    const auto options = morphology_options(s.ints);
    out.push_back(erosion ? reel::erosion2d(a[0], a[1], options) : reel::dilation2d(a[0], a[1], options));
  };
  o.text = [name = o.name](const Statement& s, const Strings& a) {
    return name + "(" + a[0] + ", " + a[1] + ", stride, dilation, padding " + braces(s.ints) + ")";
  };
  t.push_back(std::move(o));
}

// Pooling at pseudo-random places. ints: windows and sizes, of rows and columns each. reals: the samples.
std::int64_t beginning(std::int64_t i, std::int64_t n, std::int64_t m, std::int64_t k, double u) {
  if (i == m - 1) return n - k;
  const double a = static_cast<double>(n - k) / static_cast<double>(m - 1);
  return static_cast<std::int64_t>(std::floor((static_cast<double>(i) + u) * a) - std::floor(u * a));
}
void add_fractional_pool(std::vector<Op>& t, bool largest) {
  Op o;
  o.name = largest ? "fractional_max_pool2d" : "fractional_avg_pool2d";
  o.make = [](Maker& m, Statement& s) {
    const Extents image = {1, m.between(1, 2), m.between(1, 4), m.between(1, 4)};
    for (const std::size_t d : {2, 3}) s.ints.push_back(m.between(1, std::min<std::int64_t>(image[d], 2)));
    for (const std::size_t d : {2, 3}) s.ints.push_back(m.between(1, image[d] - s.ints[d - 2] + 1));
    for (std::int64_t k = 0; k < 2 * image[1]; ++k) s.reals.push_back(m.uniform(0, 0.999));
    const int x = image_like(m, image);
    s.args = {Maker::arg(x)};
    return x >= 0;
  };
  o.eval = [largest](const Statement& s, const Inputs& in, Arrays& out) {
    const Array& x = *in[0];
    const Ints& n = s.ints;
    Array y(given_dtype(in), {1, x.shape[1], n[2], n[3]});
    for (std::int64_t i = 0; i < y.size(); ++i) {
      const Extents at_y = indices_of(y.shape, i);
      const std::int64_t row = beginning(at_y[2], x.shape[2], n[2], n[0], s.reals[at(2 * at_y[1] + 1)]),
                         column = beginning(at_y[3], x.shape[3], n[3], n[1], s.reals[at(2 * at_y[1])]);
      Jet total;
      for (std::int64_t k = 0; k < n[0] * n[1]; ++k) {
        const Jet& e = x[position_of(x.shape, {0, at_y[1], row + k / n[1], column + k % n[1]})].re;
        if (!largest)
          total += e;
        else if (k == 0 || less(total, e))
          total = e;
      }
      y[i] = Num(largest ? total : rounded(total / Jet(static_cast<Real>(n[0] * n[1])), 4));
    }
    out.push_back(std::move(y));
  };
  o.call = [largest](const Statement& s, const Operands& a, std::vector<Tensor>& out) {
    const auto samples = reel::from_data(s.reals, {1, static_cast<std::int64_t>(s.reals.size()) / 2, 2});
    const reel::Size2d window = {s.ints[0], s.ints[1]}, size = {s.ints[2], s.ints[3]};
    out.push_back(largest ? reel::fractional_max_pool2d(a[0], window, size, samples)
                          : reel::fractional_avg_pool2d(a[0], window, size, samples));
  };
  o.text = [name = o.name](const Statement& s, const Strings& a) {
    std::string all = name + "(" + a[0] + ", window and size " + braces(s.ints) + ", samples";
    for (const double u : s.reals) all += " " + std::to_string(u);
    return all + ")";
  };
  t.push_back(std::move(o));
}

}  // namespace

void add_windows(std::vector<Op>& t) {
  for (const WindowOp& op : window_ops()) add(t, op);
  for (const bool b : {false, true}) {
    add_morphology(t, b);
    add_fractional_pool(t, b);
  }
}

}  // namespace random_programs
