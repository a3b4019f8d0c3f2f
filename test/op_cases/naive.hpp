// Simple array arithmetic, the reference of everything that is not pointwise. It takes arrays of any number: a
// reference that is written over N is that of the rows and of random programs.
#pragma once
#include <cmath>

#include "../op_cases.hpp"

namespace cases {

using Index = std::vector<std::int64_t>;
template <class N>
using RowOf = std::vector<N>;
using Row = RowOf<Real>;
using random_programs::Unfit;

// What references over N use of long doubles. Of jets: ../random/functions.hpp.
using std::abs, std::cosh, std::exp, std::log, std::pow, std::sinh, std::sqrt, std::tanh;
inline Real value_of(Real x) { return x; }
inline Real without_derivative(Real x) { return x; }
inline Real rounded(Real x, double) { return x; }
inline Real with_value(Real, Real value) { return value; }
inline Real widened(Real x, double, double) { return x; }
inline bool less(Real a, Real b) { return a < b; }
inline bool same(Real a, Real b) { return a == b; }
inline bool is_zero(Real x) { return x == 0; }
inline Real size_of(Real x) { return std::abs(x); }
inline Real squared_size(Real x) { return x * x; }
/// Random programs leave out a call where a derivative jumps or is ill-conditioned; operands of rows are chosen well.
template <class N>
void require(bool fits) {
  if (!std::is_same_v<N, Real> && !fits) throw Unfit();
}

template <class N>
N& at(ArrayOf<N>& a, const Index& index) {
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < index.size(); ++i) offset = offset * a.shape[static_cast<std::int64_t>(i)] + index[i];
  return a.values[static_cast<std::size_t>(offset)];
}
template <class N>
const N& at(const ArrayOf<N>& a, const Index& index) {
  return at(const_cast<ArrayOf<N>&>(a), index);
}

/// The element at the last indices that fit the rank; an extent of 1 repeats.
template <class N>
const N& broadcast_at(const ArrayOf<N>& x, const Index& index) {
  Index from(index.end() - x.shape.rank(), index.end());
  for (std::size_t d = 0; d < from.size(); ++d)
    if (x.shape[static_cast<std::int64_t>(d)] == 1) from[d] = 0;
  return at(x, from);
}
/// The shape that arrays broadcast to.
inline Extents broadcast(Extents a, Extents b) {
  while (a.rank() < b.rank()) a.insert(0, 1);
  while (b.rank() < a.rank()) b.insert(0, 1);
  for (int d = 0; d < a.rank(); ++d) {
    if (a[d] != b[d] && a[d] != 1 && b[d] != 1) throw Unfit();
    if (a[d] == 1) a[d] = b[d];
  }
  return a;
}
template <class N>
Extents broadcast(ArraysOf<N> x) {
  Extents shape;
  for (const ArrayOf<N>& one : x) shape = broadcast(shape, one.shape);
  return shape;
}

/// Calls f(index) for every index of the shape, row-major.
template <class F>
void for_each_index(const Extents& shape, F f) {
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
template <class N = Real, class F>
ArrayOf<N> build(const Extents& shape, F f) {
  ArrayOf<N> result{shape, {}};
  for_each_index(shape, [&](const Index& i) { result.values.push_back(f(i)); });
  return result;
}
template <class N>
ArrayOf<N> filled(const Extents& shape, Real value) {
  return {shape, std::vector<N>(static_cast<std::size_t>(shape.elements()), N(value))};
}

/// f(pointer to the elements of the operands) at each index; the operands broadcast.
template <class N, class F>
ArrayOf<N> by_elements(ArraysOf<N> x, F f) {
  return build<N>(broadcast(x), [&](const Index& i) {
    std::vector<N> v;
    for (const ArrayOf<N>& one : x) v.push_back(broadcast_at(one, i));
    return f(v.data());
  });
}
/// The same as a reference of a row.
template <auto F>
Array of_elements(Arrays x) {
  return by_elements(x, F);
}

/// f of the elements along the axes (all if none are given), in their order.
template <class N, class F>
ArrayOf<N> fold(const ArrayOf<N>& x, std::vector<int> axes, bool keepdims, F f) {
  const int rank = x.shape.rank();
  std::vector<bool> folded(static_cast<std::size_t>(rank), axes.empty());
  for (int a : axes) folded[static_cast<std::size_t>(a < 0 ? a + rank : a)] = true;
  Extents kept, result;
  for (int i = 0; i < rank; ++i) {
    const bool gone = folded[static_cast<std::size_t>(i)];
    kept.push_back(gone ? 1 : x.shape[i]);
    if (!gone || keepdims) result.push_back(gone ? 1 : x.shape[i]);
  }
  std::vector<RowOf<N>> groups(static_cast<std::size_t>(kept.elements()));
  for_each_index(x.shape, [&](const Index& index) {
    std::size_t group = 0;
    for (std::size_t i = 0; i < index.size(); ++i)
      group = group * static_cast<std::size_t>(kept[static_cast<std::int64_t>(i)]) +
              (folded[i] ? 0 : static_cast<std::size_t>(index[i]));
    groups[group].push_back(at(x, index));
  });
  ArrayOf<N> out{result, {}};
  for (const RowOf<N>& g : groups) out.values.push_back(f(g));
  return out;
}

/// The array whose rows along `axis` are f(rows of the operands there); their length may change. Operands broadcast.
template <class N, class F>
ArrayOf<N> along_all(ArraysOf<N> x, std::int64_t axis, F f) {
  ArrayOf<N> out{broadcast(x), {}};
  const Extents shape = out.shape;
  const auto a = static_cast<std::int64_t>(shape.position(axis));
  Extents outer = shape;
  outer[a] = 1;
  bool first = true;
  for_each_index(outer, [&](Index index) {
    std::vector<RowOf<N>> rows(x.size());
    std::int64_t& k = index[static_cast<std::size_t>(a)];
    for (k = 0; k < shape[a]; ++k)
      for (std::size_t n = 0; n < x.size(); ++n) rows[n].push_back(broadcast_at(x[n], index));
    const RowOf<N> done = f(rows);
    if (std::exchange(first, false)) {
      out.shape[a] = static_cast<std::int64_t>(done.size());
      out.values.resize(static_cast<std::size_t>(out.shape.elements()));
    }
    for (k = 0; k < static_cast<std::int64_t>(done.size()); ++k) at(out, index) = done[static_cast<std::size_t>(k)];
  });
  return out;
}
template <class N, class F>
ArrayOf<N> along(const ArrayOf<N>& x, std::int64_t axis, F f) {
  return along_all(ArraysOf<N>(&x, 1), axis, [&](const std::vector<RowOf<N>>& rows) { return f(rows[0]); });
}
/// The same without the axis: f gives a number.
template <class N, class F>
ArrayOf<N> reduce_along(ArraysOf<N> x, std::int64_t axis, F f) {
  Extents shape = broadcast(x);
  ArrayOf<N> y = along_all(x, axis, [&](const std::vector<RowOf<N>>& rows) { return RowOf<N>{f(rows)}; });
  shape.erase(axis);
  return {shape, std::move(y.values)};
}

inline constexpr auto total = [](const auto& row) {
  typename std::remove_cvref_t<decltype(row)>::value_type sum = 0;
  for (const auto& v : row) sum += v;
  return sum;
};
template <class N>
RowOf<N> reversed(RowOf<N> r) {
  return {r.rbegin(), r.rend()};
}

}  // namespace cases
