// Sorting and selection of rows by insertion, places in sorted rows by counting, over any numbers.
#pragma once
#include <reel/ops/sorting.hpp>

#include "reductions.hpp"

namespace cases {

/// Positions in ascending or descending order; equal elements stay as they stand.
template <class N>
std::vector<std::size_t> order_of(const RowOf<N>& row, bool descending) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < row.size(); ++i) {
    std::size_t to = order.size();
    while (to > 0 && (descending ? less(row[order[to - 1]], row[i]) : less(row[i], row[order[to - 1]]))) --to;
    order.insert(order.begin() + static_cast<std::ptrdiff_t>(to), i);
  }
  return order;
}
template <class N>
RowOf<N> sorted(const RowOf<N>& row, bool descending) {
  RowOf<N> y;
  for (const std::size_t i : order_of(row, descending)) y.push_back(row[i]);
  return y;
}
template <class N>
RowOf<N> positions_of(const RowOf<N>& row, bool descending) {
  RowOf<N> y;
  for (const std::size_t i : order_of(row, descending)) y.push_back(N(static_cast<Real>(i)));
  return y;
}
template <class N>
RowOf<N> first_of(const RowOf<N>& row, std::size_t count, bool descending) {
  require<N>(count <= row.size());
  RowOf<N> y = sorted(row, descending);
  y.resize(count);
  return y;
}
template <class N>
N kth_of(const RowOf<N>& row, std::size_t k) {
  require<N>(k > 0 && k <= row.size());
  return sorted(row, false)[k - 1];
}
template <class N>
RowOf<N> distinct(const RowOf<N>& row) {
  RowOf<N> y;
  for (const N& v : sorted(row, false))
    if (y.empty() || !same(y.back(), v)) y.push_back(v);
  return y;
}

/// NumPy's quantile by the definition of each method.
template <class N>
N quantile_of(const RowOf<N>& row, Real q, reel::QuantileMethod method = reel::QuantileMethod::linear) {
  using enum reel::QuantileMethod;
  require<N>(!row.empty());
  const RowOf<N> s = sorted(row, false);
  const Real n = static_cast<Real>(s.size()), rank = (n - 1) * q;
  const auto element = [&](Real k) { return s[static_cast<std::size_t>(std::clamp(k, 0.0L, n - 1))]; };
  const auto between = [&](Real place) {
    const Real inside = std::clamp(place, 0.0L, n - 1), low = std::floor(inside);
    return inside == low ? element(low) : element(low) + (element(low + 1) - element(low)) * (inside - low);
  };
  switch (method) {
    case lower:
      return element(std::floor(rank));
    case higher:
      return element(std::ceil(rank));
    case nearest:
      return element(std::nearbyint(rank));
    case midpoint:
      return (element(std::floor(rank)) + element(std::ceil(rank))) / 2;
    case hazen:
      return between(n * q - 0.5L);
    case weibull:
      return between((n + 1) * q - 1);
    case median_unbiased:
      return between((n + 1.0L / 3) * q - 2.0L / 3);
    case linear:
      break;
  }
  return between(rank);
}
inline constexpr auto median_of = [](const auto& row) { return rounded(quantile_of(row, 0.5L), 2); };

/// How many elements of the row, or of the row of the same batch, stand before each value.
template <class N>
ArrayOf<N> places_of(const ArrayOf<N>& table, const ArrayOf<N>& values, bool right) {
  return build<N>(values.shape, [&](const Index& i) {
    const std::int64_t n = table.shape[-1], row = table.shape.rank() > 1 ? i[0] : 0;
    Real count = 0;
    for (std::int64_t k = 0; k < n; ++k) {
      const N& other = table.values[static_cast<std::size_t>(row * n + k)];
      count += right ? !less(at(values, i), other) : less(other, at(values, i));
    }
    return N(count);
  });
}

}  // namespace cases
