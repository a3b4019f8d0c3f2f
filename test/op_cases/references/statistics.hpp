// Statistics of rows by their definitions, over any numbers.
#pragma once
#include "reductions.hpp"

namespace cases {

template <class N>
N weighted_mean_of(const RowOf<N>& row, const RowOf<N>& weights) {
  const N all = total(weights);
  require<N>(less(all, N(-0.1L)) || less(N(0.1L), all));
  return rounded(inner_product(row, weights) / all, 8);
}
/// [v, v] of the rows x [v, n]: covariances, or correlations.
template <class N>
ArrayOf<N> covariances_of(const ArrayOf<N>& x, Real ddof, bool correlations) {
  require<N>(x.shape[1] > 1);
  const ArrayOf<N> c = along(x, 1, [](RowOf<N> row) {
    const N mean = rounded(total(row) / static_cast<Real>(row.size()), 2);
    for (N& v : row) v -= mean;
    return row;
  });
  const auto product = [&](std::int64_t i, std::int64_t j) {
    N sum = 0;
    for (std::int64_t k = 0; k < x.shape[1]; ++k) sum += at(c, {i, k}) * at(c, {j, k});
    return sum;
  };
  return build<N>({x.shape[0], x.shape[0]}, [&](const Index& i) {
    const N z = product(i[0], i[1]);
    if (!correlations) return rounded(z / (static_cast<Real>(x.shape[1]) - ddof), 32);
    const N squares = product(i[0], i[0]) * product(i[1], i[1]);
    require<N>(less(N(1e-3L), squares));
    return rounded(z / sqrt(squares), 32);
  });
}
/// 0, with derivative 0, of equal rows.
template <class N>
N distance_of(const RowOf<N>& a, const RowOf<N>& b, Real p) {
  RowOf<N> v;
  for (std::size_t k = 0; k < a.size(); ++k) v.push_back(a[k] - b[k]);
  return rounded(norm_of(v, p), 16);
}
template <class N>
RowOf<N> row_at(const ArrayOf<N>& x, Index index) {
  RowOf<N> row;
  index.push_back(0);
  for (std::int64_t& k = index.back(); k < x.shape[-1]; ++k) row.push_back(broadcast_at(x, index));
  return row;
}
/// Of x [..., n, d] and y [..., m, d], whose leading axes broadcast: [..., n, m].
template <class N>
ArrayOf<N> cdist_of(ArraysOf<N> x, Real p) {
  const auto leading = [](const Extents& s) { return Extents(s.begin(), s.end() - 2); };
  Extents shape = broadcast(leading(x[0].shape), leading(x[1].shape));
  shape.push_back(x[0].shape[-2]), shape.push_back(x[1].shape[-2]);
  return build<N>(shape, [&](const Index& i) {
    Index a(i.begin(), i.end() - 1), b(i.begin(), i.end() - 2);
    b.push_back(i.back());
    return distance_of(row_at(x[0], a), row_at(x[1], b), p);
  });
}
template <class N>
ArrayOf<N> pdist_of(const ArrayOf<N>& x) {
  RowOf<N> all;
  for (std::int64_t i = 0; i < x.shape[0]; ++i)
    for (std::int64_t j = i + 1; j < x.shape[0]; ++j) all.push_back(distance_of(row_at(x, {i}), row_at(x, {j}), 2));
  return {{std::ssize(all)}, all};
}

/// Where the mask is above 0; a row without is 0.
template <class N>
RowOf<N> masked_softmax_of(RowOf<N> row, const RowOf<N>& mask) {
  N sum = 0;
  std::vector<bool> here;
  for (std::size_t k = 0; k < row.size(); ++k) {
    here.push_back(less(N(0), mask[k]));
    if (here[k]) sum += exp(row[k]);
  }
  for (std::size_t k = 0; k < row.size(); ++k) row[k] = here[k] ? rounded(exp(row[k]) / sum, 16) : N(0);
  return row;
}
/// log |sum w exp(x)|
template <class N>
N weighted_log_sum_exp_of(const RowOf<N>& row, const RowOf<N>& weights) {
  N sum = 0;
  double size = 1;
  for (std::size_t k = 0; k < row.size(); ++k) {
    sum += rounded(exp(row[k]), 4) * weights[k];
    size = std::max(size, static_cast<double>(std::abs(value_of(row[k]))));
  }
  require<N>(!less(sum, N(0.1L)));
  return widened(rounded(log(abs(sum)), 48), 16, size);
}
template <class N>
RowOf<N> clipped_by_norm(RowOf<N> row, const N& limit) {
  const N squares = inner_product(row, row);
  require<N>(!same(squares, limit * limit));  // a kink
  if (less(squares, limit * limit)) return row;
  const N factor = rounded(limit / sqrt(squares), 16);
  for (N& v : row) v *= factor;
  return row;
}
/// NumPy's gradient by Lagrange's polynomial through three samples at t, or two at edges of first order.
template <class N>
RowOf<N> slopes_of(const RowOf<N>& f, const RowOf<N>& t, bool second_order_edges) {
  const auto derivative = [&](std::size_t first, std::size_t count, std::size_t at) {
    N y = 0;
    for (std::size_t i = first; i < first + count; ++i) {
      N basis = 0;
      for (std::size_t skip = first; skip < first + count; ++skip) {
        if (skip == i) continue;
        N term = 1 / (t[i] - t[skip]);
        for (std::size_t j = first; j < first + count; ++j)
          if (j != i && j != skip) term *= (t[at] - t[j]) / (t[i] - t[j]);
        basis += term;
      }
      y += f[i] * basis;
    }
    return rounded(y, 4);
  };
  RowOf<N> y;
  const std::size_t n = f.size(), edge = second_order_edges ? 3 : 2;
  require<N>(n >= edge);
  for (std::size_t at = 0; at < n; ++at)
    y.push_back(at == 0       ? derivative(0, edge, at)
                : at + 1 == n ? derivative(n - edge, edge, at)
                              : derivative(at - 1, 3, at));
  return y;
}
template <class N>
RowOf<N> coordinates_of(std::size_t n, const N& h) {
  RowOf<N> t;
  for (std::size_t i = 0; i < n; ++i) t.push_back(static_cast<Real>(i) * h);
  return t;
}
/// The nearest monotonic row: blocks are pooled from the left until none is above (or below) its right neighbour.
template <class N>
RowOf<N> isotonic_of(const RowOf<N>& row, bool increasing) {
  std::vector<RowOf<N>> pools;
  for (const N& v : row) {
    pools.push_back({v});
    while (pools.size() > 1) {
      const RowOf<N> last = pools.back(), before = pools[pools.size() - 2];
      if (!(increasing ? less(mean_of(last), mean_of(before)) : less(mean_of(before), mean_of(last)))) break;
      pools.pop_back();
      pools.back().insert(pools.back().end(), last.begin(), last.end());
    }
  }
  RowOf<N> y;
  for (const RowOf<N>& pool : pools) y.insert(y.end(), pool.size(), mean_of(pool));
  return y;
}

}  // namespace cases
