// Rows of the ops of <reel/nn.hpp>. The references are loops over windows along any number of axes, by the definitions.
#include <algorithm>
#include <reel/nn.hpp>

#include "naive.hpp"

namespace cases {

namespace {

using namespace reel;
using X = Operands;
using A = Arrays;

// Along each axis behind the channels: the stride, padding in front, dilation and the extent of the result.
struct Windows {
  Index stride, before, dilation, results;
  std::int64_t groups = 1;
};
Shape behind_channels(const Shape& shape) {
  return Shape(shape.data() + 2, static_cast<std::size_t>(shape.rank() - 2));
}
Shape with_channels(std::int64_t batch, std::int64_t channels, const Index& extents) {
  Shape shape{batch, channels};
  for (std::int64_t e : extents) shape.push_back(e);
  return shape;
}
// f(tap, position in the image) for the taps of a window that meet the image.
template <class F>
void for_each_tap(const Windows& o, const Shape& image, const Shape& taps, const Index& result, F f) {
  for_each_index(taps, [&](const Index& tap) {
    Index from;
    for (std::size_t d = 0; d < tap.size(); ++d) {
      const std::int64_t i = result[d] * o.stride[d] + tap[d] * o.dilation[d] - o.before[d];
      if (i < 0 || i >= image[static_cast<std::int64_t>(d)]) return;
      from.push_back(i);
    }
    f(tap, from);
  });
}
Index joined(std::int64_t a, std::int64_t b, const Index& rest) {
  Index all{a, b};
  all.insert(all.end(), rest.begin(), rest.end());
  return all;
}
Array convolution_of(A x, const Windows& o) {
  const Shape w = x[1].shape;
  return build(with_channels(x[0].shape[0], w[0], o.results), [&](const Index& i) {
    Real sum = 0;
    for (std::int64_t c = 0; c < w[1]; ++c)
      for_each_tap(o, behind_channels(x[0].shape), behind_channels(w), Index(i.begin() + 2, i.end()),
                   [&](const Index& tap, const Index& from) {
                     sum += at(x[1], joined(i[1], c, tap)) *
                            at(x[0], joined(i[0], i[1] / (w[0] / o.groups) * w[1] + c, from));
                   });
    return sum;
  });
}
Array transposed_of(A x, const Windows& o) {
  const Shape w = x[1].shape;
  Array y = build(with_channels(x[0].shape[0], w[1] * o.groups, o.results), [](const Index&) { return Real(0); });
  for_each_index(x[0].shape, [&](const Index& i) {
    for (std::int64_t c = 0; c < w[1]; ++c)
      for_each_tap(o, behind_channels(y.shape), behind_channels(w), Index(i.begin() + 2, i.end()),
                   [&](const Index& tap, const Index& to) {
                     at(y, joined(i[0], i[1] / (w[0] / o.groups) * w[1] + c, to)) +=
                         at(x[0], i) * at(x[1], joined(i[1], c, tap));
                   });
  });
  return y;
}
template <class F>
Array pooled(const Array& x, const Shape& window, const Windows& o, F f) {
  return build(with_channels(x.shape[0], x.shape[1], o.results), [&](const Index& i) {
    Row row;
    for_each_tap(o, behind_channels(x.shape), window, Index(i.begin() + 2, i.end()),
                 [&](const Index&, const Index& from) { row.push_back(at(x, joined(i[0], i[1], from))); });
    return f(row);
  });
}
// f of the windows from floor(i n / m) to below ceil((i + 1) n / m).
template <class F>
Array adaptive_of(const Array& x, const Index& sizes, F f) {
  const Shape image = behind_channels(x.shape);
  return build(with_channels(x.shape[0], x.shape[1], sizes), [&](const Index& i) {
    Row row;
    for_each_index(image, [&](const Index& from) {
      for (std::size_t d = 0; d < from.size(); ++d) {
        const auto n = static_cast<double>(image[static_cast<std::int64_t>(d)]), m = static_cast<double>(sizes[d]);
        const auto k = static_cast<double>(i[d + 2]), j = static_cast<double>(from[d]);
        if (j < std::floor(k * n / m) || j >= std::ceil((k + 1) * n / m)) return;
      }
      row.push_back(at(x, joined(i[0], i[1], from)));
    });
    return f(row);
  });
}
template <int p>
Real norm_of(const Row& r) {
  Real sum = 0;
  for (Real v : r) sum += std::pow(std::abs(v), Real(p));
  return std::pow(sum, 1 / Real(p));
}
Real greatest(const Row& r) { return *std::max_element(r.begin(), r.end()); }
Real mean_of(const Row& r) { return r.empty() ? 0 : total(r) / static_cast<Real>(r.size()); }

// The greatest x + w over the taps that meet the image, or the least x - w with the kernel rotated by 180 degrees.
Array morphology_of(A x, const Windows& o, bool erosion) {
  const Shape w = x[1].shape, taps{w[1], w[2]};
  return build(with_channels(x[0].shape[0], w[0], o.results), [&](const Index& i) {
    Row row;
    for_each_tap(o, behind_channels(x[0].shape), taps, Index(i.begin() + 2, i.end()),
                 [&](const Index& tap, const Index& from) {
                   const Real e = at(x[0], joined(i[0], i[1], from));
                   row.push_back(erosion ? at(x[1], {i[1], w[1] - 1 - tap[0], w[2] - 1 - tap[1]}) - e
                                         : at(x[1], joined(i[1], tap[0], {tap[1]})) + e);
                 });
    return erosion ? -greatest(row) : greatest(row);
  });
}
// The same numbers for all planes: u of columns 0.7, of rows 0.25.
Tensor samples_for(const Tensor& x) {
  return broadcast_to(from_data(std::vector<double>{0.7, 0.25}), {x.shape()[0], x.shape()[1], 2});
}
template <class F>
Array fractional_of(const Array& x, const Index& window, const Index& size, F f) {
  const auto begin = [&](std::size_t d, std::int64_t i) {
    const std::int64_t n = x.shape[static_cast<int>(d) + 2], m = size[d], k = window[d];
    const double u = d == 0 ? 0.25 : 0.7, a = static_cast<double>(n - k) / static_cast<double>(m - 1);
    return i == m - 1 ? n - k
                      : static_cast<std::int64_t>((static_cast<double>(i) + u) * a) - static_cast<std::int64_t>(u * a);
  };
  return build(with_channels(x.shape[0], x.shape[1], size), [&](const Index& i) {
    Row row;
    for (std::int64_t r = 0; r < window[0]; ++r)
      for (std::int64_t c = 0; c < window[1]; ++c)
        row.push_back(at(x, {i[0], i[1], begin(0, i[2]) + r, begin(1, i[3]) + c}));
    return f(row);
  });
}

// Every second position of an image, from that of the last element down, the same for all images.
Tensor places_for(const Tensor& x) {
  const Shape image = behind_channels(x.shape());
  return broadcast_to(reshape(flip(arange(image.elements()), 0), image), x.shape()) * 2;
}
Array unpooled(const Array& x, const Index& size) {
  const Shape image = behind_channels(x.shape);
  return build(with_channels(x.shape[0], x.shape[1], size), [&](const Index& i) {
    std::int64_t position = 0;
    for (std::size_t d = 0; d < size.size(); ++d) position = position * size[d] + i[d + 2];
    Real y = 0;
    std::int64_t place = 2 * image.elements();
    for_each_index(image, [&](const Index& from) {
      place -= 2;
      if (place == position) y = at(x, joined(i[0], i[1], from));
    });
    return y;
  });
}

// Bags of rows of a table: {1, 0, -1}, {-2, 1, 1}, without the row 0 if it is padding. The table has three rows or
// more.
Tensor ids_of_bags() { return from_data(std::vector<std::int64_t>{1, 0, -1, -2, 1, 1}, {2, 3}); }
// The same in one row, as bags {}, {1, 0, -1, -2}, {1, 1}, {}.
Tensor offsets_of_bags() { return from_data(std::vector<std::int64_t>{0, 0, 4, 6}); }
template <class F>
Array bags_of(A x, const std::vector<std::vector<std::int64_t>>& bags, const F& f) {
  Shape shape = x[0].shape;
  shape[0] = static_cast<std::int64_t>(bags.size());
  return build(shape, [&](const Index& i) {
    Row row;
    for (std::int64_t id : bags[static_cast<std::size_t>(i[0])]) {
      Index from = i;
      from[0] = id < 0 ? id + x[0].shape[0] : id;
      row.push_back(at(x[0], from));
    }
    return f(row);
  });
}
Real largest_or_zero(const Row& r) { return r.empty() ? 0 : greatest(r); }
// Of the sums: the weights x[1], [2, 3].
Array weighted_bags_of(A x) {
  const std::int64_t ids[] = {1, 0, -1, -2, 1, 1};
  return build({2, x[0].shape[1]}, [&](const Index& i) {
    Real sum = 0;
    for (std::int64_t k = 0; k < 3; ++k) {
      const std::int64_t id = ids[i[0] * 3 + k];
      sum += at(x[1], {i[0], k}) * at(x[0], {id < 0 ? id + x[0].shape[0] : id, i[1]});
    }
    return sum;
  });
}

// Elements of one example whose channels are in the same group, normalised; scale and offset by channel.
Array group_norm_of(A x, std::int64_t groups, Real epsilon) {
  const std::int64_t channels = x[0].shape[1];
  if (groups == 0) groups = channels;
  return build(x[0].shape, [&](const Index& i) {
    const auto group = [&](std::int64_t c) { return c / (channels / groups); };
    Row members;
    for_each_index(x[0].shape, [&](const Index& k) {
      if (k[0] == i[0] && group(k[1]) == group(i[1])) members.push_back(at(x[0], k));
    });
    const Real n = static_cast<Real>(members.size()), mean = total(members) / n;
    Real squares = 0;
    for (Real v : members) squares += (v - mean) * (v - mean);
    const Real y = (at(x[0], i) - mean) / std::sqrt(squares / n + epsilon);
    return x.size() == 1 ? y : y * at(x[1], {i[1]}) + at(x[2], {i[1]});
  });
}
Array local_response_of(const Array& x, std::int64_t size, Real alpha, Real beta, Real k) {
  return build(x.shape, [&](const Index& i) {
    Real squares = 0;
    for (std::int64_t c = i[1] - size / 2; c <= i[1] + (size - 1) / 2; ++c) {
      if (c < 0 || c >= x.shape[1]) continue;
      Index from = i;
      from[1] = c;
      squares += at(x, from) * at(x, from);
    }
    return at(x, i) / std::pow(k + alpha / static_cast<Real>(size) * squares, beta);
  });
}
Row unit(Row r, Real epsilon) {
  Real squares = 0;
  for (Real v : r) squares += v * v;
  for (Real& v : r) v /= std::sqrt(std::max(squares, epsilon));
  return r;
}

// clang-format off
const Shaped rows[] = {
    {"conv1d", "2x2x5,3x2x2;0x2x5,3x2x2;2x0x5,3x0x2", [](X x) { return conv1d(x[0], x[1]); }, [](A x) { return convolution_of(x, {{1}, {0}, {1}, {4}}); }, {-2, 2}, nullptr, none, 10},
    {"conv1d", "2x2x5,3x2x3", [](X x) { return conv1d(x[0], x[1], {.stride = 2, .padding = Padding::same}); }, [](A x) { return convolution_of(x, {{2}, {1}, {1}, {3}}); }, {-2, 2}, nullptr, none, 10},
    {"conv1d", "1x4x6,6x2x3", [](X x) { return conv1d(x[0], x[1], {.stride = 3, .padding = {1, 3}, .dilation = 2, .groups = 2}); }, [](A x) { return convolution_of(x, {{3}, {1}, {2}, {2}, 2}); }, {-2, 2}, nullptr, none, 10},
    {"conv1d_transpose", "2x3x4,3x2x2", [](X x) { return conv1d_transpose(x[0], x[1]); }, [](A x) { return transposed_of(x, {{1}, {0}, {1}, {5}}); }, {-2, 2}, nullptr, none, 10},
    {"conv1d_transpose", "1x4x2,4x2x3", [](X x) { return conv1d_transpose(x[0], x[1], {.stride = 3, .padding = {1, 1}, .dilation = 2, .groups = 2, .size = 8}); }, [](A x) { return transposed_of(x, {{3}, {1}, {2}, {8}, 2}); }, {-2, 2}, nullptr, none, 10},
    {"conv1d_transpose", "1x2x3,2x2x3", [](X x) { return conv1d_transpose(x[0], x[1], {.stride = 2, .padding = Padding::same}); }, [](A x) { return transposed_of(x, {{2}, {0}, {1}, {6}}); }, {-2, 2}, nullptr, none, 10},
    {"max_pool1d", "2x2x5;0x2x5", [](X x) { return max_pool1d(x[0], 2); }, [](A x) { return pooled(x[0], {2}, {{2}, {0}, {1}, {2}}, greatest); }},
    {"max_pool1d", "1x2x6", [](X x) { return max_pool1d(x[0], 3, {.stride = 2, .padding = {1, 2}, .dilation = 2}); }, [](A x) { return pooled(x[0], {3}, {{2}, {1}, {2}, {3}}, greatest); }},
    {"avg_pool1d", "2x2x5;0x2x5", [](X x) { return avg_pool1d(x[0], 2); }, [](A x) { return pooled(x[0], {2}, {{2}, {0}, {1}, {2}}, mean_of); }, {-2, 2}, nullptr, none, 2},
    {"avg_pool1d", "1x2x5", [](X x) { return avg_pool1d(x[0], 3, {.stride = 2, .padding = Padding::same, .count_include_padding = true}); }, [](A x) { return pooled(x[0], {3}, {{2}, {1}, {1}, {3}}, [](const Row& r) { return total(r) / 3; }); }, {-2, 2}, nullptr, none, 2},
    {"conv3d", "2x2x3x2x3,3x2x2x1x2;0x2x3x2x3,3x2x2x1x2", [](X x) { return conv3d(x[0], x[1]); }, [](A x) { return convolution_of(x, {{1, 1, 1}, {0, 0, 0}, {1, 1, 1}, {2, 2, 2}}); }, {-2, 2}, nullptr, none, 10},
    {"conv3d", "1x2x4x3x2,2x2x3x2x2", [](X x) { return conv3d(x[0], x[1], {.stride = {2, 1, 2}, .padding = Padding::same}); }, [](A x) { return convolution_of(x, {{2, 1, 2}, {0, 0, 0}, {1, 1, 1}, {2, 3, 1}}); }, {-2, 2}, nullptr, none, 10},
    {"conv3d", "1x4x4x3x3,4x2x3x2x2", [](X x) { return conv3d(x[0], x[1], {.stride = {3, 2, 1}, .padding = {{2, 3}, {1, 0}, {0, 2}}, .dilation = {2, 1, 3}, .groups = 2}); },
      [](A x) { return convolution_of(x, {{3, 2, 1}, {2, 1, 0}, {2, 1, 3}, {2, 2, 2}, 2}); }, {-2, 2}, nullptr, none, 10},
    {"conv3d_transpose", "1x2x2x2x2,2x2x2x1x2", [](X x) { return conv3d_transpose(x[0], x[1]); }, [](A x) { return transposed_of(x, {{1, 1, 1}, {0, 0, 0}, {1, 1, 1}, {3, 2, 3}}); }, {-2, 2}, nullptr, none, 10},
    {"conv3d_transpose", "1x4x2x2x1,4x2x3x2x1", [](X x) { return conv3d_transpose(x[0], x[1], {.stride = {3, 1, 2}, .padding = {{2, 1}, {1, 0}, {0, 0}}, .dilation = {2, 1, 1}, .groups = 2, .size = {6, 2, 2}}); },
      [](A x) { return transposed_of(x, {{3, 1, 2}, {2, 1, 0}, {2, 1, 1}, {6, 2, 2}, 2}); }, {-2, 2}, nullptr, none, 10},
    {"max_pool3d", "2x2x4x2x5;0x2x4x2x5", [](X x) { return max_pool3d(x[0], {2, 1, 2}); }, [](A x) { return pooled(x[0], {2, 1, 2}, {{2, 1, 2}, {0, 0, 0}, {1, 1, 1}, {2, 2, 2}}, greatest); }},
    {"max_pool3d", "1x1x5x4x3", [](X x) { return max_pool3d(x[0], {3, 2, 2}, {.stride = {2, 1, 1}, .padding = Padding::same, .dilation = {1, 2, 1}}); },
      [](A x) { return pooled(x[0], {3, 2, 2}, {{2, 1, 1}, {1, 1, 0}, {1, 2, 1}, {3, 4, 3}}, greatest); }},
    {"avg_pool3d", "2x2x4x2x5;0x2x4x2x5", [](X x) { return avg_pool3d(x[0], {2, 1, 2}); }, [](A x) { return pooled(x[0], {2, 1, 2}, {{2, 1, 2}, {0, 0, 0}, {1, 1, 1}, {2, 2, 2}}, mean_of); }, {-2, 2}, nullptr, none, 4},
    {"avg_pool3d", "1x1x4x3x3", [](X x) { return avg_pool3d(x[0], {3, 2, 2}, {.stride = {2, 3, 1}, .padding = {{1, 2}, {1, 1}, {0, 1}}}); },
      [](A x) { return pooled(x[0], {3, 2, 2}, {{2, 3, 1}, {1, 1, 0}, {1, 1, 1}, {3, 2, 3}}, mean_of); }, {-2, 2}, nullptr, none, 4},
    {"adaptive_avg_pool1d", "2x2x5;1x1x3;0x2x4", [](X x) { return adaptive_avg_pool1d(x[0], 3); }, [](A x) { return adaptive_of(x[0], {3}, mean_of); }, {-2, 2}, nullptr, none, 4},
    {"adaptive_avg_pool1d", "1x2x6;1x1x2", [](X x) { return adaptive_avg_pool1d(x[0], 4); }, [](A x) { return adaptive_of(x[0], {4}, mean_of); }, {-2, 2}, nullptr, none, 4},
    {"adaptive_max_pool1d", "2x2x5;1x1x3;0x2x4;1x1x2", [](X x) { return adaptive_max_pool1d(x[0], 3); }, [](A x) { return adaptive_of(x[0], {3}, greatest); }},
    {"adaptive_avg_pool2d", "1x2x5x4;2x1x2x3;2x0x2x2", [](X x) { return adaptive_avg_pool2d(x[0], {2, 3}); }, [](A x) { return adaptive_of(x[0], {2, 3}, mean_of); }, {-2, 2}, nullptr, none, 4},
    {"adaptive_max_pool2d", "1x2x5x4;2x1x2x3;2x0x2x2", [](X x) { return adaptive_max_pool2d(x[0], {2, 3}); }, [](A x) { return adaptive_of(x[0], {2, 3}, greatest); }},
    {"adaptive_avg_pool3d", "1x2x3x4x5;0x2x2x2x2", [](X x) { return adaptive_avg_pool3d(x[0], {2, 2, 3}); }, [](A x) { return adaptive_of(x[0], {2, 2, 3}, mean_of); }, {-2, 2}, nullptr, none, 4},
    {"adaptive_max_pool3d", "1x2x3x4x5;0x2x2x2x2", [](X x) { return adaptive_max_pool3d(x[0], {2, 2, 3}); }, [](A x) { return adaptive_of(x[0], {2, 2, 3}, greatest); }},
    {"lp_pool1d", "2x2x6;0x2x5", [](X x) { return lp_pool1d(x[0], 2, 2); }, [](A x) { return pooled(x[0], {2}, {{2}, {0}, {1}, {x[0].shape[2] / 2}}, norm_of<2>); }, {-2, 2}, nullptr, none, 10},
    {"lp_pool1d", "1x2x7", [](X x) { return lp_pool1d(x[0], 3, 3, 2); }, [](A x) { return pooled(x[0], {3}, {{2}, {0}, {1}, {3}}, norm_of<3>); }, {0.25, 2}, nullptr, none, 10},
    {"lp_pool2d", "1x2x4x5;0x1x2x3", [](X x) { return lp_pool2d(x[0], 2, {2, 3}, {1, 2}); }, [](A x) { return pooled(x[0], {2, 3}, {{1, 2}, {0, 0}, {1, 1}, {x[0].shape[2] - 1, (x[0].shape[3] - 1) / 2}}, norm_of<2>); }, {-2, 2}, nullptr, none, 10},
    {"lp_pool2d", "2x1x4x4", [](X x) { return lp_pool2d(x[0], 4, {2, 2}); }, [](A x) { return pooled(x[0], {2, 2}, {{2, 2}, {0, 0}, {1, 1}, {2, 2}}, norm_of<4>); }, {0.25, 2}, nullptr, none, 10},
    {"lp_pool3d", "1x2x3x2x5;0x1x2x2x3", [](X x) { return lp_pool3d(x[0], 2, {2, 1, 3}, {1, 2, 2}); }, [](A x) { return pooled(x[0], {2, 1, 3}, {{1, 2, 2}, {0, 0, 0}, {1, 1, 1}, {x[0].shape[2] - 1, (x[0].shape[3] + 1) / 2, (x[0].shape[4] - 1) / 2}}, norm_of<2>); }, {-2, 2}, nullptr, none, 10},
    {"lp_pool3d", "2x1x4x2x2", [](X x) { return lp_pool3d(x[0], 3, {2, 2, 1}); }, [](A x) { return pooled(x[0], {2, 2, 1}, {{2, 2, 1}, {0, 0, 0}, {1, 1, 1}, {2, 1, 2}}, norm_of<3>); }, {0.25, 2}, nullptr, none, 10},
    {"max_pool2d_with_indices", "1x2x4x5;2x1x2x2;0x2x3x4", [](X x) { return max_pool2d_with_indices(x[0], {2, 2}).y; }, [](A x) { return pooled(x[0], {2, 2}, {{2, 2}, {0, 0}, {1, 1}, {x[0].shape[2] / 2, x[0].shape[3] / 2}}, greatest); }},
    {"max_pool2d_with_indices", "1x2x5x4", [](X x) { return max_pool2d_with_indices(x[0], {3, 2}, {.stride = {2, 1}, .padding = {{1, 1}, {0, 1}}, .dilation = {1, 2}}).y; }, [](A x) { return pooled(x[0], {3, 2}, {{2, 1}, {1, 0}, {1, 2}, {3, 3}}, greatest); }},
    {"max_pool1d_with_indices", "2x2x5;0x2x5", [](X x) { return max_pool1d_with_indices(x[0], 2).y; }, [](A x) { return pooled(x[0], {2}, {{2}, {0}, {1}, {2}}, greatest); }},
    {"max_pool1d_with_indices", "1x2x6", [](X x) { return max_pool1d_with_indices(x[0], 3, {.stride = 2, .padding = {1, 2}, .dilation = 2}).y; }, [](A x) { return pooled(x[0], {3}, {{2}, {1}, {2}, {3}}, greatest); }},
    {"max_pool3d_with_indices", "2x2x4x2x5;0x2x4x2x5", [](X x) { return max_pool3d_with_indices(x[0], {2, 1, 2}).y; }, [](A x) { return pooled(x[0], {2, 1, 2}, {{2, 1, 2}, {0, 0, 0}, {1, 1, 1}, {2, 2, 2}}, greatest); }},
    {"max_pool3d_with_indices", "1x1x5x4x3", [](X x) { return max_pool3d_with_indices(x[0], {3, 2, 2}, {.stride = {2, 1, 1}, .padding = Padding::same, .dilation = {1, 2, 1}}).y; },
      [](A x) { return pooled(x[0], {3, 2, 2}, {{2, 1, 1}, {1, 1, 0}, {1, 2, 1}, {3, 4, 3}}, greatest); }},
    {"max_unpool1d", "1x2x3;2x1x4;0x2x2", [](X x) { return max_unpool1d(x[0], places_for(x[0]), 8); }, [](A x) { return unpooled(x[0], {8}); }},
    {"max_unpool2d", "1x2x2x2;1x2x2x3;0x2x1x2", [](X x) { return max_unpool2d(x[0], places_for(x[0]), {3, 4}); }, [](A x) { return unpooled(x[0], {3, 4}); }},
    {"max_unpool3d", "1x2x2x1x2;1x1x2x3x2;0x2x1x2x2", [](X x) { return max_unpool3d(x[0], places_for(x[0]), {2, 3, 4}); }, [](A x) { return unpooled(x[0], {2, 3, 4}); }},
    {"fractional_max_pool2d", "2x2x5x7;1x1x4x6;0x2x5x7", [](X x) { return fractional_max_pool2d(x[0], {2, 3}, {3, 4}, samples_for(x[0])); }, [](A x) { return fractional_of(x[0], {2, 3}, {3, 4}, greatest); }},
    {"fractional_avg_pool2d", "2x2x5x7;1x1x4x6;0x2x5x7", [](X x) { return fractional_avg_pool2d(x[0], {2, 3}, {3, 4}, samples_for(x[0])); }, [](A x) { return fractional_of(x[0], {2, 3}, {3, 4}, mean_of); }, {-2, 2}, nullptr, none, 4},
    {"dilation2d", "2x2x3x4,2x2x2;1x1x3x4,1x2x2;0x2x3x4,2x2x2;2x0x3x4,0x2x2", [](X x) { return dilation2d(x[0], x[1]); }, [](A x) { return morphology_of(x, {{1, 1}, {0, 0}, {1, 1}, {2, 3}}, false); }},
    {"dilation2d", "1x2x5x4,2x3x2", [](X x) { return dilation2d(x[0], x[1], {{2, 1}, {{1, 1}, {0, 1}}, {1, 2}}); }, [](A x) { return morphology_of(x, {{2, 1}, {1, 0}, {1, 2}, {3, 3}}, false); }},
    {"erosion2d", "2x2x3x4,2x2x2;1x1x3x4,1x2x2;0x2x3x4,2x2x2", [](X x) { return erosion2d(x[0], x[1]); }, [](A x) { return morphology_of(x, {{1, 1}, {0, 0}, {1, 1}, {2, 3}}, true); }},
    {"erosion2d", "1x2x5x4,2x3x2", [](X x) { return erosion2d(x[0], x[1], {{2, 1}, {{1, 1}, {0, 1}}, {1, 2}}); }, [](A x) { return morphology_of(x, {{2, 1}, {1, 0}, {1, 2}, {3, 3}}, true); }},
    {"embedding_bag", "3x2;4x1;3;5x2x2;3x0", [](X x) { return embedding_bag(x[0], ids_of_bags()); }, [](A x) { return bags_of(x, {{1, 0, -1}, {-2, 1, 1}}, mean_of); }, {-2, 2}, nullptr, none, 4},
    {"embedding_bag", "3x2,2x3;4x1,2x3", [](X x) { return embedding_bag(x[0], ids_of_bags(), {.mode = BagMode::sum, .weights = x[1]}); }, weighted_bags_of, {-2, 2}, nullptr, none, 4},
    {"embedding_bag", "4x2", [](X x) { return embedding_bag(x[0], reshape(ids_of_bags(), {6}), offsets_of_bags(), {.mode = BagMode::sum, .padding_id = -2}); }, [](A x) { return bags_of(x, {{}, {1, 0, -1}, {1, 1}, {}}, total); }, {-2, 2}, nullptr, none, 4},
    {"embedding_bag", "4x2", [](X x) { return embedding_bag(x[0], reshape(ids_of_bags(), {6}), offsets_of_bags(), {.mode = BagMode::max}); }, [](A x) { return bags_of(x, {{}, {1, 0, -1, -2}, {1, 1}, {}}, largest_or_zero); }},
    {"group_norm", "2x4;2x4x3;1x2x3x2;0x4x2;2x4x0", [](X x) { return group_norm(x[0], 2, 0.01); }, [](A x) { return group_norm_of(x, 2, 0.01L); }, {-2, 2}, nullptr, none, 10},
    {"group_norm", "2x4x3,4,4;2x6x2x2,6,6;0x2x3,2,2", [](X x) { return group_norm(x[0], x[1], x[2], 2); }, [](A x) { return group_norm_of(x, 2, 1e-5L); }, {-2, 2}, nullptr, none, 20},
    {"instance_norm", "2x3x4;1x2x3x2;0x4x2;2x0x3", [](X x) { return instance_norm(x[0], 0.01); }, [](A x) { return group_norm_of(x, 0, 0.01L); }, {-2, 2}, nullptr, none, 10},
    {"instance_norm", "2x3x4,3,3;1x2x2x3,2,2", [](X x) { return instance_norm(x[0], x[1], x[2]); }, [](A x) { return group_norm_of(x, 0, 1e-5L); }, {-2, 2}, nullptr, none, 20},
    {"local_response_norm", "2x4;2x7x3;1x3x2x2;0x4x2", [](X x) { return local_response_norm(x[0]); }, [](A x) { return local_response_of(x[0], 5, 1e-4L, 0.75L, 1); }, {-2, 2}, nullptr, none, 4},
    {"local_response_norm", "2x4x2;1x1x3", [](X x) { return local_response_norm(x[0], {.size = 2, .alpha = 0.75, .beta = 0.5, .k = 2}); }, [](A x) { return local_response_of(x[0], 2, 0.75L, 0.5L, 2); }, {-2, 2}, nullptr, none, 10},
    {"l2_normalize", "3x4;5;2x3x20;0x3", [](X x) { return l2_normalize(x[0]); }, [](A x) { return along(x[0], -1, [](const Row& r) { return unit(r, 1e-12L); }); }, {-2, 2}, nullptr, none, 10},
    {"l2_normalize", "2x3x4", [](X x) { return l2_normalize(x[0], {.axes = 1, .epsilon = 100}); }, [](A x) { return along(x[0], 1, [](const Row& r) { return unit(r, 100); }); }, {-2, 2}, nullptr, none, 10},
    // Other p draw, from a generator that compiled functions take as an argument: test/nn/dropout.cpp.
    {"dropout", "3x4;0x3", [](X x) { Generator g(1); return dropout(x[0], 0, g); }, [](A x) { return x[0]; }},
    {"dropout", "3x4;0x3", [](X x) { Generator g(1); return dropout(x[0], 1, g); }, [](A x) { return build(x[0].shape, [](const Index&) { return Real(0); }); }},
};
// clang-format on

}  // namespace

std::span<const Shaped> nn() {
  static const auto kept = selected_rows(rows);
  return kept;
}

}  // namespace cases
