// Convolutions, pooling and morphology along any number of axes by their definitions, over any numbers. An image is
// [batch, channels, extents...].
#pragma once
#include "../../op_cases/references/reductions.hpp"

namespace cases {

/// Along each axis behind the channels: the stride, padding in front, dilation and the extent of the result. Strides
/// and dilations of 1 and no padding need not be given.
struct Windows {
  Index stride = {}, before = {}, dilation = {}, results = {};
  std::int64_t groups = 1;
  /// The element of the image that a tap of a result reads.
  std::int64_t place(std::size_t axis, std::int64_t result, std::int64_t tap) const {
    return result * (stride.empty() ? 1 : stride[axis]) + tap * (dilation.empty() ? 1 : dilation[axis]) -
           (before.empty() ? 0 : before[axis]);
  }
};
inline Extents behind_channels(const Extents& shape) { return Extents(shape.begin() + 2, shape.end()); }
inline Index joined(std::int64_t a, std::int64_t b, const Index& rest) {
  Index all{a, b};
  all.insert(all.end(), rest.begin(), rest.end());
  return all;
}
/// f(tap, position in the image) for the taps of a window that meet the image.
template <class F>
void for_each_tap(const Windows& o, const Extents& image, const Extents& taps, const Index& result, F f) {
  for_each_index(taps, [&](const Index& tap) {
    Index from;
    for (std::size_t d = 0; d < tap.size(); ++d) {
      from.push_back(o.place(d, result[d + 2], tap[d]));
      if (from[d] < 0 || from[d] >= image[static_cast<std::int64_t>(d)]) return;
    }
    f(tap, from);
  });
}
template <class N>
ArrayOf<N> convolution_of(ArraysOf<N> x, const Windows& o) {
  const Extents& w = x[1].shape;
  return build<N>(joined(x[0].shape[0], w[0], o.results), [&](const Index& i) {
    N sum = 0;
    for (std::int64_t c = 0; c < w[1]; ++c)
      for_each_tap(o, behind_channels(x[0].shape), behind_channels(w), i, [&](const Index& tap, const Index& from) {
        sum += at(x[0], joined(i[0], i[1] / (w[0] / o.groups) * w[1] + c, from)) * at(x[1], joined(i[1], c, tap));
      });
    return sum;
  });
}
/// The elements that each result of a convolution is made of, times the result. o.results are the extents of those.
template <class N>
ArrayOf<N> transposed_convolution_of(ArraysOf<N> x, const Windows& o) {
  const Extents& w = x[1].shape;
  ArrayOf<N> y = filled<N>(joined(x[0].shape[0], w[1] * o.groups, o.results), 0);
  for_each_index(x[0].shape, [&](const Index& i) {
    for (std::int64_t c = 0; c < w[1]; ++c)
      for_each_tap(o, behind_channels(y.shape), behind_channels(w), i, [&](const Index& tap, const Index& to) {
        at(y, joined(i[0], i[1] / (w[0] / o.groups) * w[1] + c, to)) += at(x[0], i) * at(x[1], joined(i[1], c, tap));
      });
  });
  return y;
}

/// f of the elements that each window has.
template <class N, class F>
ArrayOf<N> pooled(const ArrayOf<N>& x, const Extents& window, const Windows& o, F f) {
  return build<N>(joined(x.shape[0], x.shape[1], o.results), [&](const Index& i) {
    RowOf<N> row;
    for_each_tap(o, behind_channels(x.shape), window, i,
                 [&](const Index&, const Index& from) { row.push_back(at(x, joined(i[0], i[1], from))); });
    return f(row);
  });
}
/// f of the windows from first(axis, result) to below last(axis, result).
template <class N, class First, class Last, class F>
ArrayOf<N> pooled_between(const ArrayOf<N>& x, const Index& results, First first, Last last, F f) {
  return build<N>(joined(x.shape[0], x.shape[1], results), [&](const Index& i) {
    RowOf<N> row;
    for_each_index(behind_channels(x.shape), [&](const Index& from) {
      for (std::size_t d = 0; d < from.size(); ++d)
        if (from[d] < first(d, i[d + 2]) || from[d] >= last(d, i[d + 2])) return;
      row.push_back(at(x, joined(i[0], i[1], from)));
    });
    return f(row);
  });
}
/// From floor(i n / m) to below ceil((i + 1) n / m).
template <class N, class F>
ArrayOf<N> adaptive_of(const ArrayOf<N>& x, const Index& sizes, F f) {
  const auto n = [&](std::size_t d) { return x.shape[static_cast<std::int64_t>(d) + 2]; };
  return pooled_between(
      x, sizes, [&](std::size_t d, std::int64_t i) { return i * n(d) / sizes[d]; },
      [&](std::size_t d, std::int64_t i) { return ((i + 1) * n(d) + sizes[d] - 1) / sizes[d]; }, f);
}
/// Windows of pseudo-random places (Graham 2014). Samples [batch * channels, 2]: of columns, of rows.
template <class N, class F>
ArrayOf<N> fractional_of(const ArrayOf<N>& x, const Index& window, const Index& size,
                         const std::vector<double>& samples, F f) {
  const auto begin = [&](const Index& i, std::size_t d) {
    const std::int64_t n = x.shape[static_cast<std::int64_t>(d) + 2], m = size[d], k = window[d];
    const auto plane = static_cast<std::size_t>(i[0] * x.shape[1] + i[1]);
    const double u = samples[2 * plane + 1 - d], a = static_cast<double>(n - k) / static_cast<double>(m - 1);
    if (i[d + 2] == m - 1) return n - k;
    return static_cast<std::int64_t>((static_cast<double>(i[d + 2]) + u) * a) - static_cast<std::int64_t>(u * a);
  };
  return build<N>(joined(x.shape[0], x.shape[1], size), [&](const Index& i) {
    RowOf<N> row;
    for (std::int64_t r = 0; r < window[0]; ++r)
      for (std::int64_t c = 0; c < window[1]; ++c) row.push_back(at(x, {i[0], i[1], begin(i, 0) + r, begin(i, 1) + c}));
    return f(row);
  });
}
/// Each element at its place in an image of the given extents.
template <class N>
ArrayOf<N> unpooled(const ArrayOf<N>& x, const std::vector<std::int64_t>& places, const Extents& size) {
  ArrayOf<N> y = filled<N>(joined(x.shape[0], x.shape[1], size), 0);
  const std::int64_t image = size.elements(), given = behind_channels(x.shape).elements();
  for (std::size_t i = 0; i < x.values.size(); ++i)
    y.values[static_cast<std::size_t>(static_cast<std::int64_t>(i) / given * image + places[i])] = x.values[i];
  return y;
}

// What a pool makes of a window. The first of equal elements is the greatest.
inline constexpr auto greatest = [](const auto& row) {
  using N = typename std::remove_cvref_t<decltype(row)>::value_type;
  require<N>(!row.empty());
  N best = row[0];
  for (const N& v : row)
    if (less(best, v)) best = v;
  return best;
};
inline constexpr auto window_mean = [](const auto& row) {
  using N = typename std::remove_cvref_t<decltype(row)>::value_type;
  return row.empty() ? N(0) : rounded(total(row) / static_cast<Real>(row.size()), 4);
};
inline auto power_mean(Real p) {
  return [p](const auto& row) {
    using N = typename std::remove_cvref_t<decltype(row)>::value_type;
    N sum = 0;
    for (const N& v : row) {
      require<N>(std::abs(value_of(v)) >= 1e-2L);  // kinks of odd p
      sum += pow(value_of(v) < 0 ? -v : v, p);
    }
    return rounded(pow(sum, 1 / p), 8);
  };
}

/// The greatest x + w over the taps that meet the image, or the least x - w with the kernel rotated by 180 degrees.
template <class N>
ArrayOf<N> morphology_of(ArraysOf<N> x, const Windows& o, bool erosion) {
  const Extents& w = x[1].shape;
  return build<N>(joined(x[0].shape[0], w[0], o.results), [&](const Index& i) {
    RowOf<N> row;
    for_each_tap(o, behind_channels(x[0].shape), {w[1], w[2]}, i, [&](const Index& tap, const Index& from) {
      const N& e = at(x[0], joined(i[0], i[1], from));
      row.push_back(erosion ? at(x[1], {i[1], w[1] - 1 - tap[0], w[2] - 1 - tap[1]}) - e
                            : e + at(x[1], {i[1], tap[0], tap[1]}));
    });
    return erosion ? -greatest(row) : greatest(row);
  });
}

// ---- Bags of rows of a table

struct Member {
  std::int64_t id;
  std::size_t place;  ///< of its weight
};
using Bags = std::vector<std::vector<Member>>;
/// Bags that begin at the offsets, without the ids of padding.
inline Bags bags_of(const std::vector<std::int64_t>& ids, const std::vector<std::int64_t>& offsets,
                    std::int64_t padding = INT64_MIN) {
  Bags bags;
  for (std::size_t b = 0; b < offsets.size(); ++b) {
    const auto end = static_cast<std::size_t>(b + 1 < offsets.size() ? offsets[b + 1] : std::ssize(ids));
    bags.emplace_back();
    for (auto k = static_cast<std::size_t>(offsets[b]); k < end; ++k)
      if (ids[k] != padding) bags.back().push_back({ids[k], k});
  }
  return bags;
}
/// f of the members of each bag. Operands: a table, and weights or none.
template <class N, class F>
ArrayOf<N> embedding_bag_of(ArraysOf<N> x, const Bags& bags, F f) {
  Extents shape = x[0].shape;
  shape[0] = std::ssize(bags);
  return build<N>(shape, [&](const Index& i) {
    RowOf<N> row;
    for (const Member& m : bags[static_cast<std::size_t>(i[0])]) {
      Index from = i;
      from[0] = m.id < 0 ? m.id + x[0].shape[0] : m.id;
      const N& e = at(x[0], from);
      row.push_back(x.size() > 1 ? rounded(e * x[1].values[m.place], 1) : e);
    }
    return f(row);
  });
}
/// Ties share; 0 of none.
inline constexpr auto greatest_or_zero = [](const auto& row) {
  return row.empty() ? typename std::remove_cvref_t<decltype(row)>::value_type(0) : largest_of(row);
};

}  // namespace cases
