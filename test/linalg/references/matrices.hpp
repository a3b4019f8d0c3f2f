// Textbook algorithms on matrices of N: long doubles, for the op cases, or jets, for random programs.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "../../op_cases/naive.hpp"

namespace cases::matrices {

using random_programs::Jet;
inline Real magnitude(const auto& x) { return std::fabs(value_of(x)); }
/// With further rounding errors of numbers of this size.
inline Real with_errors(Real x, double) { return x; }
inline Jet with_errors(Jet x, double size) {
  for (int k = 0; k < Jet::count; ++k) x.e[k] += Jet::unit * size;
  return x;
}

template <class N>
struct MatrixOf {
  std::size_t rows = 0, columns = 0;
  RowOf<N> values;

  MatrixOf(std::size_t n = 0, std::size_t m = 0) : rows(n), columns(m), values(n * m) {}
  MatrixOf(std::size_t n, std::size_t m, const RowOf<N>& list) : rows(n), columns(m), values(list) {}
  /// A vector is a column.
  explicit MatrixOf(const ArrayOf<N>& x)
      : rows(static_cast<std::size_t>(x.shape[0])),
        columns(x.shape.rank() == 1 ? 1 : static_cast<std::size_t>(x.shape[1])),
        values(x.values) {}
  N* operator[](std::size_t i) { return values.data() + i * columns; }
  const N* operator[](std::size_t i) const { return values.data() + i * columns; }
  void swap_rows(std::size_t i, std::size_t j) {
    for (std::size_t k = 0; k < columns && i != j; ++k) std::swap((*this)[i][k], (*this)[j][k]);
  }
};

/// The matrix of f(row, column).
template <class N, class F>
MatrixOf<N> made(std::size_t rows, std::size_t columns, const F& f) {
  MatrixOf<N> a(rows, columns);
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < columns; ++j) a[i][j] = f(i, j);
  return a;
}
template <class N>
MatrixOf<N> unit(std::size_t n) {
  return made<N>(n, n, [](std::size_t i, std::size_t j) { return N(i == j ? 1 : 0); });
}
template <class N>
MatrixOf<N> transposed(const MatrixOf<N>& a) {
  return made<N>(a.columns, a.rows, [&](std::size_t i, std::size_t j) { return a[j][i]; });
}
/// The first rows and columns.
template <class N>
MatrixOf<N> leading(const MatrixOf<N>& a, std::size_t rows, std::size_t columns) {
  return made<N>(rows, columns, [&](std::size_t i, std::size_t j) { return a[i][j]; });
}
template <class N>
MatrixOf<N> operator*(const MatrixOf<N>& a, const MatrixOf<N>& b) {
  MatrixOf<N> c(a.rows, b.columns);
  for (std::size_t i = 0; i < a.rows; ++i)
    for (std::size_t k = 0; k < b.rows; ++k)
      for (std::size_t j = 0; j < b.columns; ++j) c[i][j] += a[i][k] * b[k][j];
  return c;
}
/// a + factor b.
template <class N>
MatrixOf<N> sum_of(MatrixOf<N> a, Real factor, const MatrixOf<N>& b) {
  for (std::size_t i = 0; i < a.values.size(); ++i) a.values[i] += N(factor) * b.values[i];
  return a;
}
template <class N>
MatrixOf<N> scaled(MatrixOf<N> a, Real factor) {
  for (N& x : a.values) x = x * N(factor);
  return a;
}
template <class N>
MatrixOf<N> symmetrised(const MatrixOf<N>& a) {
  return scaled(sum_of(a, 1, transposed(a)), 0.5L);
}
template <class N>
MatrixOf<N> triangle(const MatrixOf<N>& a, bool lower, bool unit_diagonal) {
  return made<N>(a.rows, a.columns, [&](std::size_t i, std::size_t j) {
    return i == j ? (unit_diagonal ? N(1) : a[i][j]) : (i > j) == lower ? a[i][j] : N(0);
  });
}

template <class N>
N trace_of(const MatrixOf<N>& a) {
  N sum(0);
  for (std::size_t i = 0; i < a.rows; ++i) sum += a[i][i];
  return sum;
}

// ---- Systems of equations

