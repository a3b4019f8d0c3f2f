// Products of vectors, matrices and arrays over N, as sums over indices: of complex numbers, too.
#pragma once
#include <map>
#include <string>

#include "matrices.hpp"

namespace cases::matrices {

/// Of vectors, matrices or batches.
template <class N>
ArrayOf<N> matrix_product(ArrayOf<N> a, ArrayOf<N> b, bool transpose_a = false, bool transpose_b = false) {
  const bool row = a.shape.rank() == 1, column = b.shape.rank() == 1;
  if (row) a.shape.insert(0, 1);
  if (column) b.shape.push_back(1);
  if (transpose_a) a = flipped(a);
  if (transpose_b) b = flipped(b);
  require<N>(a.shape[-1] == b.shape[-2]);
  ArrayOf<N> y = times(a, b);
  if (row) y.shape.erase(-2);
  if (column) y.shape.pop_back();
  return y;
}

/// einsum's sums of products over letters, "ij,jk->ik".
template <class N>
ArrayOf<N> products_summed(const std::string& subscripts, ArraysOf<N> x) {
  const std::size_t arrow = subscripts.find('-');
  const std::string result = subscripts.substr(arrow + 2);
  std::vector<std::string> letters(1);
  for (const char c : subscripts.substr(0, arrow))
    if (c == ',')
      letters.emplace_back();
    else
      letters.back() += c;
  std::map<char, std::int64_t> extent;
  for (std::size_t i = 0; i < x.size(); ++i)
    for (std::size_t a = 0; a < letters[i].size(); ++a) {
      const std::int64_t n = x[i].shape.at(a);
      std::int64_t& e = extent.try_emplace(letters[i][a], n).first->second;
      require<N>(e == 1 || n == 1 || e == n);
      if (e == 1) e = n;
    }
  std::string all = result;
  for (const auto& [c, n] : extent)
    if (all.find(c) == std::string::npos) all += c;
  Extents shape, space;
  for (const char c : result) shape.push_back(extent[c]);
  for (const char c : all) space.push_back(extent[c]);
  ArrayOf<N> y = filled<N>(shape, 0);
  for_each_index(space, [&](const Index& k) {
    N product(1);
    for (std::size_t o = 0; o < x.size(); ++o) {
      Index at_operand;
      for (const char c : letters[o]) at_operand.push_back(k[all.find(c)]);
      const N& factor = broadcast_at(x[o], at_operand);
      product = o == 0 ? factor : product * factor;
    }
    at(y, Index(k.begin(), k.begin() + static_cast<std::ptrdiff_t>(result.size()))) += product;
  });
  return y;
}
/// Over pairs of axes.
template <class N>
ArrayOf<N> tensor_product(ArraysOf<N> x, const std::vector<std::pair<std::size_t, std::size_t>>& axes) {
  std::string a = std::string("abcd").substr(0, x[0].shape.size()),
              b = std::string("efgh").substr(0, x[1].shape.size());
  for (const auto& [i, j] : axes) {
    require<N>(x[0].shape.at(i) == x[1].shape.at(j));
    b[j] = a[i];
  }
  std::string result;
  for (const char c : a)
    if (b.find(c) == std::string::npos) result += c;
  for (const char c : b)
    if (a.find(c) == std::string::npos) result += c;
  return products_summed(a + "," + b + "->" + result, x);
}
/// Over the last axis of the first and the last but one of the second.
template <class N>
ArrayOf<N> dot_product(ArraysOf<N> x) {
  const std::size_t n = x[0].shape.size(), m = x[1].shape.size();
  if (n == 0 || m == 0) return tensor_product(x, {});
  return tensor_product(x, {{n - 1, m > 1 ? m - 2 : 0}});
}
template <class N>
ArrayOf<N> outer_product(ArraysOf<N> x) {
  const auto flat = [](const ArrayOf<N>& a) { return as(a, {a.shape.elements()}); };
  const ArrayOf<N> vectors[] = {flat(x[0]), flat(x[1])};
  return tensor_product(ArraysOf<N>(vectors), {});
}

template <class N>
ArrayOf<N> kronecker(ArraysOf<N> x) {
  Extents a = x[0].shape, b = x[1].shape, shape;
  while (a.rank() < b.rank()) a.insert(0, 1);
  while (b.rank() < a.rank()) b.insert(0, 1);
  for (int d = 0; d < a.rank(); ++d) shape.push_back(a[d] * b[d]);
  return build<N>(shape, [&](Index i) {
    Index of_b = i;
    for (std::size_t d = 0; d < i.size(); ++d) {
      const std::int64_t n = b.at(d);
      of_b[d] = i[d] % n, i[d] /= n;
    }
    return broadcast_at(x[0], i) * broadcast_at(x[1], of_b);
  });
}
template <class N>
ArrayOf<N> cross_product(ArraysOf<N> x, std::int64_t axis = -1) {
  const Extents shape = broadcast(x);
  const std::size_t a = shape.position(axis);
  return build<N>(shape, [&](const Index& i) {
    Index next = i, after = i;
    next[a] = (i[a] + 1) % 3, after[a] = (i[a] + 2) % 3;
    return broadcast_at(x[0], next) * broadcast_at(x[1], after) - broadcast_at(x[0], after) * broadcast_at(x[1], next);
  });
}
/// Over the last axis of both, for each pair of the others.
template <class N>
ArrayOf<N> inner_product(ArraysOf<N> x) {
  if (x[0].shape.empty() || x[1].shape.empty()) return tensor_product(x, {});
  return tensor_product(x, {{x[0].shape.size() - 1, x[1].shape.size() - 1}});
}
template <class N>
N conjugate(const N& x) {
  if constexpr (std::is_same_v<N, random_programs::Num>)
    return {x.re, -x.im};
  else
    return x;
}
/// The first operand's conjugate counts.
template <class N>
ArrayOf<N> vector_product(ArraysOf<N> x) {
  N sum(0);
  for (std::size_t i = 0; i < x[0].values.size(); ++i) sum += conjugate(x[0].values[i]) * x[1].values[i];
  return {{}, {sum}};
}
template <class N>
ArrayOf<N> vectors_product(ArraysOf<N> x, std::int64_t axis = -1) {
  return reduce_along(x, axis, [](const std::vector<RowOf<N>>& rows) {
    N sum(0);
    for (std::size_t i = 0; i < rows[0].size(); ++i) sum += conjugate(rows[0][i]) * rows[1][i];
    return sum;
  });
}
/// Of matrices and vectors, both of which may be batches.
template <class N>
ArrayOf<N> matrix_vector(ArraysOf<N> x) {
  require<N>(x[0].shape[-1] == x[1].shape[-1]);
  return each({x[0], x[1]}, {2, 1}, [](const auto& a, const auto& v) { return (a * v).values; });
}
/// From left to right.
template <class N>
ArrayOf<N> chain_product(ArraysOf<N> x) {
  ArrayOf<N> y = x[0];
  for (std::size_t k = 1; k < x.size(); ++k) y = matrix_product(y, x[k]);
  return y;
}
template <class N>
ArrayOf<N> power_of(const ArrayOf<N>& a, std::int64_t n) {
  return each(a, [n](const MatrixOf<N>& m) {
    MatrixOf<N> y = unit<N>(m.rows);
    for (std::int64_t k = 0; k < n; ++k) y = y * m;
    return y;
  });
}
/// x with the tensor product of a and x over a's last axes equal to b.
template <class N>
ArrayOf<N> tensor_solution(ArraysOf<N> x) {
  const std::int64_t n = x[1].shape.elements();
  Extents shape = x[0].shape;
  for (int d = 0; d < x[1].shape.rank(); ++d) shape.erase(0);
  return as(each_side(as(x[0], {n, n}), as(x[1], {n, 1}), solved<N>), shape);
}
/// Of the first `own` axes against the others.
template <class N>
ArrayOf<N> tensor_inverse(const ArrayOf<N>& a, int own) {
  Extents shape;
  std::int64_t n = 1;
  for (int d = own; d < a.shape.rank(); ++d) shape.push_back(a.shape[d]), n *= a.shape[d];
  for (int d = 0; d < own; ++d) shape.push_back(a.shape[d]);
  return as(each(as(a, {n, n}), inverse<N>), shape);
}

// ---- Norms of matrices

template <class N>
N frobenius_norm(const MatrixOf<N>& a) {
  return sqrt(sum_of_squares(a.values));
}
/// The largest sum of magnitudes of a column, or a row.
template <class N>
N largest_sum(const MatrixOf<N>& a, bool columns) {
  const MatrixOf<N> m = columns ? transposed(a) : a;
  N largest(0);
  for (std::size_t i = 0; i < m.rows; ++i) {
    N sum(0);
    for (std::size_t j = 0; j < m.columns; ++j) {
      require<N>(magnitude(m[i][j]) >= 1e-3L);  // kinks
      sum += abs(m[i][j]);
    }
    require<N>(i == 0 || std::fabs(value_of(sum) - value_of(largest)) >= 1e-2L);  // ties
    if (value_of(largest) < value_of(sum)) largest = sum;
  }
  return largest;
}

}  // namespace cases::matrices
