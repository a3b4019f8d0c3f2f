// 1. Scale rows and columns by powers of two.
// 2. Factorise a = L D U with complete pivoting. det(D + e x) remains, with x = L^-1 h U^-1.
// 3. Up to order 8, expand it into minors. Above, for a derivative of degree K (K rows come from directions), eliminate
//    the first n - K rows and expand the Schur complement of order K. Terms divided by small pivots are at most the
//    largest product of n - K pivots, which has the magnitude of the result.
#pragma once
#include <limits>

#include "linalg/dense_factors.hpp"
#include "linalg/determinant/directional_derivative.hpp"
#include "linalg/determinant/series.hpp"

namespace reel::loops::determinants {
using kernels::Diagonal, kernels::Side, kernels::Transposed, kernels::Triangle;

template <class Number>
Number scale_exponent(const Number& x, std::int64_t exponent) {
  return scale_by_power(x, clamped_exponent(exponent));
}

// The direction in scaled rows and columns, in the order of the pivots, divided by its largest power of two.
template <class Number>
Matrix<Number> balanced_direction(const Matrix<Number>& h, const Pivoted<Number>& to, std::int64_t n,
                                  std::int64_t& exponent) {
  std::int64_t most = std::numeric_limits<std::int64_t>::min();
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j)
      if (const double x = magnitude(h[at(i * n + j)]); x != 0)
        most = std::max(most, std::ilogb(x) + to.balance.exponent(i, j));
  Matrix<Number> y(at(n * n));
  if (most == std::numeric_limits<std::int64_t>::min()) return y;
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      const std::int64_t row = to.order.rows[at(i)], column = to.order.columns[at(j)];
      y[at(i * n + j)] = scale_exponent(h[at(row * n + column)], to.balance.exponent(row, column) - most);
    }
  exponent += most;
  return y;
}

template <class Number>
void solve_unit(const Matrix<Number>& lu, Side side, Triangle triangle, Transposed transposed, std::int64_t n,
                Matrix<Number>& x) {
  require_success(dense::trsm<Number>(side, triangle, transposed, Diagonal::unit, n, n, lu.data(), n, x.data(), n));
}

constexpr double zero_pivot = 0x1p-200;  // relative to the first; those below are rounding errors of a singular matrix

// Minus the largest exponent of the elements at position(0), position(1), ..., each with its own scale added.
template <class Number, class Position>
std::int64_t balancing(const Matrix<Number>& a, std::int64_t n, const std::vector<std::int64_t>& other,
                       const Position& position) {
  std::int64_t most = std::numeric_limits<std::int64_t>::min();
  for (std::int64_t k = 0; k < n; ++k)
    if (const double x = magnitude(a[at(position(k))]); x != 0) most = std::max(most, std::ilogb(x) + other[at(k)]);
  return most == std::numeric_limits<std::int64_t>::min() ? 0 : -most;
}

template <class Number>
Balance balance_of(const Matrix<Number>& a, std::int64_t n) {
  Balance b{std::vector<std::int64_t>(at(n)), std::vector<std::int64_t>(at(n))};
  for (std::int64_t i = 0; i < n; ++i)
    b.rows[at(i)] = balancing(a, n, b.columns, [&](std::int64_t k) { return i * n + k; });
  for (std::int64_t j = 0; j < n; ++j)
    b.columns[at(j)] = balancing(a, n, b.rows, [&](std::int64_t k) { return k * n + j; });
  for (std::int64_t i = 0; i < n; ++i) b.total += b.rows[at(i)] + b.columns[at(i)];
  return b;
}

// Directions as x = L^-1 h U^-1.
template <class Number>
struct Reduced {
  std::vector<Matrix<Number>> x;
  std::int64_t exponent = 0;  // of the result, from the scaling of directions
};

template <class Number>
Reduced<Number> reduce_by_pivots(const DirectionalDerivative<Number>& p, const Pivoted<Number>& a) {
  Reduced<Number> r;
  for (const Matrix<Number>& h : p.directions) {
    r.x.push_back(balanced_direction(h, a, p.n, r.exponent));
    solve_unit(a.lu, Side::left, Triangle::lower, Transposed::no, p.n, r.x.back());
    solve_unit(a.lu, Side::right, Triangle::upper, Transposed::no, p.n, r.x.back());
  }
  return r;
}

template <class Number>
Matrix<Number> block(const Matrix<Number>& x, std::int64_t n, std::int64_t row, std::int64_t column, std::int64_t rows,
                     std::int64_t columns) {
  Matrix<Number> y(at(rows * columns));
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j) y[at(i * columns + j)] = x[at((row + i) * n + column + j)];
  return y;
}