/// x with a x = b, by Gauss and Jordan's elimination with pivots.
template <class N>
MatrixOf<N> solved(MatrixOf<N> a, MatrixOf<N> b) {
  const std::size_t n = a.rows;
  for (std::size_t c = 0; c < n; ++c) {
    std::size_t pivot = c;
    for (std::size_t r = c + 1; r < n; ++r)
      if (magnitude(a[r][c]) > magnitude(a[pivot][c])) pivot = r;
    require<N>(magnitude(a[pivot][c]) >= 0.02L);
    a.swap_rows(pivot, c), b.swap_rows(pivot, c);
    for (std::size_t r = 0; r < n; ++r) {
      if (r == c) continue;
      const N f = a[r][c] / a[c][c];
      for (std::size_t k = c; k < n; ++k) a[r][k] = a[r][k] - f * a[c][k];
      for (std::size_t k = 0; k < b.columns; ++k) b[r][k] = b[r][k] - f * b[c][k];
    }
  }
  for (std::size_t r = 0; r < n; ++r)
    for (std::size_t k = 0; k < b.columns; ++k) b[r][k] = b[r][k] / a[r][r];
  return b;
}
template <class N>
MatrixOf<N> inverse(const MatrixOf<N>& a) {
  return solved(a, unit<N>(a.rows));
}
/// By permutations, which holds for singular matrices too.
template <class N>
N determinant(const MatrixOf<N>& a) {
  RowOf<std::size_t> order;
  for (std::size_t i = 0; i < a.rows; ++i) order.push_back(i);
  N sum(0);
  do {
    N term(1);
    for (std::size_t i = 0; i < order.size(); ++i) {
      term = term * a[i][order[i]];
      for (std::size_t j = 0; j < i; ++j)
        if (order[j] > order[i]) term = -term;
    }
    sum += term;
  } while (std::next_permutation(order.begin(), order.end()));
  double size = 1;
  for (const N& x : a.values) size = std::max(size, static_cast<double>(magnitude(x)));
  return with_errors(rounded(sum, 8), 8 * size * size * size);
}
template <class N>
N determinant_sign(const MatrixOf<N>& a) {
  return N(value_of(determinant(a)) > 0 ? 1 : -1);
}
template <class N>
N log_determinant(const MatrixOf<N>& a) {
  const N d = determinant(a);
  require<N>(magnitude(d) >= 0.02L);
  return log(abs(d));
}
/// x with t x = b for a triangle t of a, or its transpose.
template <class N>
MatrixOf<N> triangular_solution(const MatrixOf<N>& a, const MatrixOf<N>& b, bool lower, bool transpose,
                                bool unit_diagonal) {
  const MatrixOf<N> t = triangle(a, lower, unit_diagonal);
  return solved(transpose ? transposed(t) : t, b);
}
/// By the normal equations.
template <class N>
MatrixOf<N> pseudoinverse(const MatrixOf<N>& a) {
  const MatrixOf<N> t = transposed(a);
  return a.rows >= a.columns ? solved(t * a, t) : transposed(solved(a * t, a));
}
/// The matrix of its diagonals, the highest first.
template <class N>
MatrixOf<N> banded(const MatrixOf<N>& bands, std::size_t below, std::size_t above) {
  return made<N>(bands.columns, bands.columns, [&](std::size_t i, std::size_t j) {
    return i <= j + below && j <= i + above ? bands[above + i - j][j] : N(0);
  });
}
template <class N>
MatrixOf<N> tridiagonal(const RowOf<N>& lower, const RowOf<N>& diagonal, const RowOf<N>& upper) {
  return made<N>(diagonal.size(), diagonal.size(), [&](std::size_t i, std::size_t j) {
    return i == j ? diagonal[i] : i == j + 1 ? lower[j] : j == i + 1 ? upper[i] : N(0);
  });
}
template <class N>
MatrixOf<N> toeplitz(const RowOf<N>& column, const RowOf<N>& row) {
  return made<N>(column.size(), column.size(),
                 [&](std::size_t i, std::size_t j) { return i >= j ? column[i - j] : row[j - i]; });
}

// ---- Factors

