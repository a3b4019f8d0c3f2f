// Simple array arithmetic, the reference of everything that is not pointwise.
#pragma once
#include <cmath>

#include "../op_cases.hpp"

namespace cases {

using Index = std::vector<std::int64_t>;
using Row = std::vector<Real>;

inline Real& at(Array& a, const Index& index) {
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < index.size(); ++i) offset = offset * a.shape[static_cast<std::int64_t>(i)] + index[i];
  return a.values[static_cast<std::size_t>(offset)];
}
inline Real at(const Array& a, const Index& index) { return at(const_cast<Array&>(a), index); }

/// Calls f(index) for every index of the shape, row-major.
template <class F>
void for_each_index(const reel::Shape& shape, F f) {
  Index index(shape.size());
  for (std::int64_t n = shape.elements(); n > 0; --n) {
    f(std::as_const(index));
    for (std::size_t i = index.size(); i-- > 0;) {
      if (++index[i] < shape[static_cast<std::int64_t>(i)]) break;
      index[i] = 0;
    }
  }
}

/// The array with f(index) at each index.
template <class F>
Array build(const reel::Shape& shape, F f) {
  Array result{shape, {}};
  for_each_index(shape, [&](const Index& i) { result.values.push_back(f(i)); });
  return result;
}

/// f of the elements along the axes (all if none are given), in their order.
template <class F>
Array fold(const Array& x, std::vector<int> axes, bool keepdims, F f) {
  const int rank = x.shape.rank();
  std::vector<bool> folded(static_cast<std::size_t>(rank), axes.empty());
  for (int a : axes) folded[static_cast<std::size_t>(a < 0 ? a + rank : a)] = true;
  reel::Shape kept, result;
  for (int i = 0; i < rank; ++i) {
    const bool gone = folded[static_cast<std::size_t>(i)];
    kept.push_back(gone ? 1 : x.shape[i]);
    if (!gone || keepdims) result.push_back(gone ? 1 : x.shape[i]);
  }
  std::vector<Row> groups(static_cast<std::size_t>(kept.elements()));
  for_each_index(x.shape, [&](const Index& index) {
    std::size_t group = 0;
    for (std::size_t i = 0; i < index.size(); ++i)
      group = group * static_cast<std::size_t>(kept[static_cast<std::int64_t>(i)]) +
              (folded[i] ? 0 : static_cast<std::size_t>(index[i]));
    groups[group].push_back(at(x, index));
  });
  Array out{result, {}};
  for (const Row& g : groups) out.values.push_back(f(g));
  return out;
}

/// The array whose rows along `axis` are f(row); their length may change.
template <class F>
Array along(const Array& x, int axis, F f) {
  const int rank = x.shape.rank();
  const auto a = static_cast<std::size_t>(axis < 0 ? axis + rank : axis);
  reel::Shape outer = x.shape;
  outer[static_cast<std::int64_t>(a)] = 1;
  Array out{x.shape, {}};
  bool first = true;
  for_each_index(outer, [&](Index index) {
    Row row;
    for (std::int64_t k = 0; k < x.shape[static_cast<std::int64_t>(a)]; ++k) {
      index[a] = k;
      row.push_back(at(x, index));
    }
    const Row done = f(row);
    if (std::exchange(first, false)) {
      out.shape[static_cast<std::int64_t>(a)] = static_cast<std::int64_t>(done.size());
      out.values.resize(static_cast<std::size_t>(out.shape.elements()));
    }
    for (std::size_t k = 0; k < done.size(); ++k) {
      index[a] = static_cast<std::int64_t>(k);
      at(out, index) = done[k];
    }
  });
  return out;
}

inline Real total(const Row& r) {
  Real sum = 0;
  for (Real v : r) sum += v;
  return sum;
}

}  // namespace cases
