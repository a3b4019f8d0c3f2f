// The incomplete gamma and beta functions as functions of all arguments, of numbers and of Taylor polynomials. The last
// argument is a number: a derivative by it is one of the density, which has a closed form. In their logarithms it is a
// Taylor polynomial too: there the quotient of density and function would lose digits, or underflow.
#pragma once
#include "kernels/special/fractions.hpp"
#include "kernels/special/gamma.hpp"

namespace reel::kernels::special {

// ---- Gamma

/// p (d - log(1 + d)), where 1 + d, given as well, may be far below 1.
template <class N, class D>
auto deviance(const N& p, const D& d, const D& ratio) {
  return value(ratio) < 0.5L ? p * (d - log(ratio)) : p * minus_log1p(d);
}
/// The logarithm of x^a e^-x / Gamma(a + 1). For large a in terms of x / a - 1, so that no large parts cancel.
template <class N, class X>
auto log_gamma_power(const N& a, const X& x) {
  if (value(a) < stirling_from) return a * log(x) - x - log_gamma_1p(a);
  return -deviance(a, (x - a) / a, x / a) - stirling_rest(a) - log(2 * pi * a) / 2;
}
template <class N, class X>
auto gamma_power(const N& a, const X& x) {
  return exp(log_gamma_power(a, x));
}

/// P(a, x) over the power, by its series (DLMF 8.11.4).
template <class N, class X>
N gamma_p_series(const N& a, const X& x) {
  return series(constant(a, 1), [&](int n, const N& term) { return term * (x / (a + static_cast<Real>(n))); });
}

/// A parameter near p at which the continued fraction does not terminate. At an integer the value's fraction does,
/// those of its derivatives do not.
inline Real away_from_integer(Real, Real p) { return p; }
inline Real away_from_integer(const Taylor&, Real p) { return std::floor(p) + 0.5L; }

template <class N, class X>
Quotient<N> gamma_quotient(const N& a, const X& x, int n) {
  const Real k = static_cast<Real>(n);
  return {k * (a - k), (x + 2 * k + 1) - a};
}
/// a times the power over Q(a, x), x >= a + 1 (DLMF 8.9.2).
template <class N, class X>
N gamma_q_fraction(const N& a, const X& x) {
  const Real p = away_from_integer(a, value(a)), at = value(x);
  const int length = fraction_length(at + 1 - p, [&](int n) { return gamma_quotient(p, at, n); });
  return fraction(x + 1 - a, length, total_order(a), [&](int n) { return gamma_quotient(a, x, n); });
}

/// Q(a, x) for small a and x < 3/2, where P is close to 1.
template <class N, class X>
N gamma_q_small(const N& a, const X& x) {
  N sum = constant(a, 0);
  X power = constant(x, 1);
  constexpr int terms = 60;  // 1.5^60 / 60! is below 1e-71
  for (int n = 1; n < terms; ++n) {
    power = power * (x / static_cast<Real>(-n));
    sum -= power / (a + static_cast<Real>(n));
  }
  const N exponent = a * log(x) - log_gamma_1p(a);
  return a * exp(exponent) * sum - expm1(exponent);
}

/// Temme's expansion is used from this parameter on, within this relative distance of x.
inline constexpr Real temme_from = 1e6L, temme_within = 0.04L;

template <class N, std::size_t Size>
N horner(const N& x, const Real (&c)[Size]) {
  N sum = constant(x, c[Size - 1]);
  for (std::size_t k = Size - 1; k-- > 0;) sum = sum * x + c[k];
  return sum;
}
/// P or Q by an expansion that is uniform about x = a (DLMF 8.12.3, 8.12.4, 8.12.7): eta^2 / 2 = m - log(1 + m), m = (x
/// - a) / a.
template <class N, class X>
N gamma_temme(const N& a, const X& x, bool upper) {
  // The power series in eta of c_0 and c_1 (DLMF 8.12.8 to 8.12.11); the term in 1 / a^2 is below the last place.
  constexpr Real c0[] = {
      -0.3333333333333333333333L,    0.08333333333333333333333L,      -0.01481481481481481481481L,
      0.001157407407407407407407L,   0.0003527336860670194003527L,    -0.0001787551440329218106996L,
      0.00003919263178522437781697L, -0.000002185448510679992161474L, -0.000001854062210715159960702L,
      8.296711340953086005016e-7L,   -1.766595273682607930436e-7L,    6.707853543401498580369e-9L};
  constexpr Real c1[] = {-0.001851851851851851851852L,   -0.003472222222222222222222L,  0.002645502645502645502646L,
                         -0.0009902263374485596707819L,  0.0002057613168724279835391L,  -4.018775720164609053498e-7L,
                         -0.00001809855033448997783703L, 0.000007649160916081110084637L};
  const N m = (x - a) / a, inverse = 1 / a;
  N ratio = constant(m, 0);  // eta^2 / m^2
  for (int k = 16; k-- > 0;) ratio = 2 / static_cast<Real>(k + 2) - m * ratio;
  const N eta = m * sqrt(ratio), y = eta * sqrt(a / 2.0L);
  const N rest = exp(-(y * y)) / sqrt(2 * pi * a) * (horner(eta, c0) + inverse * horner(eta, c1));
  return upper ? erfc(y) * 0.5L + rest : erfc(-y) * 0.5L - rest;
}

/// P (`upper` false) or Q for a >= 0, x >= 0, with limits at the ends of the range.
template <class N>
N incomplete_gamma(const N& a, Real x, bool upper) {
  const Real order = value(a);
  if (!(order >= 0 && x >= 0) || (order == 0 && x == 0) || (std::isinf(order) && std::isinf(x)))
    return constant(a, nan);
  if (x == 0 || std::isinf(order)) return constant(a, upper ? 1 : 0);
  if (std::isinf(x)) return constant(a, upper ? 0 : 1);
  if (order >= temme_from && std::abs(x - order) < temme_within * order) return gamma_temme(a, x, upper);
  if (order < 0.5L && x < 1.5L) {
    return upper ? gamma_q_small(a, x) : gamma_power(a, x) * gamma_p_series(a, x);
  }
  if (x < order + 1) {
    const N p = gamma_power(a, x) * gamma_p_series(a, x);
    return upper ? 1 - p : p;
  }
  const N q = a * gamma_power(a, x) / gamma_q_fraction(a, x);
  return upper ? q : 1 - q;
}

/// log(1 - e^t), t <= log(1/2) or little above.
template <class N>
N log_complement(const N& t) {
  return log1p(-exp(t));
}
/// Standard deviations from the mean within which Temme's expansion does not underflow: exp(-140^2 / 2) is above
/// 1e-4932.
inline constexpr Real temme_deviations = 140;
/// log P or log Q for finite a, x > 0.
template <class N>
N log_incomplete_gamma(const N& a, const N& x, bool upper) {
  const Real order = value(a), at = value(x), apart = std::abs(at - order);
  const bool above = at >= order + 1;
  if (order >= temme_from && apart < temme_within * order && apart < temme_deviations * std::sqrt(order)) {
    const N tail = gamma_temme(a, x, above);
    return above == upper ? log(tail) : log1p(-tail);
  }
  if (order < 0.5L && at < 1.5L) {
    const N q = gamma_q_small(a, x);
    if (upper) return log(q);
    if (value(q) < 0.5L) return log1p(-q);
  }
  const N tail = above ? log(a) + log_gamma_power(a, x) - log(gamma_q_fraction(a, x))
                       : log_gamma_power(a, x) + log(gamma_p_series(a, x));
  return above == upper ? tail : log_complement(tail);
}

/// The density x^(a - 1) e^-x / Gamma(a), x > 0.
template <class N>
N gamma_density(const N& a, const N& x) {
  if (value(a) < stirling_from) return a * exp((a - 1) * log(x) - x - log_gamma_1p(a));
  return a * gamma_power(a, x) / x;
}

// ---- Beta

/// The logarithm of x^a (1 - x)^b / B(a, b). For large a and b in terms of the ratios of x and 1 - x to the mean, whose
/// linear terms cancel analytically.
template <class N, class X>
auto log_beta_power(const N& a, const N& b, const X& x) {
  if (value(a) < stirling_from || value(b) < stirling_from) return a * log(x) + b * log1p(-x) - log_beta(a, b);
  const N sum = a + b;
  const auto from_a = (x * b - a * (1 - x)) / a, from_b = (a * (1 - x) - x * b) / b;
  return stirling_rest(sum) - stirling_rest(a) - stirling_rest(b) - deviance(a, from_a, x * sum / a) -
         deviance(b, from_b, (1 - x) * sum / b) + log(a * b / (2 * pi * sum)) / 2;
}
template <class N, class X>
auto beta_power(const N& a, const N& b, const X& x) {
  return exp(log_beta_power(a, b, x));
}

template <class N, class X>
Quotient<N> beta_quotient(const N& a, const N& b, const X& x, int n) {
  const int half = n / 2;
  const Real m = static_cast<Real>(half), k = static_cast<Real>(n);
  const N below = (a + (k - 1)) * (a + k), one = constant(a, 1);
  if (n % 2 == 0) return {(b - m) * (m * x) / below, one};
  return {(a + m) * (a + b + m) * -x / below, one};
}
/// The power over I_x(a, b), x < (a + 1) / (a + b + 2) (DLMF 8.17.22).
template <class N, class X>
N beta_fraction(const N& a, const N& b, const X& x) {
  const Real p = value(a), q = away_from_integer(b, value(b)), at = value(x);
  const int length = fraction_length(Real(1), [&](int n) { return beta_quotient(p, q, at, n); });
  return a * fraction(constant(a, 1), length, total_order(a), [&](int n) { return beta_quotient(a, b, x, n); });
}

/// The smaller parameter below which the complement is computed without the difference from 1.
inline constexpr Real beta_small = 0.5L;
/// 1 - I_x(a, b) for a < beta_small and x < (a + 1) / (a + b + 2), by the series of I_x(a, b) (DLMF 8.17.7).
template <class N, class X>
N beta_q_small(const N& a, const N& b, const X& x) {
  const auto part = [&](int n) { return (static_cast<Real>(n) - b) * (x / static_cast<Real>(n)); };
  N term = part(1), sum = term / (a + 1);
  for (int n = 2; n < terms_max; ++n) {
    term = term * part(n);
    const N next = term / (a + static_cast<Real>(n));
    sum += next;
    if (negligible(next, sum, series_least)) break;
  }
  const N exponent = a * log(x) + log_gamma_ratio(b, a) - log_gamma_1p(a);
  return -(expm1(exponent) + a * exp(exponent) * sum);
}

/// I_x(a, b) (`upper` false) or 1 - I_x(a, b), for 0 < x <= (a + 1) / (a + b + 2).
template <class N>
N near_beta(const N& a, const N& b, Real x, bool upper) {
  if (value(a) < beta_small) {
    const N q = beta_q_small(a, b, x);
    if (upper) return q;
    if (value(q) < 0.5L) return 1 - q;
  }
  const N p = beta_power(a, b, x) / beta_fraction(a, b, x);
  return upper ? 1 - p : p;
}
/// The same for a > 0, b > 0, 0 <= x <= 1.
template <class N>
N incomplete_beta(const N& a, const N& b, Real x, bool upper) {
  const Real p = value(a), q = value(b);
  if (!(p > 0 && q > 0 && x >= 0 && x <= 1) || std::isinf(p) || std::isinf(q)) return constant(a, nan);
  if (x == 0 || x == 1) return constant(a, (x == 1) == upper ? 0 : 1);
  const bool reflected = x > (p + 1) / (p + q + 2);
  return reflected ? near_beta(b, a, 1 - x, !upper) : near_beta(a, b, x, upper);
}
/// Its logarithm, for finite a, b > 0 and 0 < x < 1.
template <class N>
N log_incomplete_beta(const N& a, const N& b, const N& x, bool upper) {
  if (value(x) > (value(a) + 1) / (value(a) + value(b) + 2)) return log_incomplete_beta(b, a, N(1 - x), !upper);
  if (value(a) < beta_small) {
    const N q = beta_q_small(a, b, x);
    if (upper) return log(q);
    if (value(q) < 0.5L) return log1p(-q);
  }
  const N tail = log_beta_power(a, b, x) - log(beta_fraction(a, b, x));
  return upper ? log_complement(tail) : tail;
}

/// The density x^(a - 1) (1 - x)^(b - 1) / B(a, b), 0 < x < 1.
template <class N>
N beta_density(const N& a, const N& b, const N& x) {
  if (value(a) < stirling_from || value(b) < stirling_from)
    return exp((a - 1) * log(x) + (b - 1) * log1p(-x) - log_beta(a, b));
  return beta_power(a, b, x) / (x * (1 - x));
}

}  // namespace reel::kernels::special