/// l l^T for the lower triangle l of a.
template <class N>
MatrixOf<N> gram(const MatrixOf<N>& a) {
  const MatrixOf<N> l = triangle(a, true, false);
  return l * transposed(l);
}
template <class N>
MatrixOf<N> cholesky(const MatrixOf<N>& a) {
  MatrixOf<N> l(a.rows, a.rows);
  for (std::size_t i = 0; i < a.rows; ++i)
    for (std::size_t j = 0; j <= i; ++j) {
      N sum = a[i][j];
      for (std::size_t k = 0; k < j; ++k) sum = sum - l[i][k] * l[j][k];
      if (i == j) require<N>(value_of(sum) >= 0.01L);
      l[i][j] = i == j ? sqrt(sum) : sum / l[j][j];
    }
  return l;
}
/// The factor's diagonals below those of a matrix of which the same diagonals are given, the main one first.
template <class N>
MatrixOf<N> banded_cholesky(const MatrixOf<N>& bands) {
  const MatrixOf<N> l = cholesky(banded(bands, bands.rows - 1, 0));
  return made<N>(bands.rows, bands.columns,
                 [&](std::size_t i, std::size_t j) { return i + j < l.rows ? l[i + j][j] : N(0); });
}
/// The factor of l l^T + sign x x^T.
template <class N>
MatrixOf<N> updated_cholesky(const MatrixOf<N>& l, const RowOf<N>& x, Real sign) {
  const MatrixOf<N> column(x.size(), 1, x);
  return cholesky(sum_of(gram(l), sign, column * transposed(column)));
}

/// The triangle that Householder's reflections leave of a [m, n] in the first min(m, n) rows, with LAPACK's signs.
template <class N>
MatrixOf<N> upper_factor(MatrixOf<N> a) {
  const std::size_t m = a.rows, n = a.columns;
  for (std::size_t j = 0; j + 1 < m && j < n; ++j) {
    N below(0);
    for (std::size_t i = j + 1; i < m; ++i) below += a[i][j] * a[i][j];
    const N norm = a[j][j] * a[j][j] + below;
    require<N>(value_of(norm) >= 0.01L && magnitude(a[j][j]) >= 1e-3L);
    require<N>(value_of(below) != 0);  // LAPACK leaves such a column, with the other sign than beside it
    RowOf<N> v;
    for (std::size_t i = j; i < m; ++i) v.push_back(a[i][j]);
    v[0] = value_of(v[0]) < 0 ? v[0] - sqrt(norm) : v[0] + sqrt(norm);
    N square(0);
    for (const N& x : v) square += x * x;
    for (std::size_t c = 0; c < n; ++c) {
      N inner(0);
      for (std::size_t i = j; i < m; ++i) inner += v[i - j] * a[i][c];
      for (std::size_t i = j; i < m; ++i) a[i][c] = a[i][c] - N(2) * inner / square * v[i - j];
    }
  }
  return triangle(leading(a, std::min(m, n), n), false, false);
}
/// q = x r^-1 for the first columns x of a: the solution of r^T q^T = x^T.
template <class N>
MatrixOf<N> orthogonal_factor(const MatrixOf<N>& a) {
  const std::size_t k = std::min(a.rows, a.columns);
  return transposed(solved(transposed(leading(upper_factor(a), k, k)), transposed(leading(a, a.rows, k))));
}

template <class N>
MatrixOf<N> lower_lq(const MatrixOf<N>& a) {
  return transposed(upper_factor(transposed(a)));
}
template <class N>
MatrixOf<N> orthogonal_lq(const MatrixOf<N>& a) {
  return transposed(orthogonal_factor(transposed(a)));
}

/// Gauss's elimination with row pivots: L and U in one matrix, and the order of the rows.
template <class N>
MatrixOf<N> packed_factors(MatrixOf<N> a, RowOf<std::size_t>* rows = nullptr) {
  const std::size_t m = a.rows, n = a.columns;
  for (std::size_t i = 0; rows && i < m; ++i) rows->push_back(i);
  for (std::size_t k = 0; k < std::min(m, n); ++k) {
    std::size_t pivot = k;
    for (std::size_t i = k + 1; i < m; ++i)
      if (magnitude(a[i][k]) > magnitude(a[pivot][k])) pivot = i;
    require<N>(magnitude(a[pivot][k]) >= 0.02L);
    for (std::size_t i = k; i < m; ++i)  // near a tie the other pivot gives another program
      require<N>(i == pivot || magnitude(a[pivot][k]) - magnitude(a[i][k]) >= 1e-4L);
    a.swap_rows(k, pivot);
    if (rows) std::swap((*rows)[k], (*rows)[pivot]);
    for (std::size_t i = k + 1; i < m; ++i) {
      a[i][k] = a[i][k] / a[k][k];
      for (std::size_t j = k + 1; j < n; ++j) a[i][j] = a[i][j] - a[i][k] * a[k][j];
    }
  }
  return a;
}
template <class N>
MatrixOf<N> lower_factor(const MatrixOf<N>& a) {
  return triangle(leading(packed_factors(a), a.rows, std::min(a.rows, a.columns)), true, true);
}
template <class N>
MatrixOf<N> gauss_factor(const MatrixOf<N>& a) {
  return triangle(leading(packed_factors(a), std::min(a.rows, a.columns), a.columns), false, false);
}

