// Ops that move elements over N, each by the rule that says where an element of the result comes from.
#pragma once
#include <algorithm>
#include <numeric>

#include "../naive.hpp"

namespace cases::moves {

using Ints = std::vector<std::int64_t>;
template <class N>
using Ref = const ArrayOf<N>&;
using Integers = ArrayOf<std::int64_t>;

inline std::size_t u(std::int64_t i) { return static_cast<std::size_t>(i); }
inline std::int64_t from_end(std::int64_t i, std::int64_t n) { return i < 0 ? i + n : i; }

/// y[i] = x[from(i)].
template <class N, class F>
ArrayOf<N> moved(Ref<N> x, const Extents& shape, F from) {
  return build<N>(shape, [&](const Index& i) { return at(x, from(i)); });
}

// ---- Shapes

template <class N>
ArrayOf<N> reshaped(Ref<N> x, const Extents& shape) {
  return {shape, x.values};
}
template <class N>
ArrayOf<N> flattened(Ref<N> x) {
  return {{x.shape.elements()}, x.values};
}
/// An extent of -1 is what the others leave.
template <class N>
ArrayOf<N> reshaped_to(Ref<N> x, Extents shape) {
  std::int64_t rest = 1;
  for (const std::int64_t extent : shape) rest *= extent < 0 ? 1 : extent;
  for (std::int64_t& extent : shape)
    if (extent < 0) extent = rest > 0 ? x.shape.elements() / rest : 0;
  require<N>(shape.elements() == x.shape.elements());
  return {shape, x.values};
}
template <class N>
ArrayOf<N> with_axis(Ref<N> x, std::int64_t axis) {
  Extents shape = x.shape;
  shape.insert(from_end(axis, shape.rank() + 1), 1);
  return {shape, x.values};
}
template <class N>
ArrayOf<N> without_axes(Ref<N> x, Ints axes) {
  Extents shape = x.shape;
  std::sort(axes.rbegin(), axes.rend());
  for (const std::int64_t axis : axes) shape.erase(axis);
  return {shape, x.values};
}
template <class N>
ArrayOf<N> broadcast_array(Ref<N> x, const Extents& shape) {
  return build<N>(shape, [&](const Index& i) { return broadcast_at(x, i); });
}
/// As NumPy's atleast_2d and so on.
template <class N>
ArrayOf<N> at_least(Ref<N> x, int rank) {
  Extents shape = x.shape;
  while (shape.rank() < std::min(rank, 2)) shape.insert(0, 1);
  if (shape.rank() < rank) shape.push_back(1);
  return {shape, x.values};
}
/// Axis k of the result is axis order[k] of x.
template <class N>
ArrayOf<N> permuted(Ref<N> x, const Ints& order) {
  Extents shape;
  for (const std::int64_t axis : order) shape.push_back(x.shape[axis]);
  return moved(x, shape, [&](const Index& i) {
    Index from(i.size());
    for (std::size_t k = 0; k < i.size(); ++k) from[x.shape.position(order[k])] = i[k];
    return from;
  });
}
inline Ints axes_of(int rank) {
  Ints axes(u(rank));
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}
template <class N>
ArrayOf<N> transposed(Ref<N> x) {
  Ints order = axes_of(x.shape.rank());
  std::reverse(order.begin(), order.end());
  return permuted(x, order);
}
template <class N>
ArrayOf<N> swapped_axes(Ref<N> x, std::int64_t a, std::int64_t b) {
  Ints order = axes_of(x.shape.rank());
  std::swap(order[x.shape.position(a)], order[x.shape.position(b)]);
  return permuted(x, order);
}
template <class N>
ArrayOf<N> moved_axis(Ref<N> x, std::int64_t from, std::int64_t to) {
  Ints order = axes_of(x.shape.rank());
  order.erase(order.begin() + from_end(from, x.shape.rank()));
  order.insert(order.begin() + from_end(to, x.shape.rank()), from_end(from, x.shape.rank()));
  return permuted(x, order);
}

// ---- Copies

template <class N>
ArrayOf<N> flipped(Ref<N> x, const Ints& axes) {
  return moved(x, x.shape, [&](Index i) {
    for (const std::int64_t axis : axes) i[x.shape.position(axis)] = x.shape[axis] - 1 - i[x.shape.position(axis)];
    return i;
  });
}
template <class N>
ArrayOf<N> rolled(Ref<N> x, std::int64_t shift, std::int64_t axis) {
  return moved(x, x.shape, [&](Index i) {
    std::int64_t& k = i[x.shape.position(axis)];
    const std::int64_t n = x.shape[axis];
    k = ((k - shift) % n + n) % n;
    return i;
  });
}
/// A quarter turn, from axis a to axis b, `times` times.
template <class N>
ArrayOf<N> rotated(Ref<N> x, std::int64_t times, std::int64_t a = 0, std::int64_t b = 1) {
  ArrayOf<N> y = x;
  for (std::int64_t k = (times % 4 + 4) % 4; k > 0; --k) y = swapped_axes(flipped(y, {b}), a, b);
  return y;
}
/// The counts are those of the last axes.
template <class N>
ArrayOf<N> tiled(Ref<N> x, const Ints& counts) {
  Extents shape = x.shape;
  while (shape.size() < counts.size()) shape.insert(0, 1);
  for (std::size_t k = 0; k < counts.size(); ++k) shape.at(shape.size() - counts.size() + k) *= counts[k];
  return build<N>(shape, [&](const Index& i) {
    Index from(i.end() - x.shape.rank(), i.end());
    for (std::size_t k = 0; k < from.size(); ++k) from[k] %= x.shape.at(k);
    return at(x, from);
  });
}
/// Element k along the axis counts[k] times.
template <class N>
ArrayOf<N> repeated(Ref<N> x, const Ints& counts, std::int64_t axis) {
  Ints from;
  for (std::size_t k = 0; k < counts.size(); ++k) from.insert(from.end(), u(counts[k]), static_cast<std::int64_t>(k));
  Extents shape = x.shape;
  shape[axis] = static_cast<std::int64_t>(from.size());
  return moved(x, shape, [&](Index i) {
    i[shape.position(axis)] = from[u(i[shape.position(axis)])];
    return i;
  });
}
template <class N>
ArrayOf<N> repeated(Ref<N> x, std::int64_t count, std::int64_t axis) {
  return repeated(x, Ints(u(x.shape[axis]), count), axis);
}
/// The first lengths[k] elements along the axis at position k along another backwards.
template <class N>
ArrayOf<N> reversed_sequences(Ref<N> x, const Ints& lengths, std::int64_t axis, std::int64_t batch = 0) {
  return moved(x, x.shape, [&](Index i) {
    std::int64_t& k = i[x.shape.position(axis)];
    const std::int64_t n = lengths[u(i[x.shape.position(batch)])];
    if (k < n) k = n - 1 - k;
    return i;
  });
}

// ---- Joins and parts

template <class N>
ArrayOf<N> joined(ArraysOf<N> parts, std::int64_t axis) {
  Extents shape = parts[0].shape;
  const std::size_t a = shape.position(axis);
  shape.at(a) = 0;
  for (const ArrayOf<N>& part : parts) shape.at(a) += part.shape.at(a);
  return build<N>(shape, [&](Index i) {
    std::size_t k = 0;
    while (i[a] >= parts[k].shape.at(a)) i[a] -= parts[k++].shape.at(a);
    return at(parts[k], i);
  });
}
/// Of what f makes of each.
template <class N, class F>
ArrayOf<N> joined(ArraysOf<N> x, std::int64_t axis, F f) {
  std::vector<ArrayOf<N>> parts;
  for (const ArrayOf<N>& one : x) parts.push_back(f(one));
  return joined(ArraysOf<N>(parts), axis);
}
template <class N>
ArrayOf<N> stacked(ArraysOf<N> x, std::int64_t axis) {
  const std::int64_t a = from_end(axis, x[0].shape.rank() + 1);
  return joined(x, a, [a](Ref<N> one) { return with_axis(one, a); });
}
template <class N>
ArrayOf<N> horizontally(ArraysOf<N> x) {
  return joined(x, x[0].shape.rank() > 1, [](Ref<N> one) { return at_least(one, 1); });
}
template <class N>
ArrayOf<N> vertically(ArraysOf<N> x) {
  return joined(x, 0, [](Ref<N> one) { return at_least(one, 2); });
}
template <class N>
ArrayOf<N> in_depth(ArraysOf<N> x) {
  return joined(x, 2, [](Ref<N> one) { return at_least(one, 3); });
}
/// Vectors are columns.
template <class N>
ArrayOf<N> columns(ArraysOf<N> x) {
  return joined(x, 1, [](Ref<N> one) { return one.shape.rank() == 1 ? with_axis(one, 1) : one; });
}
template <class N>
ArrayOf<N> part(Ref<N> x, std::int64_t axis, std::int64_t from, std::int64_t to) {
  Extents shape = x.shape;
  shape[axis] = to - from;
  return moved(x, shape, [&](Index i) {
    i[shape.position(axis)] += from;
    return i;
  });
}
/// Part k of n, of which the first may be longer by one.
template <class N>
ArrayOf<N> part_of(Ref<N> x, std::int64_t k, std::int64_t n, std::int64_t axis) {
  const std::int64_t own = x.shape[axis] / n, longer = x.shape[axis] % n;
  const auto begin = [&](std::int64_t j) { return j * own + std::min(j, longer); };
  return part(x, axis, begin(k), begin(k + 1));
}
template <class N>
ArrayOf<N> padded(Ref<N> x, const Ints& before, const Ints& after, const N& value) {
  Extents shape = x.shape;
  for (std::size_t d = 0; d < before.size(); ++d) shape.at(d) += before[d] + after[d];
  return build<N>(shape, [&](Index i) {
    bool inside = true;
    for (std::size_t d = 0; d < i.size(); ++d) {
      i[d] -= before[d];
      inside = inside && i[d] >= 0 && i[d] < x.shape.at(d);
    }
    return inside ? at(x, i) : value;
  });
}

// ---- Matrices

inline std::int64_t off_diagonal(const Index& i) { return i.back() - i[i.size() - 2]; }
/// The elements for which low <= column - row <= high.
template <class N>
ArrayOf<N> band(Ref<N> x, std::int64_t low, std::int64_t high) {
  return build<N>(x.shape, [&](const Index& i) {
    const std::int64_t d = off_diagonal(i);
    return low <= d && d <= high ? at(x, i) : N(0);
  });
}
constexpr std::int64_t far = 1000;
/// band_part's: below 0, all diagonals of the side are kept.
template <class N>
ArrayOf<N> band_part(Ref<N> x, std::int64_t below, std::int64_t above) {
  return band(x, below < 0 ? -far : -below, above < 0 ? far : above);
}
template <class N>
ArrayOf<N> diagonal(Ref<N> x, std::int64_t offset) {
  const std::int64_t row = std::max<std::int64_t>(-offset, 0), column = std::max<std::int64_t>(offset, 0);
  Extents shape = x.shape;
  shape.pop_back();
  shape[-1] = std::max<std::int64_t>(0, std::min(x.shape[-2] - row, x.shape[-1] - column));
  return moved(x, shape, [&](Index i) {
    i.push_back(i.back() + column);
    i[i.size() - 2] += row;
    return i;
  });
}
/// Vectors as diagonals of matrices.
template <class N>
ArrayOf<N> diagonal_matrices(Ref<N> x, std::int64_t offset) {
  Extents shape = x.shape;
  shape[-1] += std::abs(offset);
  shape.push_back(shape[-1]);
  return build<N>(shape, [&](Index i) {
    const bool on = off_diagonal(i) == offset;
    if (offset > 0)
      i.pop_back();
    else
      i.erase(i.end() - 2);
    return on ? at(x, i) : N(0);
  });
}
template <class N>
ArrayOf<N> diag(Ref<N> x, std::int64_t offset) {
  return x.shape.rank() == 1 ? diagonal_matrices(x, offset) : diagonal(x, offset);
}
template <class N>
ArrayOf<N> trace(Ref<N> x, std::int64_t offset) {
  ArrayOf<N> d = diagonal(x, offset);
  return fold(d, {-1}, false, [](const RowOf<N>& row) {
    N sum(0);
    for (const N& v : row) sum += v;
    return sum;
  });
}
template <class N>
ArrayOf<N> with_diagonal(Ref<N> x, Ref<N> values, std::int64_t offset = 0) {
  return build<N>(x.shape, [&](Index i) {
    if (off_diagonal(i) != offset) return at(x, i);
    const std::int64_t k = std::min(i.back(), i[i.size() - 2]);
    i.pop_back();
    i.back() = k;
    return broadcast_at(values, i);
  });
}
template <class N>
ArrayOf<N> block_diagonal(ArraysOf<N> x) {
  const std::int64_t n = x[0].shape[0], m = x[0].shape[1];
  return build<N>({n + x[1].shape[0], m + x[1].shape[1]}, [&](const Index& i) {
    return i[0] < n && i[1] < m ? at(x[0], i) : i[0] >= n && i[1] >= m ? at(x[1], {i[0] - n, i[1] - m}) : N(0);
  });
}
/// Coordinate k of the grid of vectors; `matrix`: "ij", else the first two axes are exchanged.
template <class N>
ArrayOf<N> grid(ArraysOf<N> x, std::size_t k, bool matrix) {
  Extents shape;
  for (const ArrayOf<N>& one : x) shape.push_back(one.shape[0]);
  const ArrayOf<N> y = build<N>(shape, [&](const Index& i) { return at(x[k], {i[k]}); });
  return matrix ? y : swapped_axes(y, 0, 1);
}
template <class N>
ArrayOf<N> toeplitz_matrix(ArraysOf<N> x) {
  return build<N>({x[0].shape[0], x[1].shape[0]},
                  [&](const Index& i) { return i[0] >= i[1] ? at(x[0], {i[0] - i[1]}) : at(x[1], {i[1] - i[0]}); });
}
template <class N>
ArrayOf<N> hankel_matrix(ArraysOf<N> x) {
  const std::int64_t n = x[0].shape[0];
  return build<N>({n, x[1].shape[0]}, [&](const Index& i) {
    return i[0] + i[1] < n ? at(x[0], {i[0] + i[1]}) : at(x[1], {i[0] + i[1] - n + 1});
  });
}
template <class N>
ArrayOf<N> circulant_matrix(Ref<N> x) {
  const std::int64_t n = x.shape[0];
  return moved(x, {n, n}, [n](const Index& i) { return Index{(i[0] - i[1] + n) % n}; });
}
template <class N>
ArrayOf<N> powers(Ref<N> x, std::int64_t n, bool ascending) {
  Extents shape = x.shape;
  shape.push_back(n);
  return build<N>(shape, [&](Index i) {
    const std::int64_t exponent = ascending ? i.back() : n - 1 - i.back();
    i.pop_back();
    N power(1);
    for (std::int64_t k = 0; k < exponent; ++k) power = power * at(x, i);
    return power;
  });
}
template <class N>
ArrayOf<N> steps_between(ArraysOf<N> x, std::int64_t n) {
  Extents shape = broadcast(x);
  shape.insert(0, n);
  return build<N>(shape, [&](const Index& i) {
    const N &a = broadcast_at(x[0], i), &b = broadcast_at(x[1], i);
    if (i[0] == 0 || i[0] == n - 1) return i[0] == 0 ? a : b;
    return a + (b - a) * rounded(N(static_cast<Real>(i[0]) / static_cast<Real>(n - 1)), 2);
  });
}

// ---- Indices

/// An index, Python's start:stop:step without what is said not to be there, or a new axis.
struct Item {
  enum Kind { index, range, all, new_axis, from, to } kind = all;
  std::int64_t start = 0, stop = 0, step = 1;
};
/// The places that it takes on an axis of n elements.
inline Ints places(const Item& item, std::int64_t n) {
  if (item.kind == Item::index) return {from_end(item.start, n)};
  const std::int64_t step = item.kind == Item::all ? 1 : item.step;
  const bool down = step < 0;
  const auto cut = [&](std::int64_t k) {
    return std::clamp<std::int64_t>(from_end(k, n), down ? -1 : 0, down ? n - 1 : n);
  };
  const bool starts = item.kind == Item::range || item.kind == Item::from;
  const bool stops = item.kind == Item::range || item.kind == Item::to;
  const std::int64_t start = starts ? cut(item.start) : down ? n - 1 : 0, stop = stops ? cut(item.stop) : down ? -1 : n;
  Ints r;
  for (std::int64_t k = start; down ? k > stop : k < stop; k += step) r.push_back(k);
  return r;
}
template <class N>
ArrayOf<N> sliced(Ref<N> x, const std::vector<Item>& items) {
  std::vector<Ints> taken;
  Extents shape, counts;
  for (const Item& item : items) {
    if (item.kind == Item::new_axis) {
      shape.push_back(1);
      continue;
    }
    taken.push_back(places(item, x.shape.at(taken.size())));
    if (item.kind != Item::index) shape.push_back(static_cast<std::int64_t>(taken.back().size()));
  }
  while (taken.size() < x.shape.size()) {
    shape.push_back(x.shape.at(taken.size()));
    taken.push_back(places({}, shape.back()));
  }
  for (const Ints& one : taken) counts.push_back(static_cast<std::int64_t>(one.size()));
  ArrayOf<N> y = moved(x, counts, [&](Index i) {
    for (std::size_t a = 0; a < i.size(); ++a) i[a] = taken[a][u(i[a])];
    return i;
  });
  y.shape = shape;
  return y;
}
template <class N>
ArrayOf<N> gathered(Ref<N> x, const Integers& indices, std::int64_t axis = 0) {
  const std::size_t a = x.shape.position(axis), rank = indices.shape.size();
  Extents shape(std::vector<std::int64_t>(x.shape.begin(), x.shape.begin() + static_cast<std::ptrdiff_t>(a)));
  for (const std::int64_t extent : indices.shape) shape.push_back(extent);
  for (std::size_t d = a + 1; d < x.shape.size(); ++d) shape.push_back(x.shape.at(d));
  return moved(x, shape, [&](const Index& i) {
    const auto begin = i.begin() + static_cast<std::ptrdiff_t>(a), end = begin + static_cast<std::ptrdiff_t>(rank);
    Index from(i.begin(), begin);
    from.push_back(from_end(at(indices, Index(begin, end)), x.shape.at(a)));
    from.insert(from.end(), end, i.end());
    return from;
  });
}
template <class N>
ArrayOf<N> taken_along(Ref<N> x, const Integers& indices, std::int64_t axis) {
  return moved(x, indices.shape, [&](Index i) {
    i[x.shape.position(axis)] = from_end(at(indices, i), x.shape[axis]);
    return i;
  });
}
template <class N>
ArrayOf<N> scattered(ArrayOf<N> x, const Integers& indices, Ref<N> updates) {
  const std::int64_t row = x.shape[0] > 0 ? x.shape.elements() / x.shape[0] : 0;
  for (std::size_t k = 0; k < indices.values.size(); ++k)
    for (std::int64_t j = 0; j < row; ++j)
      x.values[u(from_end(indices.values[k], x.shape[0]) * row + j)] += updates.values[k * u(row) + u(j)];
  return x;
}
template <class N>
ArrayOf<N> one_hot_rows(const Integers& indices, std::int64_t depth) {
  Extents shape = indices.shape;
  shape.push_back(depth);
  return build<N>(shape, [&](Index i) {
    const std::int64_t k = i.back();
    i.pop_back();
    return N(at(indices, i) == k ? 1 : 0);
  });
}
/// The elements where f(position in row-major order) is 0, 1 ... are of that operand, which broadcasts; below 0: 0.
template <class N, class F>
ArrayOf<N> chosen(const Extents& shape, ArraysOf<N> x, F f) {
  std::int64_t position = 0;
  return build<N>(shape, [&](const Index& i) {
    const int k = f(position++);
    return k < 0 ? N(0) : broadcast_at(x[u(k)], i);
  });
}

}  // namespace cases::moves
