// Series and continued fractions, of numbers, complex numbers and Taylor polynomials.
#pragma once
#include <complex>
#include <utility>

#include "special/taylor.hpp"

namespace reel::kernels::special {

using Complex = std::complex<Real>;

/// The most terms; a sum that has not converged by then is NaN.
inline constexpr int terms_max = 1000000;
inline constexpr Real series_least = 1e-21L;  // of a term, relative to the sum

/// first + term(1) + term(2) + ..., term(n) = next(n, term(n - 1)), until one is negligible in every coefficient.
template <class N, class Next>
N series(const N& first, const Next& next) {
  N term = first, sum = first;
  for (int n = 1; n < terms_max; ++n) {
    term = next(n, term);
    sum += term;
    if (negligible(term, sum, series_least)) return sum;
    if (!std::isfinite(value(sum))) break;
  }
  return sum * nan;
}
/// An asymptotic series: until a term is negligible, or its value is not smaller than that of the term before.
template <class N, class Next>
N asymptotic_series(const N& first, const Next& next) {
  N term = first, sum = first;
  for (int n = 1; n < terms_max; ++n) {
    const Real before = std::abs(value(term));
    term = next(n, term);
    if (!(std::abs(value(term)) <= before)) break;
    sum += term;
    if (negligible(term, sum, series_least)) break;
  }
  return sum;
}

inline Complex constant(const Complex&, Real c) { return c; }

template <class N>
struct Quotient {
  N above, below;
};
/// The number of quotients term(n) = a_n / b_n after which the continued fraction b_0 + a_1 / (b_1 + a_2 / (b_2 + ...))
/// has converged, n >= 1. Convergents are quotients of two solutions of one recurrence, which are rescaled before they
/// overflow. With large coefficients they keep differing by rounding errors: they have converged too when the smallest
/// difference is tiny and has not shrunk for a while.
template <class N, class Term>
int fraction_length(const N& b0, const Term& term) {
  constexpr Real rounding = std::numeric_limits<Real>::epsilon(), tiny = 1e-13L;
  constexpr Real huge = 1e1000L, small = 1e-1000L;  // far from overflow at 1e4932
  constexpr int patience = 8;
  N above_before = 1, above = b0, below_before = 0, below = 1, last = b0;
  Real smallest = std::numeric_limits<Real>::infinity();
  int stalled = 0;
  for (int n = 1; n < terms_max; ++n) {
    const Quotient<N> t = term(n);
    above_before = std::exchange(above, t.below * above + t.above * above_before);
    below_before = std::exchange(below, t.below * below + t.above * below_before);
    const Real size = std::abs(below);
    if (size > huge || (size < small && size > 0))
      for (N* x : {&above_before, &above, &below_before, &below}) *x *= size > 1 ? small : huge;
    if (n % 4 != 0) continue;
    const N now = above / below;
    const Real apart = std::abs(now - last);
    stalled = apart < smallest ? 0 : stalled + 1;
    if (apart < smallest) smallest = apart;
    if (apart <= rounding * std::abs(now) || (stalled >= patience && smallest <= tiny * std::abs(now))) return n;
    if (!std::isfinite(apart)) break;
    last = now;
  }
  return terms_max;
}
/// Its value from `count` quotients, by backward recurrence: forwards, derivatives would be differences of large terms.
/// Derivatives converge later than the value.
template <class N, class Term>
N fraction(const N& b0, int length, int orders, const Term& term) {
  if (length == terms_max) return constant(b0, nan);
  Quotient<N> t = term(length + length * orders / 4 + 1);
  N tail = t.below;
  for (int n = length + length * orders / 4; n > 0; --n) {
    const Quotient<N> next = term(n);
    tail = next.below + t.above / tail;
    t = next;
  }
  return b0 + t.above / tail;
}

}  // namespace reel::kernels::special
