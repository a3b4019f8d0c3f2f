// The derivative of one determinant in double precision, and the ways to evaluate it.
#pragma once
#include <cstdint>
#include <vector>

#include "loops/linalg/matrices.hpp"
#include "loops/linalg/scaled.hpp"

namespace reel::loops::determinants {

using Matrix = std::vector<double>;  // row-major, [n, n] unless said otherwise

constexpr std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

/// A matrix, directions h_1 ... h_k, and what is requested.
struct Problem {
  std::int64_t n;
  bool cofactors;  // the derivative of the matrix of cofactors; otherwise that of the determinant
  const Matrix& a;
  std::vector<Matrix> directions;

  unsigned count() const { return static_cast<unsigned>(directions.size()); }
  // Sets of directions as bits, and the set of all.
  unsigned sets() const { return 1u << count(); }
  unsigned full() const { return sets() - 1; }
  // The number of rows that come from directions, including that of the gradient: if it exceeds n, derivatives vanish.
  std::int64_t degree() const { return count() + (cofactors ? 1 : 0); }
  std::size_t size() const { return cofactors ? at(n * n) : 1; }
};

/// The requested result: one number, or n x n of them, each mantissa 2^exponent with mantissas in range.
struct Result {
  Matrix mantissas;
  std::vector<std::int64_t> exponents;  // one for all, or one for each
  Scaled operator[](std::size_t i) const {
    Scaled x = Scaled::of(mantissas[i]);
    x.exponent += exponents.size() == 1 ? exponents[0] : exponents[i];
    return x;
  }
};

/// The largest exponent of the elements; if all are zero, the smallest integer.
int largest_exponent(const Matrix& x);
/// Throws bad_alloc or ValueError for such codes of BLAS or LAPACK.
void require_success(int code);

// ---- By expansion into minors, for orders up to expanded_order_max
inline constexpr std::int64_t expanded_order_max = 8;
/// The minors of a matrix that derivatives of one degree need.
class Minors {
 public:
  Minors() = default;
  Minors(const Matrix& a, std::int64_t n, std::int64_t degree);

 private:
  friend Result by_expansion(const Problem& p, const Minors& minors);
  friend Result by_expansion_in_double(const Problem& p, const Minors& minors);
  Matrix complements_;  // in these rows and columns, with signs
  bool in_range_ = false;
};
Result by_expansion(const Problem& p, const Minors& minors);
/// The same, used only where products may vanish without harm.
Result by_expansion_in_double(const Problem& p, const Minors& minors);

// ---- By the inverse, where the pivots have similar size
struct Inverse {
  Matrix elements;
  Scaled determinant;
  int size = 0;  // the exponent of the largest pivot
};
Result by_inverse(const Problem& p, const Inverse& inverse);

// ---- By complete pivoting

/// Powers of two that scale the rows and columns of a matrix to similar size.
struct Balance {
  std::vector<std::int64_t> rows, columns;
  std::int64_t total = 0;  // the sum of all exponents
  std::int64_t exponent(std::int64_t i, std::int64_t j) const { return rows[at(i)] + columns[at(j)]; }
};
/// The balanced matrix as L D U.
struct Pivoted {
  Balance balance;
  Matrix lu;      // L below the diagonal, U above it
  Matrix pivots;  // D, [n]
  CompletePivots order;
  Minors minors;  // of D, for orders up to expanded_order_max
};
Pivoted pivoted(const Matrix& a, std::int64_t n, std::int64_t degree);
Result by_pivots(const Problem& p, const Pivoted& a);

}  // namespace reel::loops::determinants
