// The derivative as a sum over the rows and columns that come from directions: mixed minors of the directions there
// times the complementary minors of the matrix.
#pragma once
#include <bit>

#include "linalg/determinant/directional_derivative.hpp"

namespace reel::loops::determinants {
template <class Number>
Number number_of(const Number& x, Number*) {
  return x;
}
template <class Number>
BasicScaled<Number> number_of(const Number& x, BasicScaled<Number>*) {
  return BasicScaled<Number>::of(x);
}

inline unsigned first_of(unsigned set) { return static_cast<unsigned>(std::countr_zero(set)); }
// The next larger bit set with the same number of elements.
inline unsigned next_of_size(unsigned set) {
  const unsigned lowest = set & -set, raised = set + lowest;
  return raised | ((set ^ raised) / lowest >> 2);
}
inline unsigned size_of(unsigned set) { return static_cast<unsigned>(std::popcount(set)); }

// The minor of a [n, n] in these rows and columns, by expansion along the first row.
template <class Number, class Element>
Number minor_of(const Matrix<Element>& a, unsigned n, unsigned rows, unsigned columns) {
  const auto element = [&](unsigned row, unsigned column) {
    return number_of(a[row * n + column], static_cast<Number*>(nullptr));
  };
  if (rows == 0) return Number{1};
  const unsigned row = first_of(rows), other_rows = rows & (rows - 1);
  const unsigned column = first_of(columns), other_columns = columns & (columns - 1);
  if (other_rows == 0) return element(row, column);
  if ((other_rows & (other_rows - 1)) == 0) {
    const unsigned below = first_of(other_rows), right = first_of(other_columns);
    Number minor = element(row, column) * element(below, right);
    return minor += -element(row, right) * element(below, column);
  }
  Number sum{};
  bool negative = false;
  for (unsigned left = columns; left != 0; left &= left - 1, negative = !negative) {
    const Number factor = element(row, first_of(left));
    if (is_zero(factor)) continue;
    sum += (negative ? -factor : factor) * minor_of<Number>(a, n, other_rows, columns & ~(left & -left));
  }
  return sum;
}

// The coefficient of e_1 e_2 ... in the minor of e_1 h_1 + e_2 h_2 + ... in these rows and columns; there is one
// direction per row.
template <class Number, class Element>
Number mixed_minor_of(const DirectionalDerivative<Element>& p, unsigned rows, unsigned columns, unsigned directions);

template <class Number, class Element>
Number mixed_minor_expanded(const DirectionalDerivative<Element>& p, unsigned rows, unsigned columns,
                            unsigned directions) {
  const std::size_t row = first_of(rows) * at(p.n);
  Number sum{};
  bool negative = false;
  for (unsigned left = columns; left != 0; left &= left - 1, negative = !negative)
    for (unsigned d = directions; d != 0; d &= d - 1) {
      const Number element = number_of(p.directions[first_of(d)][row + first_of(left)], static_cast<Number*>(nullptr));
      if (is_zero(element)) continue;
      sum += (negative ? -element : element) *
             mixed_minor_of<Number>(p, rows & (rows - 1), columns & ~(left & -left), directions & ~(d & -d));
    }
  return sum;
}

template <class Number, class Element>
inline Number mixed_minor_of(const DirectionalDerivative<Element>& p, unsigned rows, unsigned columns,
                             unsigned directions) {
  if (rows == 0) return Number{1};
  if ((rows & (rows - 1)) != 0) return mixed_minor_expanded<Number>(p, rows, columns, directions);
  const Element element = p.directions[first_of(directions)][first_of(rows) * at(p.n) + first_of(columns)];
  return number_of(element, static_cast<Number*>(nullptr));
}

inline bool odd_sum(unsigned rows, unsigned columns) {
  constexpr unsigned odd_positions = 0xaaaaaaaa;
  return (size_of(rows & odd_positions) + size_of(columns & odd_positions)) % 2 != 0;
}

// sums += minor times the cofactors of the directions in these rows and columns.
template <class Number, class Element>
void add_cofactors(const DirectionalDerivative<Element>& p, const Number& minor, unsigned rows, unsigned columns,
                   std::vector<Number>& sums) {
  bool odd_row = false;
  for (unsigned r = rows; r != 0; r &= r - 1, odd_row = !odd_row) {
    bool odd = odd_row;
    for (unsigned c = columns; c != 0; c &= c - 1, odd = !odd)
      sums[first_of(r) * at(p.n) + first_of(c)] +=
          (odd ? -minor : minor) * mixed_minor_of<Number>(p, rows & ~(r & -r), columns & ~(c & -c), p.full());
  }
}

// Calls f(rows, columns) for all sets of this size.
template <class F>
void for_each_minor(std::int64_t n, std::int64_t degree, const F& f) {
  const unsigned every = (1u << n) - 1, first = (1u << degree) - 1;
  for (unsigned rows = first; rows <= every; rows = next_of_size(rows))
    for (unsigned columns = first; columns <= every; columns = next_of_size(columns)) f(rows, columns);
}

template <class Number, class Element>
std::vector<Number> complements(const Matrix<Element>& a, std::int64_t n, std::int64_t degree) {
  const auto order = static_cast<unsigned>(n), every = (1u << n) - 1;
  std::vector<Number> minors;
  for_each_minor(n, degree, [&](unsigned rows, unsigned columns) {
    const Number minor = minor_of<Number>(a, order, every & ~rows, every & ~columns);
    minors.push_back(odd_sum(rows, columns) ? -minor : minor);
  });
  return minors;
}

template <class Number, class Element>
std::vector<Number> expand_by_minors(const DirectionalDerivative<Element>& p, const std::vector<Number>& minors) {
  std::vector<Number> sums(p.size());
  auto minor = minors.begin();
  for_each_minor(p.n, p.degree(), [&](unsigned rows, unsigned columns) {
    const Number factor = *minor++;
    if (is_zero(factor)) return;
    if (p.cofactors)
      add_cofactors(p, factor, rows, columns, sums);
    else
      sums[0] += factor * mixed_minor_of<Number>(p, rows, columns, p.full());
  });
  return sums;
}

// Whether products of n such elements do not overflow or underflow. True if an element is not finite: the result is
// not finite, either.
template <class Number>
bool in_range(const Matrix<Number>& m, std::int64_t n) {
  const double most = std::ldexp(1.0, 960 / static_cast<int>(n)), least = 1 / most;
  bool all_in_range = true, all_finite = true;
  for (const Number& x : m) {
    const double size = magnitude(x);
    all_in_range = all_in_range && ((size < most && size > least) || size == 0);
    all_finite = all_finite && is_finite(x);
  }
  return all_in_range || !all_finite;
}

template <class Number>
Minors<Number>::Minors(const Matrix<Number>& a, std::int64_t n, std::int64_t degree)
    : complements_(complements<Number>(a, n, degree)), in_range_(in_range(a, n)) {}

template <class Number>
Result<Number> by_expansion_in_double(const DirectionalDerivative<Number>& p, const Minors<Number>& minors) {
  return {expand_by_minors(p, minors.complements_), {0}};
}

template <class Number>
Result<Number> by_expansion(const DirectionalDerivative<Number>& p, const Minors<Number>& minors) {
  bool all_in_range = minors.in_range_;
  for (const Matrix<Number>& h : p.directions) all_in_range = all_in_range && in_range(h, p.n);
  if (all_in_range) return by_expansion_in_double(p, minors);
  Result<Number> result;
  using Scaled = BasicScaled<Number>;
  for (const Scaled& x : expand_by_minors(p, complements<Scaled>(p.a, p.n, p.degree()))) {
    result.mantissas.push_back(x.mantissa);
    result.exponents.push_back(x.exponent);
  }
  return result;
}

}  // namespace reel::loops::determinants
