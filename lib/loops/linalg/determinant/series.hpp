// Matrices of polynomials (see polynomial.hpp), stored by coefficients.
#pragma once
#include "loops/linalg/determinant/polynomial.hpp"
#include "loops/linalg/determinant/problem.hpp"

namespace reel::loops::determinants {

/// One matrix [rows, columns] per set of variables; an empty one is zero.
struct Series {
  std::int64_t rows, columns;
  std::vector<Matrix> coefficients;
};

inline Series zero_series(std::int64_t rows, std::int64_t columns, unsigned sets) {
  return {rows, columns, std::vector<Matrix>(sets)};
}
/// The product of matrices.
Series product(const Series& x, const Series& y);
/// p x with a polynomial p, and a single coefficient of it.
Series scaled(const Polynomial& p, const Series& x);
Matrix scaled_coefficient(const Polynomial& p, const Series& x, unsigned set);
/// sum += factor x y of matrices [rows, inner] and [inner, columns]. An empty sum is zero.
void add_matrix_product(Matrix& sum, double factor, const Matrix& x, const Matrix& y, std::int64_t rows,
                        std::int64_t inner, std::int64_t columns);

double trace(const Matrix& x, std::int64_t n);
double trace_of_product(const Matrix& x, const Matrix& y, std::int64_t n);

/// Determinant and inverse of 1 + e_1 x_1 + ... for matrices x_i [n, n].
struct UnitSeries {
  Polynomial determinant;
  Series inverse;
};
UnitSeries unit_series(const std::vector<Matrix>& x, std::int64_t n);

}  // namespace reel::loops::determinants
