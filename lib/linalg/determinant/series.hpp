// Matrices of polynomials (see polynomial.hpp), stored by coefficients.
#pragma once
#include <bit>
#include <type_traits>

#include "linalg/determinant/directional_derivative.hpp"
#include "linalg/determinant/polynomial.hpp"
#include "linalg/lapack/plain.hpp"

namespace reel::loops::determinants {

/// One matrix [rows, columns] per set of variables; an empty one is zero.
template <class Number>
struct Series {
  std::int64_t rows, columns;
  std::vector<Matrix<Number>> coefficients;
};

template <class Number>
Series<Number> zero_series(std::int64_t rows, std::int64_t columns, unsigned sets) {
  return {rows, columns, std::vector<Matrix<Number>>(sets)};
}
/// The product of matrices.
template <class Number>
Series<Number> product(const Series<Number>& x, const Series<Number>& y);
/// p x with a polynomial p, and a single coefficient of it.
template <class Number>
Series<Number> scaled(const Polynomial<Number>& p, const Series<Number>& x);
template <class Number>
Matrix<Number> scaled_coefficient(const Polynomial<Number>& p, const Series<Number>& x, unsigned set);
/// sum += factor x y of matrices [rows, inner] and [inner, columns]. An empty sum is zero.
template <class Number>
void add_matrix_product(Matrix<Number>& sum, std::type_identity_t<Number> factor, const Matrix<Number>& x,
                        const Matrix<Number>& y, std::int64_t rows, std::int64_t inner, std::int64_t columns);

template <class Number>
Number trace(const Matrix<Number>& x, std::int64_t n);
template <class Number>
Number trace_of_product(const Matrix<Number>& x, const Matrix<Number>& y, std::int64_t n);

/// Determinant and inverse of 1 + e_1 x_1 + ... for matrices x_i [n, n].
template <class Number>
struct UnitSeries {
  Polynomial<Number> determinant;
  Series<Number> inverse;
};
template <class Number>
UnitSeries<Number> unit_series(const std::vector<Matrix<Number>>& x, std::int64_t n);

// ---- Definitions

template <class Number>
void add_matrix_product(Matrix<Number>& sum, std::type_identity_t<Number> factor, const Matrix<Number>& x,
                        const Matrix<Number>& y, std::int64_t rows, std::int64_t inner, std::int64_t columns) {
  if (sum.empty()) sum.assign(at(rows * columns), Number(0));
  if (rows == 0 || inner == 0 || columns == 0) return;
  if constexpr (std::is_floating_point_v<Number>) {
    require_success(kernels::linear_algebra::gemm<Number>(kernels::Transposed::no, kernels::Transposed::no, rows,
                                                          columns, inner, factor, x.data(), inner, y.data(), columns, 1,
                                                          sum.data(), columns));
  } else {
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t k = 0; k < inner; ++k)
        for (std::int64_t j = 0; j < columns; ++j)
          sum[at(i * columns + j)] += factor * x[at(i * inner + k)] * y[at(k * columns + j)];
  }
}

template <class Number>
Series<Number> product(const Series<Number>& x, const Series<Number>& y) {
  const auto sets = static_cast<unsigned>(x.coefficients.size());
  Series<Number> z = zero_series<Number>(x.rows, y.columns, sets);
  for (unsigned r = 0; r < sets; ++r)
    for (unsigned t = 0; t < sets; ++t)
      if ((r & t) == 0 && !x.coefficients[r].empty() && !y.coefficients[t].empty())
        add_matrix_product<Number>(z.coefficients[r | t], 1, x.coefficients[r], y.coefficients[t], x.rows, x.columns,
                                   y.columns);
  return z;
}

template <class Number>
Matrix<Number> scaled_coefficient(const Polynomial<Number>& p, const Series<Number>& x, unsigned set) {
  Matrix<Number> sum(at(x.rows * x.columns));
  for (unsigned r = set;; r = (r - 1) & set) {
    const Matrix<Number>& m = x.coefficients[set & ~r];
    for (std::size_t i = 0; i < m.size(); ++i) sum[i] += p[r] * m[i];
    if (r == 0) return sum;
  }
}

template <class Number>
Series<Number> scaled(const Polynomial<Number>& p, const Series<Number>& x) {
  Series<Number> z = zero_series<Number>(x.rows, x.columns, static_cast<unsigned>(p.size()));
  for (unsigned set = 0; set < p.size(); ++set) z.coefficients[set] = scaled_coefficient(p, x, set);
  return z;
}

template <class Number>
Number trace(const Matrix<Number>& x, std::int64_t n) {
  Number sum{};
  for (std::int64_t i = 0; i < n; ++i) sum += x[at(i * n + i)];
  return sum;
}

template <class Number>
Number trace_of_product(const Matrix<Number>& x, const Matrix<Number>& y, std::int64_t n) {
  Number sum{};
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j) sum += x[at(i * n + j)] * y[at(j * n + i)];
  return sum;
}

// sum -= x
template <class Number>
void subtract(Matrix<Number>& sum, const Matrix<Number>& x) {
  sum.resize(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) sum[i] -= x[i];
}

template <class Number>
UnitSeries<Number> unit_series(const std::vector<Matrix<Number>>& x, std::int64_t n) {
  const unsigned sets = 1u << x.size();
  UnitSeries<Number> u{Polynomial<Number>(sets), zero_series<Number>(n, n, sets)};
  u.determinant[0] = 1;
  std::vector<Matrix<Number>>& inverse = u.inverse.coefficients;
  inverse[0].assign(at(n * n), Number(0));
  for (std::int64_t i = 0; i < n; ++i) inverse[0][at(i * n + i)] = 1;
  for (unsigned t = 1; t < sets; ++t) {
    for (unsigned i = 0; i < x.size(); ++i)
      if (t == 1u << i)
        subtract(inverse[t], x[i]);
      else if (t >> i & 1)
        add_matrix_product<Number>(inverse[t], -1, x[i], inverse[t & ~(1u << i)], n, n, n);
    // The derivative by the last variable: d det = det tr(inverse x).
    const auto last = static_cast<unsigned>(std::bit_width(t)) - 1;
    const unsigned rest = t & ~(1u << last);
    for (unsigned r = rest;; r = (r - 1) & rest) {
      const unsigned others = rest & ~r;
      u.determinant[t] +=
          u.determinant[r] * (others == 0 ? trace(x[last], n) : trace_of_product(inverse[others], x[last], n));
      if (r == 0) break;
    }
  }
  return u;
}

}  // namespace reel::loops::determinants
