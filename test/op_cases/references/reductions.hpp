// Reductions and scans of rows by their definitions, over any numbers.
#pragma once
#include <algorithm>

#include "../naive.hpp"

namespace cases {

template <class Row>
using NumberOf = typename std::remove_cvref_t<Row>::value_type;

template <class N>
N inner_product(const RowOf<N>& a, const RowOf<N>& b) {
  N sum = 0;
  for (std::size_t k = 0; k < a.size(); ++k) sum += a[k] * b[k];
  return sum;
}
inline constexpr auto product_of = [](const auto& row) {
  NumberOf<decltype(row)> product = 1;
  for (const auto& v : row) product = product * v;
  return product;
};
/// The largest (sign 1) or smallest (-1) element; ties share.
template <class N>
N extreme_of(const RowOf<N>& row, int sign) {
  require<N>(!row.empty());
  if (row.empty()) return N(NAN);
  N best = row[0];
  for (const N& v : row)
    if (sign > 0 ? less(best, v) : less(v, best)) best = v;
  N sum = 0;
  int ties = 0;
  for (const N& v : row)
    if (same(v, best)) sum += v, ++ties;
  return ties == 1 ? best : with_value(sum * (1.0L / static_cast<Real>(ties)), best);
}
inline constexpr auto largest_of = [](const auto& row) { return extreme_of(row, 1); };
inline constexpr auto smallest_of = [](const auto& row) { return extreme_of(row, -1); };
inline constexpr auto range_of = [](const auto& row) { return extreme_of(row, 1) - extreme_of(row, -1); };
/// The first of the largest (sign 1) or smallest (-1) elements.
template <class N>
std::size_t position_of_extreme(const RowOf<N>& row, int sign) {
  require<N>(!row.empty());
  std::size_t best = 0;
  for (std::size_t k = 1; k < row.size(); ++k)
    if (sign > 0 ? less(row[best], row[k]) : less(row[k], row[best])) best = k;
  return best;
}
template <int sign>
constexpr auto argument_of =
    [](const auto& row) { return NumberOf<decltype(row)>(static_cast<Real>(position_of_extreme(row, sign))); };
inline constexpr auto any_of = [](const auto& row) {
  Real any = 0;
  for (const auto& v : row) any = any != 0 || !is_zero(v);
  return NumberOf<decltype(row)>(any);
};
inline constexpr auto all_of = [](const auto& row) {
  Real all = 1;
  for (const auto& v : row) all = all != 0 && !is_zero(v);
  return NumberOf<decltype(row)>(all);
};

inline constexpr auto mean_of = [](const auto& row) {
  require<NumberOf<decltype(row)>>(!row.empty());
  const auto mean = total(row) / static_cast<Real>(row.size());
  return row.size() > 1 ? rounded(mean, 2) : mean;  // not exact: it may multiply by 1 / n
};
/// Of complex numbers, the mean square of distances: a real number.
template <class N>
N variance_of(const RowOf<N>& row, Real ddof) {
  require<N>(static_cast<Real>(row.size()) > ddof);
  const N mean = mean_of(row);
  N sum = 0;
  for (const N& v : row) sum += squared_size(v - mean);
  return rounded(sum / (static_cast<Real>(row.size()) - ddof), 4);
}
/// 0 of equal elements, with derivative 0.
template <class N>
N deviation_of(const RowOf<N>& row, Real ddof) {
  const N variance = variance_of(row, ddof);
  bool equal = true;
  for (const N& v : row) equal = equal && same(v, row[0]);
  return equal ? N(0) : rounded(sqrt(variance), 8);
}
/// (sum |x|^p)^(1/p); 0, with derivative 0, of zeros.
template <class N>
N norm_of(const RowOf<N>& row, Real p) {
  require<N>(!row.empty() || (p >= 0 && !std::isinf(p)));
  RowOf<N> sizes;
  bool zero = true;
  for (const N& v : row) {
    sizes.push_back(size_of(v));
    zero = zero && is_zero(sizes.back());
  }
  if (zero) return N(0);
  if (std::isinf(p)) return extreme_of(sizes, 1);
  if (p == 0) {
    Real count = 0;
    for (const N& v : sizes) count += !is_zero(v);
    return N(count);
  }
  N sum = 0;
  for (std::size_t k = 0; k < row.size(); ++k) {
    if (p == 2) {
      sum += squared_size(row[k]);
    } else if (!is_zero(sizes[k])) {
      sum += p == 1 ? sizes[k] : pow(sizes[k], p);
    } else {
      require<N>(p >= 2 || p == 1);  // a derivative of some order is infinite there
    }
  }
  return rounded(p == 1 ? sum : pow(sum, 1 / p), 24);
}

/// The error of the value does not become smaller than that of its largest term.
inline constexpr auto log_sum_exp_of = [](const auto& row) {
  using N = NumberOf<decltype(row)>;
  require<N>(!row.empty());
  N sum = 0;
  double size = 1;
  for (const N& v : row) {
    sum += exp(v);
    size = std::max(size, static_cast<double>(std::abs(value_of(v))));
  }
  return widened(rounded(log(sum), 24), 8, size);
};
template <class N>
RowOf<N> log_softmax_of(RowOf<N> row) {
  N sum = 0;
  for (const N& v : row) sum += exp(v);
  const N all = log(sum);
  for (N& v : row) v = rounded(v - all, 8);
  return row;
}
template <class N>
RowOf<N> softmax_of(RowOf<N> row) {
  const N all = log_sum_exp_of(row);
  for (N& v : row) v = rounded(exp(v - all), 8);
  return row;
}

// ---- Scans

/// f(row so far, element) from `start` on; exclusive: without the own element.
template <class N, class F>
RowOf<N> scan(RowOf<N> row, bool exclusive, bool reverse, Real start, F f) {
  if (reverse) row = reversed(row);
  N running = start;
  for (N& v : row) {
    const N next = f(running, v);
    v = exclusive ? running : next;
    running = next;
  }
  return reverse ? reversed(row) : row;
}
template <class N>
RowOf<N> cumsum_of(const RowOf<N>& row, bool exclusive, bool reverse) {
  return scan(row, exclusive, reverse, 0, [](const N& a, const N& b) { return a + b; });
}
template <class N>
RowOf<N> cumprod_of(const RowOf<N>& row, bool exclusive, bool reverse) {
  return scan(row, exclusive, reverse, 1, [](const N& a, const N& b) { return a * b; });
}
/// The largest (sign 1) or smallest (-1) element so far; of equal ones the last.
template <class N>
RowOf<N> running_extreme_of(RowOf<N> row, int sign, bool reverse) {
  if (reverse) row = reversed(row);
  for (std::size_t k = 1; k < row.size(); ++k)
    if (sign > 0 ? less(row[k], row[k - 1]) : less(row[k - 1], row[k])) row[k] = row[k - 1];
  return reverse ? reversed(row) : row;
}
template <class N>
RowOf<N> logcumsumexp_of(RowOf<N> row, bool reverse) {
  if (reverse) row = reversed(row);
  RowOf<N> y, so_far;
  for (const N& v : row) {
    so_far.push_back(v);
    y.push_back(log_sum_exp_of(so_far));
  }
  return reverse ? reversed(y) : y;
}
template <class N>
RowOf<N> differences_of(RowOf<N> row, std::int64_t order) {
  for (; order > 0 && !row.empty(); --order) {
    for (std::size_t k = 0; k + 1 < row.size(); ++k) row[k] = row[k + 1] - row[k];
    row.pop_back();
  }
  return row;
}

}  // namespace cases
