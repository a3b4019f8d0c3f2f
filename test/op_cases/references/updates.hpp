// Updates at places of an array, along axes and by segments, by their definitions, over any numbers.
#pragma once
#include "reductions.hpp"

namespace cases {

/// How the values that meet an element are combined with it.
enum class Update { set, add, multiply, max, min };

/// The elements of y with the values at places in it. Unless the element is a member, it is only replaced.
template <class N>
void update(RowOf<N>& y, const std::vector<std::int64_t>& places, const RowOf<N>& values, Update how,
            bool member = true) {
  std::vector<RowOf<N>> met(y.size());
  for (std::size_t k = 0; k < places.size(); ++k) met[static_cast<std::size_t>(places[k])].push_back(values[k]);
  for (std::size_t i = 0; i < y.size(); ++i) {
    if (met[i].empty()) continue;
    if (how == Update::set) {
      y[i] = met[i].back();
    } else if (how == Update::max || how == Update::min) {
      if (member) met[i].insert(met[i].begin(), y[i]);
      y[i] = extreme_of(met[i], how == Update::max ? 1 : -1);
    } else {
      if (!member) y[i] = N(how == Update::add ? 0 : 1);
      for (const N& v : met[i]) y[i] = how == Update::add ? y[i] + v : y[i] * v;
    }
  }
}
inline std::int64_t from_start(std::int64_t i, std::int64_t n) { return i < 0 ? i + n : i; }
inline std::int64_t position_of(const Extents& shape, const Index& index) {
  std::int64_t p = 0;
  for (std::size_t d = 0; d < index.size(); ++d) p = p * shape[static_cast<std::int64_t>(d)] + index[d];
  return p;
}
template <class N>
std::vector<std::int64_t> integers_of(const ArrayOf<N>& x) {
  std::vector<std::int64_t> all;
  for (const N& v : x.values) all.push_back(static_cast<std::int64_t>(value_of(v)));
  return all;
}

/// x with the values, which broadcast to the region, at place(index of the region).
template <class N, class Place>
ArrayOf<N> updated(ArrayOf<N> x, const ArrayOf<N>& values, const Extents& region, Place place, Update how) {
  std::vector<std::int64_t> places;
  RowOf<N> all;
  for_each_index(region, [&](const Index& i) {
    places.push_back(position_of(x.shape, place(i)));
    all.push_back(broadcast_at(values, i));
  });
  update(x.values, places, all, how);
  return x;
}
/// Elements of x at place(index of the region).
template <class N, class Place>
ArrayOf<N> gathered(const ArrayOf<N>& x, const Extents& region, Place place) {
  return build<N>(region, [&](const Index& i) { return at(x, place(i)); });
}

/// The values at indices along an axis combined with the elements there; of a mean, the sum is divided.
template <class N>
ArrayOf<N> scatter_reduce_of(ArrayOf<N> x, const std::vector<std::int64_t>& indices, const ArrayOf<N>& values,
                             std::int64_t axis, Update how, bool mean, bool member) {
  std::vector<std::int64_t> places;
  std::vector<Real> counts(x.values.size(), member);
  std::size_t next = 0;
  for_each_index(values.shape, [&](Index i) {
    i[x.shape.position(axis)] = from_start(indices[next++], x.shape[axis]);
    places.push_back(position_of(x.shape, i));
    ++counts[static_cast<std::size_t>(places.back())];
  });
  update(x.values, places, values.values, how, member);
  for (std::size_t k = 0; k < counts.size(); ++k)
    if (mean && counts[k] > 1) x.values[k] = x.values[k] / counts[k];
  return x;
}

/// n segments of the first axis of x: those of its rows, or of the given rows. A negative id goes nowhere. Sums are
/// divided by this power of the number of terms.
template <class N>
ArrayOf<N> segments_of(const ArrayOf<N>& x, const std::vector<std::int64_t>& ids, std::int64_t n, Update how,
                       double power = 0, const std::vector<std::int64_t>* rows = nullptr) {
  const std::int64_t size = x.shape[0] == 0 ? 0 : std::ssize(x.values) / x.shape[0];
  Extents shape = x.shape;
  shape[0] = n;
  ArrayOf<N> y = filled<N>(shape, how == Update::multiply ? 1 : 0);
  std::vector<std::int64_t> places;
  std::vector<Real> counts(static_cast<std::size_t>(n));
  RowOf<N> values;
  for (std::size_t k = 0; k < ids.size(); ++k) {
    if (ids[k] < 0) continue;
    const std::int64_t from = rows ? from_start((*rows)[k], x.shape[0]) : static_cast<std::int64_t>(k);
    ++counts[static_cast<std::size_t>(ids[k])];
    for (std::int64_t i = 0; i < size; ++i) {
      places.push_back(ids[k] * size + i);
      values.push_back(x.values[static_cast<std::size_t>(from * size + i)]);
    }
  }
  if (how == Update::max || how == Update::min)
    for (const Real count : counts) require<N>(count > 0);  // infinite
  update(y.values, places, values, how, false);
  for (std::size_t i = 0; i < y.values.size(); ++i) {
    const Real count = counts[i / static_cast<std::size_t>(size)];
    if (power > 0 && count > 1) y.values[i] = y.values[i] / (power < 1 ? rounded(N(std::sqrt(count)), 1) : N(count));
  }
  return y;
}

/// Places in a list of n: as they are, modulo n, or at the nearest end.
enum class OutOfRange { error, wrap, clip };
inline std::int64_t place_in(std::int64_t k, std::int64_t n, OutOfRange rule) {
  if (rule == OutOfRange::error) return from_start(k, n);
  return rule == OutOfRange::wrap ? (k % n + n) % n : std::clamp<std::int64_t>(k, 0, n - 1);
}
template <class N>
ArrayOf<N> take_of(const ArrayOf<N>& x, const Extents& shape, const std::vector<std::int64_t>& indices,
                   OutOfRange rule) {
  ArrayOf<N> y{shape, {}};
  for (const std::int64_t k : indices)
    y.values.push_back(x.values[static_cast<std::size_t>(place_in(k, std::ssize(x.values), rule))]);
  return y;
}
template <class N>
ArrayOf<N> put_of(ArrayOf<N> x, const std::vector<std::int64_t>& indices, const ArrayOf<N>& values, OutOfRange rule) {
  for (std::size_t i = 0; i < indices.size(); ++i)
    x.values[static_cast<std::size_t>(place_in(indices[i], std::ssize(x.values), rule))] =
        values.values[values.values.size() > 1 ? i : 0];
  return x;
}
/// Rows of the table; those of the padding id have no derivative.
template <class N>
ArrayOf<N> embedding_of(const ArrayOf<N>& table, const Extents& ids_shape, const std::vector<std::int64_t>& ids,
                        std::int64_t padding = INT64_MIN) {
  const std::int64_t n = table.shape[0], size = std::ssize(table.values) / n;
  Extents shape = ids_shape;
  shape.vector::insert(shape.end(), table.shape.begin() + 1, table.shape.end());
  ArrayOf<N> y{shape, {}};
  for (const std::int64_t id : ids)
    for (std::int64_t i = 0; i < size; ++i) {
      const std::int64_t from = from_start(id, n);
      const N& v = table.values[static_cast<std::size_t>(from * size + i)];
      y.values.push_back(from == from_start(padding, n) ? without_derivative(v) : v);
    }
  return y;
}

}  // namespace cases
