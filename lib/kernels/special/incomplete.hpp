// The incomplete gamma and beta functions in all their arguments, of numbers and of Taylor polynomials. The parameters
// are of either kind; the last argument is a number where no derivative by it is wanted, for such a derivative is one
// of the density, which has a closed form.
#pragma once
#include <utility>

#include "kernels/special/gamma.hpp"

namespace reel::kernels::special {

/// What is not settled by so many terms is NaN: parameters above 1e10 near the mean.
inline constexpr int terms_max = 1000000;
inline constexpr Real series_least = 1e-21L;

// ---- Gamma

/// x^a e^-x / Gamma(a + 1). For large a by x / a - 1, so that the exponent has no large parts that cancel.
template <class N, class X>
auto gamma_power(const N& a, const X& x) {
  if (value(a) < stirling_from) return exp(a * log(x) - x - log_gamma_1p(a));
  return exp(-(a * minus_log1p((x - a) / a)) - stirling_rest(a)) / sqrt(2 * pi * a);
}

/// P(a, x) by its series (DLMF 8.11.4).
template <class N>
N gamma_p_series(const N& a, Real x) {
  N term = constant(a, 1), sum = term;
  for (int n = 1; n < terms_max; ++n) {
    term = term * (x / (a + static_cast<Real>(n)));
    sum += term;
    if (negligible(term, sum, series_least)) return gamma_power(a, x) * sum;
  }
  return constant(a, std::numeric_limits<Real>::quiet_NaN());
}

template <class N>
struct Quotient {
  N above, below;
};
/// How many quotients term(n) = a_n / b_n of the continued fraction b_0 + a_1 / (b_1 + a_2 / (b_2 + ...)) settle it,
/// n >= 1. Convergents are quotients of two solutions of one recurrence, which are scaled down before they overflow.
template <class Term>
int fraction_length(Real b0, const Term& term) {
  Real above_before = 1, above = b0, below_before = 0, below = 1, last = b0;
  for (int n = 1; n < terms_max; ++n) {
    const Quotient<Real> t = term(n);
    above_before = std::exchange(above, t.below * above + t.above * above_before);
    below_before = std::exchange(below, t.below * below + t.above * below_before);
    if (std::abs(below) > 1e1000L)
      for (Real* x : {&above_before, &above, &below_before, &below}) *x *= 1e-1000L;
    if (n % 4 != 0) continue;
    const Real now = above / below;
    if (std::abs(now - last) <= std::numeric_limits<Real>::epsilon() * std::abs(now)) return n;
    last = now;
  }
  return terms_max;
}
/// Its value from so many quotients, backwards: forwards, the derivatives would be differences of large terms. They
/// settle later than the value.
template <class N, class Term>
N fraction(const N& b0, int length, int orders, const Term& term) {
  if (length == terms_max) return constant(b0, std::numeric_limits<Real>::quiet_NaN());
  Quotient<N> t = term(length + length * orders / 4 + 1);
  N tail = t.below;
  for (int n = length + length * orders / 4; n > 0; --n) {
    const Quotient<N> next = term(n);
    tail = next.below + t.above / tail;
    t = next;
  }
  return b0 + t.above / tail;
}

/// A parameter near p whose fraction does not end. At a whole number the value's does, its derivatives' do not.
inline Real away_from_integer(Real, Real p) { return p; }
inline Real away_from_integer(const Taylor&, Real p) { return std::floor(p) + 0.5L; }

template <class N>
Quotient<N> gamma_quotient(const N& a, Real x, int n) {
  const Real k = static_cast<Real>(n);
  return {k * (a - k), (x + 2 * k + 1) - a};
}
/// Q(a, x) for x >= a + 1 (DLMF 8.9.2).
template <class N>
N gamma_q_fraction(const N& a, Real x) {
  const Real p = away_from_integer(a, value(a));
  const int length = fraction_length(x + 1 - p, [&](int n) { return gamma_quotient(p, x, n); });
  const N f = fraction(x + 1 - a, length, total_order(a), [&](int n) { return gamma_quotient(a, x, n); });
  return a * gamma_power(a, x) / f;
}

/// Q(a, x) for small a and x < 3/2, where P is close to 1.
template <class N>
N gamma_q_small(const N& a, Real x) {
  N sum = constant(a, 0);
  Real power = 1;
  for (int n = 1; n < 60; ++n) {
    power *= -x / n;
    sum -= power / (a + static_cast<Real>(n));
  }
  const N exponent = a * log(x) - log_gamma_1p(a);
  return a * exp(exponent) * sum - expm1(exponent);
}

/// P (`upper` false) or Q of a >= 0, x >= 0, and at the ends of the range their limits.
template <class N>
N incomplete_gamma(const N& a, Real x, bool upper) {
  const Real order = value(a);
  if (!(order >= 0 && x >= 0) || (order == 0 && x == 0) || (std::isinf(order) && std::isinf(x)))
    return constant(a, std::numeric_limits<Real>::quiet_NaN());
  if (x == 0 || std::isinf(order)) return constant(a, upper ? 1 : 0);
  if (std::isinf(x)) return constant(a, upper ? 0 : 1);
  if (order < 0.5L && x < 1.5L) return upper ? gamma_q_small(a, x) : gamma_p_series(a, x);
  if (x < order + 1) {
    const N p = gamma_p_series(a, x);
    return upper ? 1 - p : p;
  }
  const N q = gamma_q_fraction(a, x);
  return upper ? q : 1 - q;
}

/// The density x^(a - 1) e^-x / Gamma(a), x > 0.
template <class N>
N gamma_density(const N& a, const N& x) {
  return a * gamma_power(a, x) / x;
}

// ---- Beta

/// x^a (1 - x)^b / B(a, b). For large a and b by the ratios of x and 1 - x to the mean, whose linear terms cancel.
template <class N, class X>
auto beta_power(const N& a, const N& b, const X& x) {
  if (value(a) < stirling_from || value(b) < stirling_from) return exp(a * log(x) + b * log1p(-x) - log_beta(a, b));
  const N sum = a + b;
  const auto from_a = (x * b - a * (1 - x)) / a, from_b = (a * (1 - x) - x * b) / b;
  return exp(-(a * minus_log1p(from_a)) - b * minus_log1p(from_b) + stirling_rest(sum) - stirling_rest(a) -
             stirling_rest(b)) *
         sqrt(a * b / (2 * pi * sum));
}

template <class N>
Quotient<N> beta_quotient(const N& a, const N& b, Real x, int n) {
  const Real m = static_cast<Real>(n / 2), k = static_cast<Real>(n);
  const N below = (a + (k - 1)) * (a + k), one = constant(a, 1);
  if (n % 2 == 0) return {(b - m) * (m * x) / below, one};
  return {(a + m) * (a + b + m) * -x / below, one};
}
/// I_x(a, b) for x < (a + 1) / (a + b + 2) (DLMF 8.17.22).
template <class N>
N beta_fraction(const N& a, const N& b, Real x) {
  const Real p = value(a), q = away_from_integer(b, value(b));
  const int length = fraction_length(1, [&](int n) { return beta_quotient(p, q, x, n); });
  const N f = fraction(constant(a, 1), length, total_order(a), [&](int n) { return beta_quotient(a, b, x, n); });
  return beta_power(a, b, x) / (a * f);
}

/// I_x(a, b) (`upper` false) or 1 - I_x(a, b) of a > 0, b > 0, 0 <= x <= 1.
template <class N>
N incomplete_beta(const N& a, const N& b, Real x, bool upper) {
  const Real p = value(a), q = value(b);
  if (!(p > 0 && q > 0 && x >= 0 && x <= 1) || std::isinf(p) || std::isinf(q))
    return constant(a, std::numeric_limits<Real>::quiet_NaN());
  if (x == 0 || x == 1) return constant(a, (x == 1) == upper ? 0 : 1);
  const bool reflected = x > (p + 1) / (p + q + 2);
  const N tail = reflected ? beta_fraction(b, a, 1 - x) : beta_fraction(a, b, x);
  return reflected == upper ? tail : 1 - tail;
}

/// The density x^(a - 1) (1 - x)^(b - 1) / B(a, b), 0 < x < 1.
template <class N>
N beta_density(const N& a, const N& b, const N& x) {
  return beta_power(a, b, x) / (x * (1 - x));
}

}  // namespace reel::kernels::special
