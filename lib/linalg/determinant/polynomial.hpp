// Multilinear polynomials in variables e_0 ... e_{k-1} with e_i^2 = 0, and determinants of small matrices of them.
#pragma once
#include <bit>
#include <cstddef>
#include <utility>
#include <vector>

namespace reel::loops::determinants {

/// The coefficients of a polynomial, one for each set of variables: bit i stands for e_i.
template <class Number>
using Polynomial = std::vector<Number>;

/// sum += x y, or sum -= x y.
template <class Number>
void add_product(Number* sum, const Number* x, const Number* y, unsigned sets, bool subtract = false) {
  for (unsigned r = 0; r < sets; ++r) {
    if (x[r] == Number(0)) continue;
    const Number factor = subtract ? -x[r] : x[r];
    const unsigned others = (sets - 1) & ~r;
    for (unsigned t = others;; t = (t - 1) & others) {
      sum[r | t] += factor * y[t];
      if (t == 0) break;
    }
  }
}

/// Determinant and cofactors of a matrix [m, m] of polynomials, by Laplace's expansion: of order 10 and less.
template <class Number>
class PolynomialMinors {
 public:
  /// Element (i, j) has its coefficients from position (i m + j) sets on.
  PolynomialMinors(unsigned m, unsigned sets, Polynomial<Number> matrix)
      : m_(m), sets_(sets), matrix_(std::move(matrix)), leading_(expand_rows(true)), trailing_(expand_rows(false)) {}

  Polynomial<Number> determinant() const {
    const Number* last = leading_.data() + std::size_t{all()} * sets_;
    return {last, last + sets_};
  }

  /// Expansion by the i rows above and the m - 1 - i rows below.
  Polynomial<Number> cofactor(unsigned i, unsigned j) const {
    Polynomial<Number> sum(sets_);
    const unsigned columns = all() & ~(1u << j);
    for (unsigned above = columns;; above = (above - 1) & columns) {
      const unsigned below = columns & ~above;
      if (static_cast<unsigned>(std::popcount(above)) == i)
        add_product(sum.data(), &leading_[std::size_t{above} * sets_], &trailing_[std::size_t{below} * sets_], sets_,
                    (inversions(above, below) + i + j) % 2 != 0);
      if (above == 0) return sum;
    }
  }

 private:
  unsigned all() const { return (1u << m_) - 1; }

  // The number of pairs of a column in `first` and a smaller one in `second`.
  static unsigned inversions(unsigned first, unsigned second) {
    unsigned count = 0;
    for (; second != 0; second &= second - 1)
      count += static_cast<unsigned>(std::popcount(first & ~((2u << std::countr_zero(second)) - 1)));
    return count;
  }

  // For each set of columns the minor with the same number of rows, the first or the last ones.
  std::vector<Number> expand_rows(bool first_rows) const {
    std::vector<Number> minor((std::size_t{all()} + 1) * sets_);
    minor[0] = 1;
    for (unsigned set = 1; set <= all(); ++set) {
      const auto size = static_cast<unsigned>(std::popcount(set));
      const unsigned row = first_rows ? size - 1 : m_ - size;
      for (unsigned left = set; left != 0; left &= left - 1) {
        const auto column = static_cast<unsigned>(std::countr_zero(left));
        const unsigned rest = set & ~(1u << column),
                       passed = rest & (first_rows ? ~((1u << column) - 1) : (1u << column) - 1);
        add_product(&minor[std::size_t{set} * sets_], &matrix_[(std::size_t{row} * m_ + column) * sets_],
                    &minor[std::size_t{rest} * sets_], sets_, std::popcount(passed) % 2 != 0);
      }
    }
    return minor;
  }

  unsigned m_, sets_;
  Polynomial<Number> matrix_;
  std::vector<Number> leading_, trailing_;
};

}  // namespace reel::loops::determinants
