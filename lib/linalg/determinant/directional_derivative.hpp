// The derivative of one determinant in double precision, real or complex, and the ways to evaluate it.
#pragma once
#include <cstdint>
#include <vector>

#include "linalg/scaled_number.hpp"
#include "loops/product/matrices.hpp"

namespace reel::loops::determinants {

template <class Number>
using Matrix = std::vector<Number>;  // row-major, [n, n] unless said otherwise

constexpr std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

/// The magnitude, of complex x that of the larger part.
inline double magnitude(double x) { return std::abs(x); }
inline double magnitude(const std::complex<double>& x) { return std::max(std::abs(x.real()), std::abs(x.imag())); }
inline bool is_finite(double x) { return std::isfinite(x); }
inline bool is_finite(const std::complex<double>& x) { return std::isfinite(x.real()) && std::isfinite(x.imag()); }
/// x 2^exponent
inline double scale_by_power(double x, int exponent) { return std::ldexp(x, exponent); }
inline std::complex<double> scale_by_power(const std::complex<double>& x, int exponent) {
  return {std::ldexp(x.real(), exponent), std::ldexp(x.imag(), exponent)};
}

/// A matrix, directions h_1 ... h_k, and what is requested.
template <class Number>
struct DirectionalDerivative {
  std::int64_t n;
  bool cofactors;  // the derivative of the matrix of cofactors; otherwise that of the determinant
  const Matrix<Number>& a;
  std::vector<Matrix<Number>> directions;

  unsigned count() const { return static_cast<unsigned>(directions.size()); }
  // Sets of directions as bits, and the set of all.
  unsigned sets() const { return 1u << count(); }
  unsigned full() const { return sets() - 1; }
  // The number of rows that come from directions, including the gradient's. If it exceeds n, derivatives are 0.
  std::int64_t degree() const { return count() + (cofactors ? 1 : 0); }
  std::size_t size() const { return cofactors ? at(n * n) : 1; }
};

/// The requested result: one number, or n x n of them, each mantissa 2^exponent with mantissas in range.
template <class Number>
struct Result {
  Matrix<Number> mantissas;
  std::vector<std::int64_t> exponents;  // one for all, or one for each
  BasicScaled<Number> operator[](std::size_t i) const {
    auto x = BasicScaled<Number>::of(mantissas[i]);
    x.exponent += exponents.size() == 1 ? exponents[0] : exponents[i];
    return x;
  }
};

/// The largest exponent of the elements; if all are zero, the smallest integer.
template <class Number>
int largest_exponent(const Matrix<Number>& x);
/// Throws bad_alloc or ValueError for such codes of BLAS or LAPACK.
void require_success(int code);

// ---- By expansion into minors, for orders up to expanded_order_max
inline constexpr std::int64_t expanded_order_max = 8;
/// The minors of a matrix that derivatives of one degree need.
template <class Number>
class Minors {
 public:
  Minors() = default;
  Minors(const Matrix<Number>& a, std::int64_t n, std::int64_t degree);

 private:
  template <class N>
  friend Result<N> by_expansion(const DirectionalDerivative<N>& p, const Minors<N>& minors);
  template <class N>
  friend Result<N> by_expansion_in_double(const DirectionalDerivative<N>& p, const Minors<N>& minors);
  Matrix<Number> complements_;  // in these rows and columns, with signs
  bool in_range_ = false;
};
template <class Number>
Result<Number> by_expansion(const DirectionalDerivative<Number>& p, const Minors<Number>& minors);
/// The same; products may underflow to 0.
template <class Number>
Result<Number> by_expansion_in_double(const DirectionalDerivative<Number>& p, const Minors<Number>& minors);

// ---- By the inverse, where the pivots have similar size
template <class Number>
struct Inverse {
  Matrix<Number> elements;
  BasicScaled<Number> determinant;
  int size = 0;  // the exponent of the largest pivot
};
template <class Number>
Result<Number> by_inverse(const DirectionalDerivative<Number>& p, const Inverse<Number>& inverse);

// ---- By complete pivoting

/// Powers of two that scale the rows and columns of a matrix to similar size.
struct Balance {
  std::vector<std::int64_t> rows, columns;
  std::int64_t total = 0;  // the sum of all exponents
  std::int64_t exponent(std::int64_t i, std::int64_t j) const { return rows[at(i)] + columns[at(j)]; }
};
/// The balanced matrix as L D U.
template <class Number>
struct Pivoted {
  Balance balance;
  Matrix<Number> lu;      // L below the diagonal, U above it
  Matrix<Number> pivots;  // D, [n]
  CompletePivots order;
  Minors<Number> minors;  // of D, for orders up to expanded_order_max
};
template <class Number>
Pivoted<Number> pivot_matrix(const Matrix<Number>& a, std::int64_t n, std::int64_t degree);
template <class Number>
Result<Number> by_pivots(const DirectionalDerivative<Number>& p, const Pivoted<Number>& a);

}  // namespace reel::loops::determinants