/// Reflectors 1 - tau v v^T, v the columns of a below the diagonal, applied to those of the identity, the last first.
template <class N>
MatrixOf<N> reflected(const MatrixOf<N>& a, const RowOf<N>& tau) {
  const MatrixOf<N> v = triangle(a, true, true);
  MatrixOf<N> q = leading(unit<N>(std::max(a.rows, a.columns)), a.rows, a.columns);
  for (std::size_t r = tau.size(); r-- > 0;)
    for (std::size_t j = 0; j < q.columns; ++j) {
      N along(0);
      for (std::size_t i = r; i < q.rows; ++i) along += v[i][r] * q[i][j];
      along = along * tau[r];
      for (std::size_t i = r; i < q.rows; ++i) q[i][j] = q[i][j] - along * v[i][r];
    }
  return q;
}

// ---- Spectra

/// Jacobi's rotations: a becomes diagonal, and their product is v.
template <class N>
void rotate(MatrixOf<N>& a, MatrixOf<N>& v) {
  const std::size_t n = a.rows;
  for (std::size_t p = 0; p < n; ++p)
    for (std::size_t q = p + 1; q < n; ++q) {
      const N gap = a[q][q] - a[p][p], beside = a[p][q];
      if (value_of(gap) == 0 && value_of(beside) == 0) continue;
      const N root = sqrt(gap * gap + N(4) * beside * beside);
      const N t = N(2) * beside / (value_of(gap) < 0 ? gap - root : gap + root);
      const N c = N(1) / sqrt(N(1) + t * t), s = t * c;
      const auto turn = [&](N& x, N& y) {
        const N old = x;
        x = c * x - s * y;
        y = s * old + c * y;
      };
      for (std::size_t k = 0; k < n; ++k) turn(a[k][p], a[k][q]), turn(v[k][p], v[k][q]);
      for (std::size_t k = 0; k < n; ++k) turn(a[p][k], a[q][k]);
    }
}
template <class N>
struct Eigen {
  RowOf<N> values;      // ascending
  MatrixOf<N> vectors;  // in columns
};
/// Of a symmetric matrix: first of the numbers alone, then of what that leaves of jets, by angles without a constant
/// term.
template <class N>
Eigen<N> eigen(const MatrixOf<N>& a) {
  const std::size_t n = a.rows;
  MatrixOf<Real> numbers = made<Real>(n, n, [&](std::size_t i, std::size_t j) { return value_of(a[i][j]); });
  MatrixOf<Real> v = unit<Real>(n);
  for (int sweep = 0; sweep < 20; ++sweep) rotate(numbers, v);
  RowOf<std::size_t> order;
  for (std::size_t i = 0; i < n; ++i) order.push_back(i);
  std::sort(order.begin(), order.end(), [&](std::size_t i, std::size_t j) { return numbers[i][i] < numbers[j][j]; });
  for (std::size_t i = 1; i < n; ++i)
    require<N>(numbers[order[i]][order[i]] - numbers[order[i - 1]][order[i - 1]] >= 0.1L);
  MatrixOf<N> vectors = made<N>(n, n, [&](std::size_t i, std::size_t j) { return N(v[i][order[j]]); });
  MatrixOf<N> rest = transposed(vectors) * (a * vectors);
  for (int sweep = 0; sweep < 4; ++sweep) rotate(rest, vectors);
  Eigen<N> e{{}, vectors};
  for (std::size_t i = 0; i < n; ++i) e.values.push_back(rest[i][i]);
  return e;
}
template <class N>
RowOf<N> eigenvalues(const MatrixOf<N>& a) {
  return eigen(symmetrised(a)).values;
}
template <class N>
MatrixOf<N> eigenvectors(const MatrixOf<N>& a) {
  return eigen(symmetrised(a)).vectors;
}
/// By the eigenvalues of a^T a or a a^T, whichever is smaller; the largest first.
template <class N>
RowOf<N> singular_values(const MatrixOf<N>& a) {
  const MatrixOf<N> t = transposed(a);
  RowOf<N> s = eigen(a.rows >= a.columns ? t * a : a * t).values;
  require<N>(s.empty() || value_of(s[0]) >= 0.04L);
  std::reverse(s.begin(), s.end());
  for (N& x : s) x = sqrt(x);
  return s;
}
/// Eigenvectors of a a^T, the largest singular value first.
template <class N>
MatrixOf<N> left_vectors(const MatrixOf<N>& a) {
  const MatrixOf<N> v = eigen(a * transposed(a)).vectors;
  return made<N>(a.rows, std::min(a.rows, a.columns),
                 [&](std::size_t i, std::size_t j) { return v[i][a.rows - 1 - j]; });
}
template <class N>
N sum_of_squares(const RowOf<N>& x) {
  N sum(0);
  for (const N& v : x) sum += v * v;
  return sum;
}
/// The condition number in the norm that is the power mean of singular values: 1 nuclear, 2 Frobenius; else spectral.
template <class N>
N condition(const RowOf<N>& s, int norm) {
  if (norm != 1 && norm != 2) return s.front() / s.back();
  N a(0), b(0);
  for (const N& x : s) a += norm == 1 ? x : x * x, b += N(1) / (norm == 1 ? x : x * x);
  return norm == 1 ? a * b : sqrt(a * b);
}

