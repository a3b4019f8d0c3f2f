// Convolution, pooling and morphology along one to three axes: their operands and calls.
#include "../../nn/references/convolution.hpp"

#include <algorithm>
#include <reel/nn.hpp>

#include "../rows.hpp"

namespace random_programs {

namespace {

using reel::Padding;
using reel::Tensor;
using Strings = std::vector<std::string>;
using X = ArraysOf<Jet>;
using S = Statement;

// An image is [batch, channels, n extents].
Extents spatial(const Extents& shape) { return Extents(shape.begin() + 2, shape.end()); }
int image_of(Maker& m, std::size_t n) {
  const int x =
      m.pick([&](const Array& a) { return a.shape.size() == n + 2 && is_real_floating(a.dtype) && a.size() > 0; });
  if (x >= 0 && m.chance(0.8)) return x;
  Extents shape = {n == 3 ? 1 : m.between(1, 2), m.between(1, 2)};
  for (std::size_t d = 0; d < n; ++d) shape.push_back(m.between(1, n == 1 ? 5 : n == 2 || d == 0 ? 3 : 2));
  return value_like(m, shape, m.floating_dtype());
}
template <std::size_t n>
auto sized(const Extents& e) {
  if constexpr (n == 1) return e[0];
  if constexpr (n == 2) return reel::Size2d{e[0], e[1]};
  if constexpr (n == 3) return reel::Size3d{e[0], e[1], e[2]};
}
std::string list(const Extents& e) { return e.size() == 1 ? std::to_string(e[0]) : braces(e); }
// `@` in the rest stands for the first operand.
std::string calling(const S& s, const Strings& a, const std::string& rest) {
  std::string text = s.op->name + "(";
  for (const std::string& x : a) text += x + ", ";
  text += rest + (s.op->name.ends_with("_with_indices") ? ").y" : ")");
  if (const std::size_t k = text.find('@'); k != std::string::npos) text.replace(k, 1, a[0]);
  return text;
}
using Calling = Tensor (*)(const S& s, const Operands& x);
template <class Make, class Reference>
Op image_op(std::string name, const Make& make, const Reference& reference, Calling call,
            std::function<std::string(const S&)> text, double weight = 1) {
  Op o = row_op<Jet>(std::move(name), make, given_dtype, reference, Call{}, {.weight = weight});
  o.call = [=](const S& s, const Operands& x, std::vector<Tensor>& out) { out.push_back(call(s, x)); };
  o.text = [=](const S& s, const Strings& a) { return calling(s, a, text(s)); };
  return o;
}

// ---- Windows along n axes. ints: stride n, dilation n, padding in front n, behind n, window n, size of the image n,
// padding rule, groups, count_include_padding.
struct Windows {
  std::size_t n;
  Extents stride, dilation, before, after, size, image;
  std::int64_t rule, groups;
  bool include;
  Windows(const S& s, std::size_t axes) : n(axes) {
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
  cases::Windows geometry(const Extents& extents) const { return {stride, before, dilation, extents, groups}; }
  template <std::size_t axes>
  auto padding() const {
    using P = std::conditional_t<axes == 1, reel::Padding1d, std::conditional_t<axes == 2, Padding, reel::Padding3d>>;
    if (rule != 2) return P(rule == 1 ? Padding::same : Padding::valid);
    if constexpr (axes == 1) return P{before[0], after[0]};
    if constexpr (axes == 2) return P{{before[0], after[0]}, {before[1], after[1]}};
    if constexpr (axes == 3) return P{{before[0], after[0]}, {before[1], after[1]}, {before[2], after[2]}};
  }
};
void random_windows(Maker& m, S& s, const Extents& image, bool pool, bool dilated) {
  Extents stride, dilation, before, after, size;
  for (std::size_t d = 0; d < image.size(); ++d) {
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
std::string windows_text(const Windows& w, const std::string& rest) {
  static const char* const types[] = {"Padding1d", "Padding", "Padding3d"};
  std::string padding = w.rule == 1 ? "Padding::same" : "Padding::valid", pairs;
  for (std::size_t d = 0; d < w.n; ++d) pairs += (d ? ", " : "") + braces({w.before[d], w.after[d]});
  if (w.rule == 2) padding = types[w.n - 1] + (w.n == 1 ? pairs : "{" + pairs + "}");
  return "{.stride = " + list(w.stride) + ", .padding = " + padding + rest + "}";
}

template <std::size_t n, bool transposed>
Tensor convolved(const S& s, const Operands& x) {
  const Windows w(s, n);
  const auto stride = sized<n>(w.stride), dilation = sized<n>(w.dilation), size = sized<n>(w.image);
  const auto padding = w.template padding<n>();
  if constexpr (n == 1 && transposed)
    return reel::conv1d_transpose(x[0], x[1], {stride, padding, dilation, w.groups, size});
  else if constexpr (n == 1)
    return reel::conv1d(x[0], x[1], {stride, padding, dilation, w.groups});
  else if constexpr (n == 2 && transposed)
    return reel::conv2d_transpose(x[0], x[1], {stride, padding, dilation, w.groups, size});
  else if constexpr (n == 2)
    return reel::conv2d(x[0], x[1], {stride, padding, dilation, w.groups});
  else if constexpr (transposed)
    return reel::conv3d_transpose(x[0], x[1], {stride, padding, dilation, w.groups, size});
  else
    return reel::conv3d(x[0], x[1], {stride, padding, dilation, w.groups});
}
bool make_convolution(Maker& m, S& s, std::size_t n, bool transposed) {
  int x = transposed ? -1 : image_of(m, n);
  Extents shape = {n == 3 ? 1 : m.between(1, 2), m.between(1, 2)};
  for (std::size_t d = 0; d < n; ++d) shape.push_back(m.between(1, n == 1 ? 4 : n == 2 || d == 0 ? 3 : 2));
  if (x >= 0) shape = m.at(x).shape;
  random_windows(m, s, spatial(shape), false, true);
  std::int64_t& groups = s.ints[6 * n + 1];
  if (m.chance(0.3)) groups = shape[1];
  const std::int64_t filters = groups * m.between(1, 2);
  const Windows w(s, n);
  if (transposed) x = value_like(m, cases::joined(shape[0], filters, w.results()), m.floating_dtype());
  const int k = x < 0 ? -1 : value_like(m, cases::joined(filters, shape[1] / groups, w.size), m.at(x).dtype);
  s.args = {Maker::arg(x), Maker::arg(k)};
  return k >= 0;
}
Op convolution(std::size_t n, bool transposed, Calling call) {
  return image_op(
      "conv" + std::to_string(n) + "d" + (transposed ? "_transpose" : ""),
      [=](Maker& m, S& s) { return make_convolution(m, s, n, transposed); },
      [=](X x, const S& s) {
        const Windows w(s, n);
        if (!transposed) return cases::convolution_of(x, w.geometry(w.results()));
        if (cases::joined(x[0].shape[0], x[1].shape[0], w.results()) != x[0].shape) throw Unfit();
        return cases::transposed_convolution_of(x, w.geometry(w.image));
      },
      call,
      [=](const S& s) {
        const Windows w(s, n);
        return windows_text(w, ", .dilation = " + list(w.dilation) + ", .groups = " + std::to_string(w.groups) +
                                   (transposed ? ", .size = " + list(w.image) : ""));
      },
      n == 2 ? 2 : 1);
}

enum class Pooled { mean, max, max_with_indices };
template <std::size_t n, Pooled what>
Tensor pool(const S& s, const Operands& x) {
  const Windows w(s, n);
  const auto window = sized<n>(w.size), stride = sized<n>(w.stride), dilation = sized<n>(w.dilation);
  const auto padding = w.template padding<n>();
  using enum Pooled;
  if constexpr (n == 1 && what == mean) return reel::avg_pool1d(x[0], window, {stride, padding, w.include});
  if constexpr (n == 2 && what == mean) return reel::avg_pool2d(x[0], window, {stride, padding, w.include});
  if constexpr (n == 3 && what == mean) return reel::avg_pool3d(x[0], window, {stride, padding, w.include});
  if constexpr (n == 1 && what == max) return reel::max_pool1d(x[0], window, {stride, padding, dilation});
  if constexpr (n == 2 && what == max) return reel::max_pool2d(x[0], window, {stride, padding, dilation});
  if constexpr (n == 3 && what == max) return reel::max_pool3d(x[0], window, {stride, padding, dilation});
  if constexpr (n == 1) return reel::max_pool1d_with_indices(x[0], window, {stride, padding, dilation}).y;
  if constexpr (n == 2) return reel::max_pool2d_with_indices(x[0], window, {stride, padding, dilation}).y;
  if constexpr (n == 3) return reel::max_pool3d_with_indices(x[0], window, {stride, padding, dilation}).y;
}
Op pooling(std::size_t n, Pooled what, Calling call) {
  const bool mean = what == Pooled::mean, indices = what == Pooled::max_with_indices;
  return image_op(
      std::string(mean ? "avg" : "max") + "_pool" + std::to_string(n) + "d" + (indices ? "_with_indices" : ""),
      [=](Maker& m, S& s) {
        const int x = image_of(m, n);
        if (x >= 0) random_windows(m, s, spatial(m.at(x).shape), true, !mean);
        s.args = {Maker::arg(x)};
        return x >= 0;
      },
      [=](X x, const S& s) {
        const Windows w(s, n);
        const auto pooled = [&](auto f) { return cases::pooled(x[0], w.size, w.geometry(w.results()), f); };
        if (!mean) return pooled(cases::greatest);
        if (!w.include) return pooled(cases::window_mean);
        const auto count = static_cast<Real>(elements(w.size));
        return pooled([&](const auto& row) { return rounded(cases::total(row) / count, 4); });
      },
      call,
      [=](const S& s) {
        const Windows w(s, n);
        return list(w.size) + ", " +
               windows_text(w, !mean ? ", .dilation = " + list(w.dilation)
                                     : std::string(", .count_include_padding = ") + (w.include ? "true" : "false"));
      },
      n == 2 && !indices ? 1.5 : 1);
}

// ---- ints: the extents of the result behind the channels, then the places of all elements.
Extents size_of_unpooled(const S& s, std::size_t n) {
  return Extents(s.ints.begin(), s.ints.begin() + static_cast<std::ptrdiff_t>(n));
}
Extents places_of_unpooled(const S& s, std::size_t n) {
  return Extents(s.ints.begin() + static_cast<std::ptrdiff_t>(n), s.ints.end());
}
template <std::size_t n>
Tensor unpool(const S& s, const Operands& x) {
  const Tensor given = x[0].tensor(), to = reel::from_data(places_of_unpooled(s, n), given.shape());
  const auto extents = sized<n>(size_of_unpooled(s, n));
  if constexpr (n == 1) return reel::max_unpool1d(given, to, extents);
  if constexpr (n == 2) return reel::max_unpool2d(given, to, extents);
  if constexpr (n == 3) return reel::max_unpool3d(given, to, extents);
}
Op max_unpool(std::size_t n, Calling call) {
  return image_op(
      "max_unpool" + std::to_string(n) + "d",
      [=](Maker& m, S& s) {
        const int x = image_of(m, n);
        for (std::size_t d = 0; d < n; ++d) s.ints.push_back(m.between(1, n == 1 ? 6 : 3));
        const std::int64_t image = elements(s.ints);
        for (std::int64_t i = 0; x >= 0 && i < m.at(x).size(); ++i) s.ints.push_back(m.below(static_cast<int>(image)));
        s.args = {Maker::arg(x)};
        return x >= 0;
      },
      [=](X x, const S& s) { return cases::unpooled(x[0], places_of_unpooled(s, n), size_of_unpooled(s, n)); }, call,
      [=](const S& s) {
        return "reshape(from_data(std::vector<std::int64_t>" + braces(places_of_unpooled(s, n)) + "), @.shape()), " +
               list(size_of_unpooled(s, n));
      });
}

// ---- ints: the sizes of results.
template <std::size_t n, bool largest>
Tensor pool_adaptively(const S& s, const Operands& x) {
  const auto e = sized<n>(s.ints);
  if constexpr (n == 1) return largest ? reel::adaptive_max_pool1d(x[0], e) : reel::adaptive_avg_pool1d(x[0], e);
  if constexpr (n == 2) return largest ? reel::adaptive_max_pool2d(x[0], e) : reel::adaptive_avg_pool2d(x[0], e);
  if constexpr (n == 3) return largest ? reel::adaptive_max_pool3d(x[0], e) : reel::adaptive_avg_pool3d(x[0], e);
}
Op adaptive_pool(std::size_t n, bool largest, Calling call) {
  return image_op(
      std::string("adaptive_") + (largest ? "max" : "avg") + "_pool" + std::to_string(n) + "d",
      [=](Maker& m, S& s) {
        for (std::size_t d = 0; d < n; ++d) s.ints.push_back(m.between(1, n == 1 ? 4 : 2));
        s.args = {Maker::arg(image_of(m, n))};
        return s.args[0].index >= 0;
      },
      [=](X x, const S& s) {
        return largest ? cases::adaptive_of(x[0], s.ints, cases::greatest)
                       : cases::adaptive_of(x[0], s.ints, cases::window_mean);
      },
      call, [](const S& s) { return list(s.ints); }, 0.5);
}

// ---- ints: p, windows n, strides n.
Extents part(const S& s, std::size_t from, std::size_t n) {
  const auto first = s.ints.begin() + static_cast<std::ptrdiff_t>(from);
  return Extents(first, first + static_cast<std::ptrdiff_t>(n));
}
template <std::size_t n>
Tensor pool_powers(const S& s, const Operands& x) {
  const auto p = static_cast<double>(s.ints[0]);
  const auto window = sized<n>(part(s, 1, n)), stride = sized<n>(part(s, 1 + n, n));
  if constexpr (n == 1) return reel::lp_pool1d(x[0], p, window, stride);
  if constexpr (n == 2) return reel::lp_pool2d(x[0], p, window, stride);
  if constexpr (n == 3) return reel::lp_pool3d(x[0], p, window, stride);
}
Op lp_pool(std::size_t n, Calling call) {
  return image_op(
      "lp_pool" + std::to_string(n) + "d",
      [=](Maker& m, S& s) {
        const int x = image_of(m, n);
        if (x < 0) return false;
        s.ints = {m.between(1, 4)};
        for (const std::int64_t e : spatial(m.at(x).shape))
          s.ints.push_back(m.between(1, std::min<std::int64_t>(e, 3)));
        for (std::size_t d = 0; d < n; ++d) s.ints.push_back(m.between(1, 3));
        s.args = {Maker::arg(x)};
        return true;
      },
      [=](X x, const S& s) {
        cases::Windows w{.stride = part(s, 1 + n, n)};
        for (std::size_t d = 0; d < n; ++d)
          w.results.push_back((spatial(x[0].shape)[d] - s.ints[1 + d]) / w.stride[d] + 1);
        return cases::pooled(x[0], part(s, 1, n), w, cases::power_mean(static_cast<Real>(s.ints[0])));
      },
      call,
      [=](const S& s) {
        return std::to_string(s.ints[0]) + ", " + list(part(s, 1, n)) + ", " + list(part(s, 1 + n, n));
      });
}

// ---- At pseudo-random places. ints: windows and sizes, of rows and columns each. reals: the samples.
bool make_fractional(Maker& m, S& s) {
  const int x = image_of(m, 2);
  if (x < 0) return false;
  const Extents& shape = m.at(x).shape;
  for (const std::size_t d : {2, 3}) s.ints.push_back(m.between(1, std::min<std::int64_t>(shape[d], 2)));
  for (const std::size_t d : {2, 3}) s.ints.push_back(m.between(1, shape[d] - s.ints[d - 2] + 1));
  for (std::int64_t k = 0; k < 2 * shape[0] * shape[1]; ++k) s.reals.push_back(m.uniform(0, 0.999));
  s.args = {Maker::arg(x)};
  return true;
}
Tensor samples_for(const S& s, const reel::Operand& x) {
  const reel::Shape shape = x.tensor().shape();
  return reel::from_data(s.reals, {shape[0], shape[1], 2});
}
template <class F>
ArrayOf<Jet> fractional(X x, const S& s, F f) {
  return cases::fractional_of(x[0], {s.ints[0], s.ints[1]}, {s.ints[2], s.ints[3]}, s.reals, f);
}

// ---- Morphology. ints: stride, dilation, padding in front and behind, of rows and columns each.
bool make_morphology(Maker& m, S& s) {
  const int x = image_of(m, 2);
  if (x < 0) return false;
  const Extents shape = m.at(x).shape;
  const auto extent = [&](std::size_t d) { return m.between(1, std::min<std::int64_t>(shape[d], 2)); };
  const Extents kernel = {shape[1], extent(2), extent(3)};
  for (int k = 0; k < 4; ++k) s.ints.push_back(m.between(1, 2));
  for (int k = 0; k < 4; ++k) s.ints.push_back(m.below(2));
  const int w = value_like(m, kernel, m.chance(0.5) ? m.at(x).dtype : m.floating_dtype());
  s.args = {Maker::arg(x), Maker::arg(w)};
  return w >= 0;
}
ArrayOf<Jet> morphology(X x, const S& s, bool erosion) {
  const auto& n = s.ints;
  cases::Windows w{.stride = {n[0], n[1]}, .before = {n[4], n[5]}, .dilation = {n[2], n[3]}};
  for (std::size_t d = 0; d < 2; ++d) {
    const auto axis = static_cast<std::int64_t>(d);
    const std::int64_t room = x[0].shape[axis + 2] + n[4 + d] + n[6 + d] - (x[1].shape[axis + 1] - 1) * n[2 + d] - 1;
    if (room < 0) throw Unfit();
    w.results.push_back(room / n[d] + 1);
  }
  return cases::morphology_of(x, w, erosion);
}

template <std::size_t n>
void add_along(std::vector<Op>& t) {
  using enum Pooled;
  t.push_back(convolution(n, false, convolved<n, false>));
  t.push_back(convolution(n, true, convolved<n, true>));
  t.push_back(pooling(n, mean, pool<n, mean>));
  t.push_back(pooling(n, max, pool<n, max>));
  t.push_back(pooling(n, max_with_indices, pool<n, max_with_indices>));
  t.push_back(adaptive_pool(n, false, pool_adaptively<n, false>));
  t.push_back(adaptive_pool(n, true, pool_adaptively<n, true>));
  t.push_back(lp_pool(n, pool_powers<n>));
  t.push_back(max_unpool(n, unpool<n>));
}

}  // namespace

// clang-format off
void add_convolution(std::vector<Op>& t) {
  add_along<1>(t);
  add_along<2>(t);
  add_along<3>(t);
  t.push_back(row_op<Jet>("fractional_max_pool2d", make_fractional, given_dtype, [](X x, const S& s) { return fractional(x, s, cases::greatest); },
      REEL_CALL(reel::fractional_max_pool2d(x[0], {i[0], i[1]}, {i[2], i[3]}, samples_for(s, x[0])))));
  t.push_back(row_op<Jet>("fractional_avg_pool2d", make_fractional, given_dtype, [](X x, const S& s) { return fractional(x, s, cases::window_mean); },
      REEL_CALL(reel::fractional_avg_pool2d(x[0], {i[0], i[1]}, {i[2], i[3]}, samples_for(s, x[0])))));
  t.push_back(row_op<Jet>("dilation2d", make_morphology, given_dtype, [](X x, const S& s) { return morphology(x, s, false); },
      REEL_CALL(reel::dilation2d(x[0], x[1], {{i[0], i[1]}, {{i[4], i[6]}, {i[5], i[7]}}, {i[2], i[3]}}))));
  t.push_back(row_op<Jet>("erosion2d", make_morphology, given_dtype, [](X x, const S& s) { return morphology(x, s, true); },
      REEL_CALL(reel::erosion2d(x[0], x[1], {{i[0], i[1]}, {{i[4], i[6]}, {i[5], i[7]}}, {i[2], i[3]}}))));
}
// clang-format on

}  // namespace random_programs