template <class Number>
void divide_rows(Matrix<Number>& x, const Matrix<Number>& by, std::int64_t rows, std::int64_t columns) {
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j) x[at(i * columns + j)] /= by[at(i)];
}
template <class Number>
void divide_columns(Series<Number>& x, const Matrix<Number>& by) {
  for (Matrix<Number>& m : x.coefficients)
    for (std::size_t i = 0; i < m.size(); ++i) m[i] /= by[i % at(x.columns)];
}

// D + sum_i e_i x_i in blocks: the first `head` rows and columns, and the others.
template <class Number>
struct Blocks {
  std::int64_t n, head, tail;
  Polynomial<Number> determinant;  // of the first block, without the factor of its pivots
  Series<Number> inverse;          // of the first block, without the division of its columns by the pivots
  Series<Number> right, below;     // inverse times the block on its right; the block below times inverse
  Series<Number> schur;            // Schur complement of the first block
};

template <class Number>
Blocks<Number> blocks_of(const std::vector<Matrix<Number>>& x, const Matrix<Number>& pivots,
                         const DirectionalDerivative<Number>& p) {
  const std::int64_t n = p.n, head = n - p.degree(), tail = p.degree();
  std::vector<Matrix<Number>> first;
  Series<Number> right = zero_series<Number>(head, tail, p.sets()), below = zero_series<Number>(tail, head, p.sets());
  Series<Number> schur = zero_series<Number>(tail, tail, p.sets());
  schur.coefficients[0].assign(at(tail * tail), Number(0));
  for (std::int64_t i = 0; i < tail; ++i) schur.coefficients[0][at(i * tail + i)] = pivots[at(head + i)];
  for (unsigned d = 0; d < p.count(); ++d) {
    first.push_back(block(x[d], n, 0, 0, head, head));
    divide_rows(first.back(), pivots, head, head);
    right.coefficients[1u << d] = block(x[d], n, 0, head, head, tail);
    divide_rows(right.coefficients[1u << d], pivots, head, tail);
    below.coefficients[1u << d] = block(x[d], n, head, 0, tail, head);
    schur.coefficients[1u << d] = block(x[d], n, head, head, tail, tail);
  }
  UnitSeries<Number> u = unit_series(first, head);
  Series<Number> inner = product(u.inverse, right), left = product(below, u.inverse);
  divide_columns(left, pivots);
  const Series<Number> correction = product(below, inner);
  for (unsigned t = 0; t < p.sets(); ++t) {
    Matrix<Number>& sum = schur.coefficients[t];
    if (sum.empty()) sum.assign(at(tail * tail), Number(0));
    for (std::size_t i = 0; i < correction.coefficients[t].size(); ++i) sum[i] -= correction.coefficients[t][i];
  }
  return {n,
          head,
          tail,
          std::move(u.determinant),
          std::move(u.inverse),
          std::move(inner),
          std::move(left),
          std::move(schur)};
}

template <class Number>
PolynomialMinors<Number> minors_of(const Series<Number>& x) {
  const std::size_t sets = x.coefficients.size();
  Polynomial<Number> matrix(at(x.rows * x.columns) * sets);
  for (std::size_t t = 0; t < sets; ++t)
    for (std::size_t i = 0; i < x.coefficients[t].size(); ++i) matrix[i * sets + t] = x.coefficients[t][i];
  return {static_cast<unsigned>(x.rows), static_cast<unsigned>(sets), std::move(matrix)};
}

template <class Number>
Polynomial<Number> product(const Polynomial<Number>& x, const Polynomial<Number>& y) {
  Polynomial<Number> z(x.size());
  add_product(z.data(), x.data(), y.data(), static_cast<unsigned>(x.size()));
  return z;
}

// The cofactors of D + sum_i e_i x_i without the factor of the first block's pivots: the coefficient of all variables.
template <class Number>
Matrix<Number> block_cofactors(const Blocks<Number>& b, const PolynomialMinors<Number>& minors,
                               const Matrix<Number>& pivots) {
  const auto sets = static_cast<unsigned>(b.determinant.size()), full = sets - 1;
  Series<Number> adjugate = zero_series<Number>(b.tail, b.tail, sets);  // of the Schur complement
  for (Matrix<Number>& m : adjugate.coefficients) m.resize(at(b.tail * b.tail));
  for (std::int64_t i = 0; i < b.tail; ++i)
    for (std::int64_t j = 0; j < b.tail; ++j) {
      const Polynomial<Number> c = minors.cofactor(static_cast<unsigned>(i), static_cast<unsigned>(j));
      for (unsigned t = 0; t < sets; ++t) adjugate.coefficients[t][at(j * b.tail + i)] = c[t];
    }
  const Series<Number> corner = scaled(b.determinant, adjugate), right = product(b.right, corner);
  const Series<Number> below = product(corner, b.below), inner = product(right, b.below);
  Series<Number> first = scaled(product(b.determinant, minors.determinant()), b.inverse);
  divide_columns(first, pivots);
  Matrix<Number> cofactors(at(b.n * b.n), 0.0);  // the transpose of the adjugate
  const auto put = [&](const Series<Number>& x, double sign, std::int64_t row, std::int64_t column) {
    const Matrix<Number>& m = x.coefficients[full];
    for (std::size_t i = 0; i < m.size(); ++i) {
      const auto k = static_cast<std::int64_t>(i);
      cofactors[at((column + k % x.columns) * b.n + row + k / x.columns)] += sign * m[i];
    }
  };
  put(first, 1, 0, 0);
  put(inner, 1, 0, 0);
  put(right, -1, 0, b.head);
  put(below, -1, b.head, 0);
  put(corner, 1, b.head, b.head);
  return cofactors;
}

