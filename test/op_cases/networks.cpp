// Rows of normalisations and losses of neural networks.
#include <algorithm>

#include "naive.hpp"

namespace cases {

namespace {

using namespace reel;
using X = Operands;
using A = Arrays;

// (v - mean) / sqrt(variance + epsilon)
Row normalised(Row r, Real epsilon) {
  const Real n = static_cast<Real>(r.size()), mean = total(r) / n;
  Real squares = 0;
  for (Real v : r) squares += (v - mean) * (v - mean);
  for (Real& v : r) v = (v - mean) / std::sqrt(squares / n + epsilon);
  return r;
}
Row over_root_mean_square(Row r, Real epsilon) {
  Real squares = 0;
  for (Real v : r) squares += v * v;
  for (Real& v : r) v /= std::sqrt(squares / static_cast<Real>(r.size()) + epsilon);
  return r;
}
// f(row) of the elements along several axes, put back in their places.
template <class F>
Array over(const Array& x, const std::vector<int>& axes, F f) {
  std::vector<bool> inside(x.shape.size());
  for (int a : axes) inside[static_cast<std::size_t>(a < 0 ? a + x.shape.rank() : a)] = true;
  const auto group_of = [&](const Index& i) {
    std::size_t group = 0;
    for (std::size_t k = 0; k < i.size(); ++k)
      if (!inside[k])
        group =
            group * static_cast<std::size_t>(x.shape[static_cast<std::int64_t>(k)]) + static_cast<std::size_t>(i[k]);
    return group;
  };
  std::vector<Row> groups(x.values.size());
  for_each_index(x.shape, [&](const Index& i) { groups[group_of(i)].push_back(at(x, i)); });
  for (Row& g : groups)
    if (!g.empty()) g = f(g);
  std::vector<std::size_t> next(groups.size());
  return build(x.shape, [&](const Index& i) {
    const std::size_t g = group_of(i);
    return groups[g][next[g]++];
  });
}
// x times a plus b, whose axes are some of x's.
Array scaled(const Array& x, const std::vector<int>& axes, const Array& a, const Array* b) {
  return build(x.shape, [&](const Index& i) {
    Index from;
    for (int axis : axes) from.push_back(i[static_cast<std::size_t>(axis < 0 ? axis + x.shape.rank() : axis)]);
    return at(x, i) * at(a, from) + (b ? at(*b, from) : 0);
  });
}
Array layer_norm_of(A x, const std::vector<int>& axes, Real epsilon) {
  const Array y = over(x[0], axes, [=](const Row& r) { return normalised(r, epsilon); });
  return x.size() == 1 ? y : scaled(y, axes, x[1], &x[2]);
}
Array batch_norm_of(A x, int axis, Real epsilon) {
  std::vector<int> others;
  for (int a = 0; a < x[0].shape.rank(); ++a)
    if (a != axis) others.push_back(a);
  return scaled(over(x[0], others, [=](const Row& r) { return normalised(r, epsilon); }), {axis}, x[1], &x[2]);
}
Array inference_of(A x, int axis, Real epsilon) {
  return build(x[0].shape, [&](const Index& i) {
    const auto c = static_cast<std::size_t>(i[static_cast<std::size_t>(axis)]);
    return (at(x[0], i) - x[3].values[c]) / std::sqrt(x[4].values[c] + epsilon) * x[1].values[c] + x[2].values[c];
  });
}
// The rows of both along the axis, one after the other.
Array cross_entropy_of(A x, int axis, Real smoothing) {
  std::vector<Row> labels;
  along(x[1], axis, [&](const Row& r) { return labels.push_back(r), r; });
  Array y = along(x[0], axis, [&, at = std::size_t{0}](const Row& r) mutable {
    Real largest = *std::max_element(r.begin(), r.end()), sum = 0, loss = 0;
    for (Real v : r) sum += std::exp(v - largest);
    for (std::size_t k = 0; k < r.size(); ++k)
      loss += ((1 - smoothing) * labels[at][k] + smoothing / static_cast<Real>(r.size())) *
              (largest + std::log(sum) - r[k]);
    ++at;
    return Row{loss};
  });
  y.shape.erase(axis < 0 ? axis + y.shape.rank() : axis);
  return y;
}
// Example i has class 2 i modulo the number of classes; number 1 is ignored.
Tensor classes_of(const Shape& shape, int axis) {
  Shape rest = shape;
  rest.erase(axis);
  Tensor label = mod(2 * arange(rest.elements()), shape[axis]);
  if (rest.elements() > 1) label = where(equal(arange(rest.elements()), 1), -7, label);
  return reshape(label, rest);
}
Array sparse_of(const Array& x, int axis) {
  std::int64_t i = 0;
  Array y = along(x, axis, [&](const Row& r) {
    const auto label = static_cast<std::size_t>(2 * i) % r.size();
    Real sum = 0;
    for (Real v : r) sum += std::exp(v - r[label]);
    return Row{i++ == 1 ? 0 : std::log(sum)};
  });
  y.shape.erase(axis);
  return y;
}
Tensor positive(const Tensor& drawn, std::size_t) { return abs(drawn) + 0.1; }
Tensor probability(const Tensor& drawn, std::size_t) { return sigmoid(drawn); }
Tensor last_positive(const Tensor& drawn, std::size_t k) { return k == 4 ? abs(drawn) + 0.1 : drawn; }

// The extents of a window, padding before, and the extents of the results.
struct Windows {
  std::int64_t stride[2] = {1, 1}, before[2] = {0, 0}, dilation[2] = {1, 1}, results[2] = {0, 0}, groups = 1;
};
Real inside(const Array& x, std::int64_t n, std::int64_t c, std::int64_t i, std::int64_t j, Real fill = 0) {
  return i < 0 || j < 0 || i >= x.shape[2] || j >= x.shape[3] ? fill : at(x, {n, c, i, j});
}
Array convolution_of(A x, const Windows& o) {
  const Shape w = x[1].shape;
  return build({x[0].shape[0], w[0], o.results[0], o.results[1]}, [&](const Index& i) {
    const std::int64_t first = i[1] / (w[0] / o.groups) * w[1];
    Real sum = 0;
    for (std::int64_t c = 0; c < w[1]; ++c)
      for (std::int64_t p = 0; p < w[2]; ++p)
        for (std::int64_t q = 0; q < w[3]; ++q)
          sum += at(x[1], {i[1], c, p, q}) * inside(x[0], i[0], first + c,
                                                    i[2] * o.stride[0] + p * o.dilation[0] - o.before[0],
                                                    i[3] * o.stride[1] + q * o.dilation[1] - o.before[1]);
    return sum;
  });
}
// The elements that each result of a convolution is made of, times the result.
Array transposed_of(A x, const Windows& o) {
  const Shape w = x[1].shape, g = x[0].shape;
  Array y = build({g[0], w[1] * o.groups, o.results[0], o.results[1]}, [](const Index&) { return Real(0); });
  for_each_index(g, [&](const Index& i) {
    const std::int64_t first = i[1] / (w[0] / o.groups) * w[1];
    for (std::int64_t c = 0; c < w[1]; ++c)
      for (std::int64_t p = 0; p < w[2]; ++p)
        for (std::int64_t q = 0; q < w[3]; ++q) {
          const std::int64_t r = i[2] * o.stride[0] + p * o.dilation[0] - o.before[0],
                             s = i[3] * o.stride[1] + q * o.dilation[1] - o.before[1];
          if (r >= 0 && s >= 0 && r < o.results[0] && s < o.results[1])
            at(y, {i[0], first + c, r, s}) += at(x[0], i) * at(x[1], {i[1], c, p, q});
        }
  });
  return y;
}
// f of the elements that each window of p x q has.
template <class F>
Array pooled(const Array& x, std::int64_t p, std::int64_t q, const Windows& o, F f) {
  return build({x.shape[0], x.shape[1], o.results[0], o.results[1]}, [&](const Index& i) {
    Row row;
    for (std::int64_t a = 0; a < p; ++a)
      for (std::int64_t b = 0; b < q; ++b) {
        const Real v = inside(x, i[0], i[1], i[2] * o.stride[0] + a * o.dilation[0] - o.before[0],
                              i[3] * o.stride[1] + b * o.dilation[1] - o.before[1], NAN);
        if (!std::isnan(v)) row.push_back(v);
      }
    return f(row);
  });
}
Real greatest(const Row& r) { return *std::max_element(r.begin(), r.end()); }
Real mean_of(const Row& r) { return total(r) / static_cast<Real>(r.size()); }

// clang-format off
constexpr Shaped rows[] = {
    {"layer_norm", "3x4;5;2x3x4;2x40;0x3;3x0", [](X x) { return layer_norm(x[0]); }, [](A x) { return layer_norm_of(x, {-1}, 1e-5L); }, {-2, 2}, nullptr, none, 10},
    {"layer_norm", "3x4,4,4;5,5,5;2x3x20,20,20;0x3,3,3;17x9,9,9", [](X x) { return layer_norm(x[0], x[1], x[2], {.epsilon = 0.01}); }, [](A x) { return layer_norm_of(x, {-1}, 0.01L); }, {-2, 2}, nullptr, none, 10},
    {"layer_norm", "2x3x4,3x4,3x4", [](X x) { return layer_norm(x[0], x[1], x[2], {.axes = {1, 2}}); }, [](A x) { return layer_norm_of(x, {1, 2}, 1e-5L); }, {-2, 2}, nullptr, none, 10},
    {"layer_norm", "2x3x4,2x3,2x3", [](X x) { return layer_norm(x[0], x[1], x[2], {.axes = {0, 1}}); }, [](A x) { return layer_norm_of(x, {0, 1}, 1e-5L); }, {-2, 2}, nullptr, none, 10},
    {"layer_norm", "2x3x4,4x3,4x3;2x3x3,3x3,3x3", [](X x) { return layer_norm(x[0], x[1], x[2], {.axes = {2, 1}}); }, [](A x) { return layer_norm_of(x, {2, 1}, 1e-5L); }, {-2, 2}, nullptr, none, 10},
    {"layer_norm", "2x3x4,4x2x3,4x2x3;2x2x2,2x2x2,2x2x2", [](X x) { return layer_norm(x[0], x[1], x[2], {.axes = {-1, 0, 1}}); }, [](A x) { return layer_norm_of(x, {2, 0, 1}, 1e-5L); }, {-2, 2}, nullptr, none, 10},
    {"rms_norm", "2x3x4,4x2;2x3x2,2x2", [](X x) { return rms_norm(x[0], x[1], {.axes = {2, 0}}); },
      [](A x) { return scaled(over(x[0], {2, 0}, [](const Row& r) { return over_root_mean_square(r, 1e-5L); }), {2, 0}, x[1], nullptr); }, {-2, 2}, nullptr, none, 10},
    {"rms_norm", "3x4,4;5,5", [](X x) { return rms_norm(x[0], x[1]); },
      [](A x) { return scaled(over(x[0], {-1}, [](const Row& r) { return over_root_mean_square(r, 1e-5L); }), {-1}, x[1], nullptr); }, {-2, 2}, nullptr, none, 10},
    {"batch_norm", "5x3,3,3;2x3x4,3,3;2x2x3x3,2,2;1x2x20,2,2;0x3,3,3", [](X x) { return batch_norm(x[0], x[1], x[2]).y; }, [](A x) { return batch_norm_of(x, 1, 1e-5L); }, {-2, 2}, nullptr, none, 20},
    {"batch_norm", "3x5,3,3", [](X x) { return batch_norm(x[0], x[1], x[2], {.axis = 0, .epsilon = 0.01}).y; }, [](A x) { return batch_norm_of(x, 0, 0.01L); }, {-2, 2}, nullptr, none, 20},
    {"batch_norm", "2x3x2,3,3,3,3;0x3,3,3,3,3", [](X x) { return batch_norm(x[0], x[1], x[2], x[3], x[4]); }, [](A x) { return inference_of(x, 1, 1e-5L); }, {-2, 2}, last_positive, none, 20},
    {"softmax_cross_entropy", "3x4,3x4;5,5;2x3x20,2x3x20;0x3,0x3;3x40,3x40", [](X x) { return softmax_cross_entropy(x[0], x[1]); }, [](A x) { return cross_entropy_of(x, -1, 0); }, {-2, 2}, nullptr, none, 10},
    {"softmax_cross_entropy", "2x3x4,2x3x4", [](X x) { return softmax_cross_entropy(x[0], x[1], {.axis = 1, .label_smoothing = 0.2}); }, [](A x) { return cross_entropy_of(x, 1, 0.2L); }, {-2, 2}, nullptr, none, 10},
    {"sparse_softmax_cross_entropy", "3x4;2x3x20;19x3;2x40;0x3", [](X x) { return sparse_softmax_cross_entropy(x[0], classes_of(x[0].shape(), x[0].rank() - 1), {.ignore_index = -7}); },
      [](A x) { return sparse_of(x[0], x[0].shape.rank() - 1); }, {-2, 2}, nullptr, none, 10},
    {"sparse_softmax_cross_entropy", "2x3x4", [](X x) { return sparse_softmax_cross_entropy(x[0], classes_of(x[0].shape(), 1), {.axis = 1, .ignore_index = -7}); },
      [](A x) { return sparse_of(x[0], 1); }, {-2, 2}, nullptr, none, 10},
    {"binary_cross_entropy", "3x4,3x4", [](X x) { return binary_cross_entropy(x[0], x[1]); },
      [](A x) { return build(x[0].shape, [&](const Index& i) { const Real p = at(x[0], i), y = at(x[1], i); return -y * std::log(p) - (1 - y) * std::log1p(-p); }); }, {-2, 2}, probability, none, 10},
    {"kl_divergence", "3x4,3x4", [](X x) { return kl_divergence(x[0], x[1]); },
      [](A x) { return build(x[0].shape, [&](const Index& i) { return at(x[0], i) * std::log(at(x[0], i) / at(x[1], i)); }); }, {-2, 2}, positive, none, 10},
    {"huber", "3x4,3x4", [](X x) { return huber(x[0], x[1], 0.7); },
      [](A x) { return build(x[0].shape, [&](const Index& i) { const Real d = std::abs(at(x[0], i) - at(x[1], i)), delta = 0.7; return d <= delta ? d * d / 2 : delta * (d - delta / 2); }); }},
    {"conv2d", "2x2x4x5,3x2x3x2;0x2x4x5,3x2x3x2", [](X x) { return conv2d(x[0], x[1]); }, [](A x) { return convolution_of(x, {.results = {2, 4}}); }, {-2, 2}, nullptr, none, 10},
    {"conv2d", "2x2x5x4,3x2x3x2", [](X x) { return conv2d(x[0], x[1], {.stride = {2, 1}, .padding = Padding::same}); }, [](A x) { return convolution_of(x, {.stride = {2, 1}, .before = {1, 0}, .results = {3, 4}}); }, {-2, 2}, nullptr, none, 10},
    {"conv2d", "1x4x5x6,6x2x2x2", [](X x) { return conv2d(x[0], x[1], {.stride = {1, 3}, .padding = {{1, 0}, {0, 2}}, .dilation = {2, 1}, .groups = 2}); },
      [](A x) { return convolution_of(x, {.stride = {1, 3}, .before = {1, 0}, .dilation = {2, 1}, .results = {4, 3}, .groups = 2}); }, {-2, 2}, nullptr, none, 10},
    {"conv2d", "3x4x1x2,4x2x1x2", [](X x) { return conv2d(x[0], x[1], {.groups = 2}); }, [](A x) { return convolution_of(x, {.results = {1, 1}, .groups = 2}); }, {-2, 2}, nullptr, none, 10},
    {"conv2d_transpose", "2x3x2x4,3x2x3x2", [](X x) { return conv2d_transpose(x[0], x[1]); }, [](A x) { return transposed_of(x, {.results = {4, 5}}); }, {-2, 2}, nullptr, none, 10},
    {"conv2d_transpose", "1x4x3x2,4x2x2x3", [](X x) { return conv2d_transpose(x[0], x[1], {.stride = {2, 3}, .padding = {{1, 0}, {1, 1}}, .dilation = {1, 2}, .groups = 2, .size = {6, 8}}); },
      [](A x) { return transposed_of(x, {.stride = {2, 3}, .before = {1, 1}, .dilation = {1, 2}, .results = {6, 8}, .groups = 2}); }, {-2, 2}, nullptr, none, 10},
    {"max_pool2d", "2x2x4x5;0x2x4x5", [](X x) { return max_pool2d(x[0], {2, 2}); }, [](A x) { return pooled(x[0], 2, 2, {.stride = {2, 2}, .results = {2, 2}}, greatest); }},
    {"max_pool2d", "1x2x5x4", [](X x) { return max_pool2d(x[0], {3, 2}, {.stride = {2, 1}, .padding = Padding::same, .dilation = {1, 2}}); },
      [](A x) { return pooled(x[0], 3, 2, {.stride = {2, 1}, .before = {1, 1}, .dilation = {1, 2}, .results = {3, 4}}, greatest); }},
    {"avg_pool2d", "2x2x4x5;0x2x4x5", [](X x) { return avg_pool2d(x[0], {2, 2}); }, [](A x) { return pooled(x[0], 2, 2, {.stride = {2, 2}, .results = {2, 2}}, mean_of); }},
    {"avg_pool2d", "1x2x5x4", [](X x) { return avg_pool2d(x[0], {3, 2}, {.stride = {1, 3}, .padding = {{1, 2}, {1, 0}}}); },
      [](A x) { return pooled(x[0], 3, 2, {.stride = {1, 3}, .before = {1, 1}, .results = {6, 2}}, mean_of); }},
};
// clang-format on

}  // namespace

std::span<const Shaped> networks() {
  static const auto kept = selected_rows(rows);
  return kept;
}

}  // namespace cases