// ---- Functions of matrices

template <class N>
MatrixOf<N> exponential(const MatrixOf<N>& a) {
  MatrixOf<N> y = unit<N>(a.rows), term = y;
  for (int k = 1; k < 40; ++k) {
    term = scaled(term * a, std::ldexp(Real(1), -6) / k);
    y = sum_of(y, 1, term);
  }
  for (int k = 0; k < 6; ++k) y = y * y;
  return y;
}
/// Newton's iteration, coupled with the inverse of the root (Denman and Beavers).
template <class N>
MatrixOf<N> root(const MatrixOf<N>& a) {
  MatrixOf<N> y = a, z = unit<N>(a.rows);
  for (int k = 0; k < 20; ++k) {
    const MatrixOf<N> next = scaled(sum_of(y, 1, inverse(z)), 0.5L);
    z = scaled(sum_of(z, 1, inverse(y)), 0.5L);
    y = next;
  }
  return y;
}
/// 8 log of the eighth root, by the series of 2 artanh((r - 1) / (r + 1)).
template <class N>
MatrixOf<N> logarithm(const MatrixOf<N>& a) {
  const MatrixOf<N> one = unit<N>(a.rows), r = root(root(root(a)));
  const MatrixOf<N> q = solved(sum_of(r, 1, one), sum_of(r, -1, one)), square = q * q;
  MatrixOf<N> power = q, y = q;
  for (int k = 3; k < 60; k += 2) {
    power = power * square;
    y = sum_of(y, Real(1) / k, power);
  }
  return scaled(y, 16);
}
/// [p, -q; q, p] for a complex matrix p + iq.
template <class N>
MatrixOf<N> embedded(const MatrixOf<N>& p, const MatrixOf<N>& q) {
  const std::size_t n = p.rows;
  return made<N>(2 * n, 2 * n, [&](std::size_t i, std::size_t j) {
    return i / n == j / n ? p[i % n][j % n] : i < n ? -q[i][j % n] : q[i % n][j];
  });
}
/// The upper right block of the exponential of [a, e; 0, a]: its derivative at a along e.
template <class N>
MatrixOf<N> exponential_along(const MatrixOf<N>& a, const MatrixOf<N>& e) {
  const std::size_t n = a.rows;
  const MatrixOf<N> y = exponential(made<N>(2 * n, 2 * n, [&](std::size_t i, std::size_t j) {
    return i / n == j / n ? a[i % n][j % n] : i < n ? e[i][j - n] : N(0);
  }));
  return made<N>(n, n, [&](std::size_t i, std::size_t j) { return y[i][j + n]; });
}
/// x with a x + x b = q, as one system: (a x + x b)_ij = sum_k a_ik x_kj + x_ik b_kj.
template <class N>
MatrixOf<N> sylvester_solution(const MatrixOf<N>& a, const MatrixOf<N>& b, const MatrixOf<N>& q) {
  const std::size_t n = a.rows, m = b.rows;
  const MatrixOf<N> system = made<N>(n * m, n * m, [&](std::size_t i, std::size_t j) {
    const std::size_t p = i / m, r = i % m, k = j / m, l = j % m;
    return (r == l ? a[p][k] : N(0)) + (p == k ? b[l][r] : N(0));
  });
  return {n, m, solved(system, MatrixOf<N>(n * m, 1, q.values)).values};
}