// The determinant of D + sum_i e_i x_i, or its cofactors, for any order.
template <class Number>
Result<Number> by_blocks(const std::vector<Matrix<Number>>& x, const Matrix<Number>& pivots,
                         const DirectionalDerivative<Number>& p) {
  const Blocks<Number> b = blocks_of(x, pivots, p);
  BasicScaled<Number> scale{1, 0};
  for (std::int64_t i = 0; i < b.head; ++i) scale *= pivots[at(i)];
  const PolynomialMinors<Number> minors = minors_of(b.schur);
  Result<Number> result{p.cofactors ? block_cofactors(b, minors, pivots)
                                    : Matrix<Number>{product(b.determinant, minors.determinant())[p.full()]},
                        {scale.exponent}};
  for (Number& value : result.mantissas) value *= scale.mantissa;
  return result;
}

template <class Number>
Pivoted<Number> pivot_matrix(const Matrix<Number>& a, std::int64_t n, std::int64_t degree) {
  Pivoted<Number> p{balance_of(a, n), a, Matrix<Number>(at(n)), {}, {}};
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j)
      p.lu[at(i * n + j)] = scale_exponent(a[at(i * n + j)], p.balance.exponent(i, j));
  p.order = eliminate(p.lu.data(), n, n, zero_pivot);
  for (std::int64_t i = 0; i < n; ++i) {
    const bool is_pivot = i < p.order.count;
    if (is_pivot) p.pivots[at(i)] = p.lu[at(i * n + i)];
    for (std::int64_t j = i + 1; j < n; ++j) {
      p.lu[at(i * n + j)] = is_pivot ? p.lu[at(i * n + j)] / p.pivots[at(i)] : Number(0);
      if (!is_pivot) p.lu[at(j * n + i)] = 0;
    }
  }
  if (n > expanded_order_max) return p;
  Matrix<Number> diagonal(at(n * n));
  for (std::int64_t i = 0; i < n; ++i) diagonal[at(i * n + i)] = p.pivots[at(i)];
  p.minors = Minors<Number>(diagonal, n, degree);
  return p;
}

template <class Number>
Result<Number> by_pivots(const DirectionalDerivative<Number>& p, const Pivoted<Number>& a) {
  const std::int64_t n = p.n;
  if (a.order.count < n - p.degree()) return {Matrix<Number>(p.size()), {0}};
  const Reduced<Number> r = reduce_by_pivots(p, a);
  // The determinant of D + sum_i e_i x_i, or its cofactors. Expansion is exact where rows or columns are zero, whatever
  // their scale.
  Result<Number> of_pivots = n <= expanded_order_max ? by_expansion_in_double({n, p.cofactors, p.a, r.x}, a.minors)
                                                     : by_blocks(r.x, a.pivots, p);
  const std::int64_t exponent = of_pivots.exponents[0] + r.exponent - a.balance.total;
  const double sign = a.order.odd ? -1 : 1;
  Matrix<Number>& values = of_pivots.mantissas;
  if (!p.cofactors) return {{sign * values[0]}, {exponent}};
  solve_unit(a.lu, Side::left, Triangle::lower, Transposed::yes, n, values);
  solve_unit(a.lu, Side::right, Triangle::upper, Transposed::yes, n, values);
  Result<Number> result{Matrix<Number>(p.size()), std::vector<std::int64_t>(p.size())};
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      const std::int64_t row = a.order.rows[at(i)], column = a.order.columns[at(j)];
      result.mantissas[at(row * n + column)] = sign * values[at(i * n + j)];
      result.exponents[at(row * n + column)] = exponent + a.balance.exponent(row, column);
    }
  return result;
}

}  // namespace reel::loops::determinants
