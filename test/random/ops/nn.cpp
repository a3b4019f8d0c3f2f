// Sequences and volumes: convolution and pooling along one or three axes, normalisation of channels, by their
// definitions.
#include <algorithm>
#include <reel/nn.hpp>

#include "../ranged.hpp"

namespace random_programs {

namespace {

using reel::Padding;
using reel::Tensor;
using Strings = std::vector<std::string>;

// ---- Windows along n axes. ints: stride n, dilation n, padding in front n, behind n, window n, size of the image n,
// padding rule, groups, count_include_padding.
struct Windows {
  std::size_t n;
  Extents stride, dilation, before, after, size, image;
  std::int64_t rule, groups;
  bool include;
  Windows(const Statement& s, std::size_t axes) : n(axes) {
    auto p = s.ints.begin();
    for (Extents* e : {&stride, &dilation, &before, &after, &size, &image})
      for (std::size_t d = 0; d < n; ++d) e->push_back(*p++);
    rule = *p++, groups = *p++, include = *p != 0;
    if (rule == 0) before = after = Extents(n);
    if (rule == 1)
      for (std::size_t d = 0; d < n; ++d) {
        const std::int64_t out = (image[d] + stride[d] - 1) / stride[d];
        const std::int64_t pad = std::max<std::int64_t>(0, (out - 1) * stride[d] + reach(d) - image[d]);
        before[d] = pad / 2, after[d] = pad - pad / 2;
      }
  }
  std::int64_t reach(std::size_t d) const { return (size[d] - 1) * dilation[d] + 1; }
  Extents results() const {
    Extents r;
    for (std::size_t d = 0; d < n; ++d) {
      const std::int64_t room = image[d] + before[d] + after[d] - reach(d);
      if (room < 0) throw Unfit();
      r.push_back(room / stride[d] + 1);
    }
    return r;
  }
  reel::Padding1d padding1d() const {
    if (rule == 2) return {before[0], after[0]};
    return rule == 1 ? Padding::same : Padding::valid;
  }
  Padding padding2d() const {
    if (rule == 2) return {{before[0], after[0]}, {before[1], after[1]}};
    return rule == 1 ? Padding::same : Padding::valid;
  }
  reel::Padding3d padding3d() const {
    if (rule == 2) return {{before[0], after[0]}, {before[1], after[1]}, {before[2], after[2]}};
    return rule == 1 ? Padding::same : Padding::valid;
  }
};
reel::Size2d two(const Extents& e) { return {e[0], e[1]}; }
reel::Size3d three(const Extents& e) { return {e[0], e[1], e[2]}; }

/// Calls f(number of the result, number of the element of the image or -1, number of the tap) for one channel.
template <class F>
void for_windows(const Windows& w, const F& f) {
  const Extents results = w.results();
  for (std::int64_t r = 0; r < elements(results); ++r)
    for (std::int64_t tap = 0; tap < elements(w.size); ++tap) {
      const Extents i = indices_of(results, r), k = indices_of(w.size, tap);
      std::int64_t from = 0;
      for (std::size_t d = 0; d < w.n && from >= 0; ++d) {
        const std::int64_t x = i[d] * w.stride[d] + k[d] * w.dilation[d] - w.before[d];
        from = x < 0 || x >= w.image[d] ? -1 : from * w.image[d] + x;
      }
      f(r, from, tap);
    }
}
void random_windows(Maker& m, Statement& s, const Extents& image, bool pool, bool dilated) {
  const std::size_t n = image.size();
  Extents stride, dilation, before, after, size;
  for (std::size_t d = 0; d < n; ++d) {
    stride.push_back(m.between(1, 2)), before.push_back(m.below(2)), after.push_back(m.below(2));
    size.push_back(m.between(1, std::min<std::int64_t>(image[d], 3)));
    dilation.push_back(dilated && m.chance(0.25) ? 2 : 1);
    if (dilation[d] == 2) size[d] = std::min<std::int64_t>(2, size[d]);
    if (pool && size[d] == 1) before[d] = after[d] = 0;  // no window of padding alone
  }
  for (const Extents& e : {stride, dilation, before, after, size, image})
    s.ints.insert(s.ints.end(), e.begin(), e.end());
  s.ints.insert(s.ints.end(), {m.below(3), 1, m.below(2)});
}
Extents with_channels(std::int64_t batch, std::int64_t channels, const Extents& rest) {
  Extents shape = {batch, channels};
  shape.insert(shape.end(), rest.begin(), rest.end());
  return shape;
}
Extents random_image(Maker& m, std::size_t n) {
  Extents image;
  for (std::size_t d = 0; d < n; ++d) image.push_back(m.between(1, n == 1 ? 4 : 2 + (d == 0)));
  return image;
}
std::string list(const Extents& e) {
  if (e.size() == 1) return std::to_string(e[0]);
  std::string all;
  for (const auto v : e) all += (all.empty() ? "{" : ", ") + std::to_string(v);
  return all + "}";
}
std::string windows_text(const Windows& w, const std::string& rest) {
  std::string padding = w.rule == 1 ? "Padding::same" : "Padding::valid";
  if (w.rule == 2) {
    padding = "{";
    for (std::size_t d = 0; d < w.n; ++d) {
      const std::string pair = std::to_string(w.before[d]) + ", " + std::to_string(w.after[d]);
      padding += w.n == 1 ? pair : (d ? ", {" : "{") + pair + "}";
    }
    padding += "}";
  }
  return "{.stride = " + list(w.stride) + ", .padding = " + padding + rest + "}";
}

void convolve(const Windows& w, bool transposed, const Inputs& in, Arrays& out) {
  const Array &x = *in[0], &k = *in[1];
  const std::int64_t filters = k.shape[0], part = k.shape[1], channels = part * w.groups, taps = elements(w.size);
  const Extents results = w.results();
  if (transposed && with_channels(x.shape[0], filters, results) != x.shape) throw Unfit();
  Array y(given_dtype(in),
          transposed ? with_channels(x.shape[0], channels, w.image) : with_channels(x.shape[0], filters, results));
  const std::int64_t image = elements(w.image), plane = elements(results);
  for (std::int64_t n = 0; n < x.shape[0]; ++n)
    for (std::int64_t f = 0; f < filters; ++f)
      for (std::int64_t c = 0; c < part; ++c) {
        const std::int64_t channel = n * channels + f / (filters / w.groups) * part + c;
        for_windows(w, [&](std::int64_t result, std::int64_t element, std::int64_t tap) {
          if (element < 0) return;
          const std::int64_t r = (n * filters + f) * plane + result, e = channel * image + element;
          y[transposed ? e : r] += x[transposed ? r : e] * k[(f * part + c) * taps + tap];
        });
      }
  out.push_back(std::move(y));
}

void add_convolution(std::vector<Op>& t, std::size_t n, bool transposed) {
  Op o;
  o.name = std::string("conv") + (n == 1 ? "1d" : "3d") + (transposed ? "_transpose" : "");
  o.make = [=](Maker& m, Statement& s) {
    const Extents image = random_image(m, n);
    const std::int64_t channels = m.between(1, 2);
    random_windows(m, s, image, false, true);
    std::int64_t& groups = s.ints[6 * n + 1];
    if (m.chance(0.3)) groups = channels;
    const std::int64_t filters = groups * m.between(1, 2), batch = n == 1 ? m.between(1, 2) : 1;
    const Windows w(s, n);
    const DType d = m.floating_dtype();
    const int x = value_like(
        m, transposed ? with_channels(batch, filters, w.results()) : with_channels(batch, channels, image), d);
    const int k = value_like(m, with_channels(filters, channels / groups, w.size), d);
    s.args = {Maker::arg(x), Maker::arg(k)};
    return x >= 0 && k >= 0;
  };
  o.eval = [=](const Statement& s, const Inputs& in, Arrays& out) { convolve(Windows(s, n), transposed, in, out); };
  o.call = [=](const Statement& s, const Operands& a, std::vector<Tensor>& out) {
    const Windows w(s, n);
    if (n == 1 && transposed)
      out.push_back(
          reel::conv1d_transpose(a[0], a[1], {w.stride[0], w.padding1d(), w.dilation[0], w.groups, w.image[0]}));
    else if (n == 1)
      out.push_back(reel::conv1d(a[0], a[1], {w.stride[0], w.padding1d(), w.dilation[0], w.groups}));
    else if (transposed)
      out.push_back(reel::conv3d_transpose(
          a[0], a[1], {three(w.stride), w.padding3d(), three(w.dilation), w.groups, three(w.image)}));
    else
      out.push_back(reel::conv3d(a[0], a[1], {three(w.stride), w.padding3d(), three(w.dilation), w.groups}));
  };
  o.text = [=, name = o.name](const Statement& s, const Strings& a) {
    const Windows w(s, n);
    return name + "(" + a[0] + ", " + a[1] + ", " +
           windows_text(w, ", .dilation = " + list(w.dilation) + ", .groups = " + std::to_string(w.groups) +
                               (transposed ? ", .size = " + list(w.image) : "")) +
           ")";
  };
  t.push_back(std::move(o));
}

void pool(const Windows& w, bool largest, const Inputs& in, Arrays& out) {
  const Array& x = *in[0];
  const Extents results = w.results();
  Array y(given_dtype(in), with_channels(x.shape[0], x.shape[1], results));
  const std::int64_t plane = elements(results), image = elements(w.image);
  for (std::int64_t c = 0; c < x.shape[0] * x.shape[1]; ++c) {
    std::vector<std::int64_t> count(at(plane));
    for_windows(w, [&](std::int64_t to, std::int64_t from, std::int64_t) {
      if (from < 0) return;
      Num& r = y[c * plane + to];
      const Num& e = x[c * image + from];
      if (!largest)
        r += e;
      else if (count[at(to)] == 0 || less(r.re, e.re))  // the first of equal ones
        r = e;
      ++count[at(to)];
    });
    for (std::int64_t i = 0; i < plane; ++i) {
      if (largest && count[at(i)] == 0) throw Unfit();
      const std::int64_t divisor = w.include ? elements(w.size) : count[at(i)];
      Num& r = y[c * plane + i];
      if (!largest) r = divisor == 0 ? Num(0) : Num(rounded(r.re / Jet(static_cast<Real>(divisor)), 4));
    }
  }
  out.push_back(std::move(y));
}

Tensor pooled(const Windows& w, bool largest, const reel::Operand& x) {
  if (w.n == 1)
    return largest ? reel::max_pool1d(x, w.size[0], {w.stride[0], w.padding1d(), w.dilation[0]})
                   : reel::avg_pool1d(x, w.size[0], {w.stride[0], w.padding1d(), w.include});
  return largest ? reel::max_pool3d(x, three(w.size), {three(w.stride), w.padding3d(), three(w.dilation)})
                 : reel::avg_pool3d(x, three(w.size), {three(w.stride), w.padding3d(), w.include});
}
Tensor pooled_with_indices(const Windows& w, const reel::Operand& x) {
  if (w.n == 1) return reel::max_pool1d_with_indices(x, w.size[0], {w.stride[0], w.padding1d(), w.dilation[0]}).y;
  if (w.n == 3)
    return reel::max_pool3d_with_indices(x, three(w.size), {three(w.stride), w.padding3d(), three(w.dilation)}).y;
  return reel::max_pool2d_with_indices(x, two(w.size), {two(w.stride), w.padding2d(), two(w.dilation)}).y;
}

enum class Pooled { mean, max, max_with_indices };
void add_pool(std::vector<Op>& t, std::size_t n, Pooled what) {
  const bool largest = what != Pooled::mean, indices = what == Pooled::max_with_indices;
  Op o;
  o.name = std::string(largest ? "max" : "avg") + "_pool" + std::to_string(n) + "d" + (indices ? "_with_indices" : "");
  o.make = [=](Maker& m, Statement& s) {
    const Extents image = random_image(m, n);
    random_windows(m, s, image, true, largest);
    const int x = value_like(m, with_channels(1, m.between(1, 2), image), m.floating_dtype());
    s.args = {Maker::arg(x)};
    return x >= 0;
  };
  o.eval = [=](const Statement& s, const Inputs& in, Arrays& out) { pool(Windows(s, n), largest, in, out); };
  o.call = [=](const Statement& s, const Operands& a, std::vector<Tensor>& out) {
    const Windows w(s, n);
    out.push_back(indices ? pooled_with_indices(w, a[0]) : pooled(w, largest, a[0]));
  };
  o.text = [=, name = o.name](const Statement& s, const Strings& a) {
    const Windows w(s, n);
    return name + "(" + a[0] + ", " + list(w.size) + ", " +
           windows_text(w, largest ? ", .dilation = " + list(w.dilation)
                                   : std::string(", .count_include_padding = ") + (w.include ? "true" : "false")) +
           (indices ? ").y" : ")");
  };
  t.push_back(std::move(o));
}

// ints: the extents of the result behind the channels, then the positions of all elements.
void add_max_unpool(std::vector<Op>& t, std::size_t n) {
  const auto behind_size = static_cast<std::ptrdiff_t>(n);
  const auto size = [=](const Statement& s) { return Extents(s.ints.begin(), s.ints.begin() + behind_size); };
  const auto places = [=](const Statement& s) { return Extents(s.ints.begin() + behind_size, s.ints.end()); };
  Op o;
  o.name = "max_unpool" + std::to_string(n) + "d";
  o.make = [=](Maker& m, Statement& s) {
    Extents given;
    for (std::size_t d = 0; d < n; ++d) {
      s.ints.push_back(m.between(1, n == 1 ? 6 : 3));
      given.push_back(d == 0 ? m.between(0, 2) : m.between(1, 2));
    }
    const Extents shape = with_channels(1, m.between(1, 2), given);
    const std::int64_t image = elements(s.ints);
    for (std::int64_t i = 0; i < elements(shape); ++i) s.ints.push_back(m.below(static_cast<int>(image)));
    const int x = value_like(m, shape, m.floating_dtype());
    s.args = {Maker::arg(x)};
    return x >= 0;
  };
  o.eval = [=](const Statement& s, const Inputs& in, Arrays& out) {
    const Array& x = *in[0];
    const std::int64_t image = elements(size(s)), given = x.size() / (x.shape[0] * x.shape[1]);
    Array y(given_dtype(in), with_channels(x.shape[0], x.shape[1], size(s)));
    for (std::int64_t i = 0; i < x.size(); ++i) y[i / given * image + s.ints[n + at(i)]] = x[i];
    out.push_back(std::move(y));
  };
  o.call = [=](const Statement& s, const Operands& a, std::vector<Tensor>& out) {
    const Tensor x = a[0].tensor(), at = reel::from_data(places(s), x.shape());
    const Extents e = size(s);
    out.push_back(n == 1   ? reel::max_unpool1d(x, at, e[0])
                  : n == 2 ? reel::max_unpool2d(x, at, two(e))
                           : reel::max_unpool3d(x, at, three(e)));
  };
  o.text = [=, name = o.name](const Statement& s, const Strings& a) {
    return name + "(" + a[0] + ", reshape(from_data(std::vector<std::int64_t>" + list(places(s)) + "), " + a[0] +
           ".shape()), " + list(size(s)) + ")";
  };
  t.push_back(std::move(o));
}

Jet power(const Jet& x, Real p) { return chain(x, pow(Series::variable(x.v[0]), p), 8); }

// ---- Adaptive pooling and pooling of norms. ints: the sizes of results, or windows, strides and p.

/// The elements x[c] of one channel that are in window i, for windows from first(d, i) to below last(d, i).
template <class First, class Last, class F>
void for_members(const Extents& image, const Extents& i, const First& first, const Last& last, const F& f) {
  for (std::int64_t e = 0; e < elements(image); ++e) {
    const Extents from = indices_of(image, e);
    bool inside = true;
    for (std::size_t d = 0; d < image.size(); ++d) inside &= from[d] >= first(d, i[d]) && from[d] < last(d, i[d]);
    if (inside) f(e);
  }
}

void adaptive_pool(const Extents& sizes, bool largest, const Inputs& in, Arrays& out) {
  const Array& x = *in[0];
  const Extents image(x.shape.begin() + 2, x.shape.end());
  Array y(given_dtype(in), with_channels(x.shape[0], x.shape[1], sizes));
  const std::int64_t plane = elements(sizes), whole = elements(image);
  for (std::int64_t r = 0; r < y.size(); ++r) {
    std::int64_t count = 0;
    for_members(
        image, indices_of(sizes, r % plane), [&](std::size_t d, std::int64_t i) { return i * image[d] / sizes[d]; },
        [&](std::size_t d, std::int64_t i) { return ((i + 1) * image[d] + sizes[d] - 1) / sizes[d]; },
        [&](std::int64_t e) {
          const Num& v = x[r / plane * whole + e];
          if (!largest)
            y[r] += v;
          else if (count == 0 || less(y[r].re, v.re))
            y[r] = v;
          ++count;
        });
    if (!largest) y[r] = Num(rounded(y[r].re / Jet(static_cast<Real>(count)), 4));
  }
  out.push_back(std::move(y));
}

void add_adaptive_pool(std::vector<Op>& t, std::size_t n, bool largest) {
  Op o;
  o.name = std::string("adaptive_") + (largest ? "max" : "avg") + "_pool" + std::to_string(n) + "d";
  o.make = [=](Maker& m, Statement& s) {
    for (std::size_t d = 0; d < n; ++d) s.ints.push_back(m.between(1, n == 1 ? 4 : 2));
    Extents image;
    for (std::size_t d = 0; d < n; ++d) image.push_back(m.between(1, n == 3 ? 3 : 5));
    const int x = value_like(m, with_channels(1, m.between(1, 2), image), m.floating_dtype());
    s.args = {Maker::arg(x)};
    return x >= 0;
  };
  o.eval = [=](const Statement& s, const Inputs& in, Arrays& out) { adaptive_pool(s.ints, largest, in, out); };
  o.call = [=](const Statement& s, const Operands& a, std::vector<Tensor>& out) {
    const Extents& e = s.ints;
    if (n == 1)
      out.push_back(largest ? reel::adaptive_max_pool1d(a[0], e[0]) : reel::adaptive_avg_pool1d(a[0], e[0]));
    else if (n == 2)
      out.push_back(largest ? reel::adaptive_max_pool2d(a[0], {e[0], e[1]})
                            : reel::adaptive_avg_pool2d(a[0], {e[0], e[1]}));
    else
      out.push_back(largest ? reel::adaptive_max_pool3d(a[0], three(e)) : reel::adaptive_avg_pool3d(a[0], three(e)));
  };
  o.text = [name = o.name](const Statement& s, const Strings& a) {
    return name + "(" + a[0] + ", " + list(s.ints) + ")";
  };
  o.weight = 0.5;
  t.push_back(std::move(o));
}

// ints: p, windows n, strides n.
void add_lp_pool(std::vector<Op>& t, std::size_t n) {
  Op o;
  o.name = "lp_pool" + std::to_string(n) + "d";
  o.make = [=](Maker& m, Statement& s) {
    s.ints = {m.between(1, 4)};
    Extents image;
    for (std::size_t d = 0; d < 2 * n; ++d) s.ints.push_back(m.between(1, 3));
    for (std::size_t d = 0; d < n; ++d) image.push_back(s.ints[1 + d] + m.below(3));
    const int x = value_like(m, with_channels(1, m.between(1, 2), image), m.floating_dtype());
    s.args = {Maker::arg(x)};
    return x >= 0;
  };
  o.eval = [=](const Statement& s, const Inputs& in, Arrays& out) {
    const Array& x = *in[0];
    const Extents image(x.shape.begin() + 2, x.shape.end());
    const Real p = static_cast<Real>(s.ints[0]);
    Extents results;
    for (std::size_t d = 0; d < n; ++d) results.push_back((image[d] - s.ints[1 + d]) / s.ints[1 + n + d] + 1);
    Array y(given_dtype(in), with_channels(x.shape[0], x.shape[1], results));
    const std::int64_t plane = elements(results), whole = elements(image);
    const auto first = [&](std::size_t d, std::int64_t i) { return i * s.ints[1 + n + d]; };
    for (std::int64_t r = 0; r < y.size(); ++r) {
      Jet sum;
      for_members(
          image, indices_of(results, r % plane), first,
          [&](std::size_t d, std::int64_t i) { return first(d, i) + s.ints[1 + d]; },
          [&](std::int64_t e) {
            const Jet& v = x[r / plane * whole + e].re;
            if (std::abs(v.v[0]) < 1e-2L) throw Unfit();  // kinks of odd p
            sum += power(v.v[0] < 0 ? Jet() - v : v, p);
          });
      y[r] = Num(rounded(power(sum, 1 / p), 8));
    }
    out.push_back(std::move(y));
  };
  o.call = [=](const Statement& s, const Operands& a, std::vector<Tensor>& out) {
    const auto& i = s.ints;
    const double p = static_cast<double>(i[0]);
    out.push_back(n == 1   ? reel::lp_pool1d(a[0], p, i[1], i[2])
                  : n == 2 ? reel::lp_pool2d(a[0], p, {i[1], i[2]}, {i[3], i[4]})
                           : reel::lp_pool3d(a[0], p, {i[1], i[2], i[3]}, {i[4], i[5], i[6]}));
  };
  o.text = [=, name = o.name](const Statement& s, const Strings& a) {
    const auto part = [&](std::size_t from) {
      return list(Extents(s.ints.begin() + static_cast<std::ptrdiff_t>(from),
                          s.ints.begin() + static_cast<std::ptrdiff_t>(from + n)));
    };
    return name + "(" + a[0] + ", " + std::to_string(s.ints[0]) + ", " + part(1) + ", " + part(1 + n) + ")";
  };
  t.push_back(std::move(o));
}

// ---- Normalisation. ints: groups, 0 of instance_norm; reals: epsilon.

void normalise_groups(std::int64_t groups, double epsilon, const Inputs& in, Arrays& out) {
  const Array& x = *in[0];
  if (groups == 0) groups = x.shape[1];
  Array y(given_dtype(in), x.shape);
  const std::int64_t channel = x.size() / (x.shape[0] * x.shape[1]), n = x.size() / (x.shape[0] * groups);
  for (std::int64_t first = 0; first < x.size(); first += n) {
    const Jet count(static_cast<Real>(n));
    Jet mean, square;
    for (std::int64_t i = first; i < first + n; ++i) mean += x[i].re;
    mean = rounded(mean / count, 2);
    for (std::int64_t i = first; i < first + n; ++i) square += (x[i].re - mean) * (x[i].re - mean);
    square = square / count;
    if (square.v[0] + epsilon < 0.02L) throw Unfit();
    const Jet r = power(square + Jet(epsilon), -0.5L);
    for (std::int64_t i = first; i < first + n; ++i) {
      Jet z = rounded((x[i].re - mean) * r, 4);
      const std::int64_t c = i / channel % x.shape[1];
      if (in.size() > 1) z = z * (*in[1])[c].re + (*in[2])[c].re;
      y[i] = Num(z);
    }
  }
  out.push_back(std::move(y));
}

void add_group_norm(std::vector<Op>& t, bool each) {
  Op o;
  o.name = each ? "instance_norm" : "group_norm";
  o.make = [=](Maker& m, Statement& s) {
    const int x = m.floating(each ? 3 : 2, 4);
    if (x < 0 || m.at(x).size() == 0) return false;
    const std::int64_t channels = m.at(x).shape[1];
    std::int64_t groups = m.between(1, channels);
    while (channels % groups) --groups;
    s.ints = {each ? 0 : groups};
    s.reals = {m.chance(0.5) ? 1e-5 : 0.125};
    s.args = {Maker::arg(x)};
    if (m.chance(0.5)) return true;
    const DType d = m.at(x).dtype;
    for (int k = 0; k < 2; ++k) {
      const int row = value_like(m, {channels}, d);
      if (row < 0) return false;
      s.args.push_back(Maker::arg(row));
    }
    return true;
  };
  o.eval = [](const Statement& s, const Inputs& in, Arrays& out) { normalise_groups(s.ints[0], s.reals[0], in, out); };
  o.call = [=](const Statement& s, const Operands& a, std::vector<Tensor>& out) {
    const double e = s.reals[0];
    if (a.size() == 1)
      out.push_back(each ? reel::instance_norm(a[0], e) : reel::group_norm(a[0], s.ints[0], e));
    else
      out.push_back(each ? reel::instance_norm(a[0], a[1], a[2], e) : reel::group_norm(a[0], a[1], a[2], s.ints[0], e));
  };
  o.text = [=, name = o.name](const Statement& s, const Strings& a) {
    std::string all = name + "(";
    for (const auto& x : a) all += x + ", ";
    return all + (each ? "" : std::to_string(s.ints[0]) + ", ") + (s.reals[0] == 0.125 ? "0.125)" : "1e-5)");
  };
  t.push_back(std::move(o));
}

// ints: size.
Op local_response_norm() {
  Op o;
  o.name = "local_response_norm";
  o.make = [](Maker& m, Statement& s) {
    const int x = m.floating(2, 4);
    s.args = {Maker::arg(x)};
    s.ints = {m.between(1, 4)};
    return x >= 0 && m.at(x).size() > 0;
  };
  o.eval = [](const Statement& s, const Inputs& in, Arrays& out) {
    const Array& x = *in[0];
    Array y(given_dtype(in), x.shape);
    const std::int64_t size = s.ints[0], channels = x.shape[1], n = x.size() / (x.shape[0] * channels);
    for (std::int64_t i = 0; i < x.size(); ++i) {
      const std::int64_t c = i / n % channels;
      Jet squares;
      for (std::int64_t k = -(size / 2); k <= (size - 1) / 2; ++k)
        if (c + k >= 0 && c + k < channels) squares += x[i + k * n].re * x[i + k * n].re;
      y[i] = Num(rounded(x[i].re * power(squares * Jet(0.5L / static_cast<Real>(size)) + Jet(2), -0.75L), 4));
    }
    out.push_back(std::move(y));
  };
  o.call = [](const Statement& s, const Operands& a, std::vector<Tensor>& out) {
    out.push_back(reel::local_response_norm(a[0], {.size = s.ints[0], .alpha = 0.5, .k = 2}));
  };
  o.text = [](const Statement& s, const Strings& a) {
    return "local_response_norm(" + a[0] + ", {.size = " + std::to_string(s.ints[0]) + ", .alpha = 0.5, .k = 2})";
  };
  return o;
}

// ints: the axis.
Op l2_normalize() {
  Op o;
  o.name = "l2_normalize";
  o.make = [](Maker& m, Statement& s) {
    const int x = m.floating(1, 3);
    if (x < 0 || m.at(x).size() == 0) return false;
    s.args = {Maker::arg(x)};
    s.ints = {m.below(m.at(x).rank())};
    return true;
  };
  o.eval = [](const Statement& s, const Inputs& in, Arrays& out) {
    const Array& x = *in[0];
    Array y(given_dtype(in), x.shape);
    const std::int64_t extent = x.shape[at(s.ints[0])];
    std::int64_t step = 1;
    for (std::size_t d = at(s.ints[0]) + 1; d < x.shape.size(); ++d) step *= x.shape[d];
    for (std::int64_t i = 0; i < x.size(); ++i) {
      const std::int64_t first = i - i / step % extent * step;
      Jet squares;
      for (std::int64_t k = 0; k < extent; ++k) squares += x[first + k * step].re * x[first + k * step].re;
      if (squares.v[0] == 0) continue;  // of a vector of zeros: 0, with derivative 0
      if (squares.v[0] < 1e-3L) throw Unfit();
      y[i] = Num(rounded(x[i].re * power(squares, -0.5L), 4));
    }
    out.push_back(std::move(y));
  };
  o.call = [](const Statement& s, const Operands& a, std::vector<Tensor>& out) {
    out.push_back(reel::l2_normalize(a[0], {.axes = s.ints[0]}));
  };
  o.text = [](const Statement& s, const Strings& a) {
    return "l2_normalize(" + a[0] + ", {.axes = " + std::to_string(s.ints[0]) + "})";
  };
  return o;
}

// ints: p, 0 or 1, which draw nothing.
Op dropout() {
  Op o;
  o.name = "dropout";
  o.make = [](Maker& m, Statement& s) {
    const int x = m.floating(0, 3);
    s.args = {Maker::arg(x)};
    s.ints = {m.below(2)};
    return x >= 0;
  };
  o.eval = [](const Statement& s, const Inputs& in, Arrays& out) {
    const Array& x = *in[0];
    out.push_back(s.ints[0] == 0 ? x : Array(given_dtype(in), x.shape));
  };
  o.call = [](const Statement& s, const Operands& a, std::vector<Tensor>& out) {
    reel::Generator generator(1);
    out.push_back(reel::dropout(a[0], static_cast<double>(s.ints[0]), generator));
  };
  o.text = [](const Statement& s, const Strings& a) {
    return "dropout(" + a[0] + ", " + std::to_string(s.ints[0]) + ", generator)";
  };
  o.weight = 0.5;
  return o;
}

}  // namespace

void add_channels_and_volumes(std::vector<Op>& t) {
  for (const std::size_t n : {std::size_t{1}, std::size_t{3}})
    for (const bool b : {false, true}) {
      add_convolution(t, n, b);
      add_pool(t, n, b ? Pooled::max : Pooled::mean);
    }
  for (const std::size_t n : {std::size_t{1}, std::size_t{2}, std::size_t{3}})
    for (const bool largest : {false, true}) add_adaptive_pool(t, n, largest);
  for (const std::size_t n : {std::size_t{1}, std::size_t{2}, std::size_t{3}}) {
    add_lp_pool(t, n);
    add_pool(t, n, Pooled::max_with_indices);
    add_max_unpool(t, n);
  }
  for (const bool each : {false, true}) add_group_norm(t, each);
  t.push_back(local_response_norm());
  t.push_back(l2_normalize());
  t.push_back(dropout());
}

}  // namespace random_programs