// ---- Batches

template <class N>
ArrayOf<N> array_of(const MatrixOf<N>& a) {
  return {{static_cast<std::int64_t>(a.rows), static_cast<std::int64_t>(a.columns)}, a.values};
}
template <class N>
ArrayOf<N> array_of(const RowOf<N>& x) {
  return {{static_cast<std::int64_t>(x.size())}, x};
}
template <class N>
ArrayOf<N> array_of(const N& x) {
  return {{}, {x}};
}
/// f of the matrices or vectors that the last own[k] axes of operand k are; the axes before them broadcast.
template <class N, std::size_t Count, class F>
ArrayOf<N> each(const ArrayOf<N> (&x)[Count], const int (&own)[Count], const F& f) {
  Extents batch, batches[Count], shape;
  for (std::size_t k = 0; k < Count; ++k) {
    batches[k].assign(x[k].shape.begin(), x[k].shape.end() - own[k]);
    batch = broadcast(batch, batches[k]);
  }
  const auto part = [&](std::size_t k, const Index& i) {
    ArrayOf<N> one{{}, {}};
    one.shape.assign(x[k].shape.end() - own[k], x[k].shape.end());
    const std::int64_t size = one.shape.elements();
    std::int64_t from = 0;
    for (std::size_t d = batches[k].size(), axis = i.size(), stride = static_cast<std::size_t>(size); d-- > 0;) {
      --axis;
      const std::int64_t extent = batches[k].vector::operator[](d);
      from += extent == 1 ? 0 : i[axis] * static_cast<std::int64_t>(stride);
      stride *= static_cast<std::size_t>(extent);
    }
    const auto begin = x[k].values.begin() + static_cast<std::ptrdiff_t>(from);
    if (x[k].values.empty())
      return leading(unit<N>(static_cast<std::size_t>(std::max(one.shape[0], one.shape[-1]))),
                     static_cast<std::size_t>(one.shape[0]), own[k] == 1 ? 1 : static_cast<std::size_t>(one.shape[1]));
    one.values.assign(begin, begin + static_cast<std::ptrdiff_t>(size));
    return MatrixOf<N>(one);
  };
  const auto call = [&]<std::size_t... K>(std::index_sequence<K...>, const Index& i) {
    return array_of(f(part(K, i)...));
  };
  constexpr auto all = std::make_index_sequence<Count>();
  ArrayOf<N> y{batch, {}};
  if (batch.elements() == 0) shape = call(all, Index(batch.size())).shape;
  for_each_index(batch, [&](const Index& i) {
    const ArrayOf<N> one = call(all, i);
    y.values.insert(y.values.end(), one.values.begin(), one.values.end());
    shape = one.shape;
  });
  for (const std::int64_t extent : shape) y.shape.push_back(extent);
  return y;
}
template <class N, class F>
ArrayOf<N> each(const ArrayOf<N>& a, const F& f) {
  return each({a}, {2}, f);
}
/// f(matrix of a, right sides of b), which may be a vector.
template <class N, class F>
ArrayOf<N> each_side(const ArrayOf<N>& a, const ArrayOf<N>& b, const F& f) {
  if (b.shape.rank() > 1) return each({a, b}, {2, 2}, f);
  return each({a, b}, {2, 1}, [&](const auto& m, const auto& right) { return f(m, right).values; });
}
template <class N>
ArrayOf<N> times(const ArrayOf<N>& a, const ArrayOf<N>& b) {
  return each({a, b}, {2, 2}, [](const auto& m, const auto& n) { return m * n; });
}
template <class N>
ArrayOf<N> flipped(const ArrayOf<N>& a) {
  return each(a, transposed<N>);
}
template <class N>
ArrayOf<N> as(const ArrayOf<N>& x, const Extents& shape) {
  return {shape, x.values};
}

}  // namespace cases::matrices
