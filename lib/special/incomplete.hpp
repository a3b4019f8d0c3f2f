// The incomplete gamma and beta functions as functions of all arguments, of numbers and of Taylor polynomials. The last
// argument is a number: a derivative by it is one of the density, which has a closed form. In their logarithms it is a
// Taylor polynomial too: there the quotient of density and function would lose digits, or underflow.
#pragma once
#include "special/fractions.hpp"
#include "special/gamma.hpp"

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
/// An expansion of P and Q that is uniform about x = a (DLMF 8.12.3, 8.12.4, 8.12.7), m = (x - a) / a: with y^2 / a = m
/// - log(1 + m), Q is erfc(y) / 2 + exp(-y^2) rest.
template <class N>
struct Temme {
  N y, rest;
};
template <class N>
Temme<N> temme_expansion(const N& a, const N& m) {
  // The power series in eta of c_0 and c_1 (DLMF 8.12.8 to 8.12.11); the term in 1 / a^2 is below the last place.
  constexpr Real c0[] = {
      -0.3333333333333333333333L,    0.08333333333333333333333L,      -0.01481481481481481481481L,
      0.001157407407407407407407L,   0.0003527336860670194003527L,    -0.0001787551440329218106996L,
      0.00003919263178522437781697L, -0.000002185448510679992161474L, -0.000001854062210715159960702L,
      8.296711340953086005016e-7L,   -1.766595273682607930436e-7L,    6.707853543401498580369e-9L};
  constexpr Real c1[] = {-0.001851851851851851851852L,   -0.003472222222222222222222L,  0.002645502645502645502646L,
                         -0.0009902263374485596707819L,  0.0002057613168724279835391L,  -4.018775720164609053498e-7L,
                         -0.00001809855033448997783703L, 0.000007649160916081110084637L};
  const N inverse = 1 / a;
  N ratio = constant(m, 0);  // eta^2 / m^2, eta^2 / 2 = y^2 / a
  for (int k = 16; k-- > 0;) ratio = 2 / static_cast<Real>(k + 2) - m * ratio;
  const N eta = m * sqrt(ratio);
  return {eta * sqrt(a / 2.0L), (horner(eta, c0) + inverse * horner(eta, c1)) / sqrt(2 * pi * a)};
}
template <class N>
N gamma_temme(const N& a, const N& m, bool upper) {
  const Temme<N> t = temme_expansion(a, m);
  const N rest = exp(-(t.y * t.y)) * t.rest;
  return upper ? erfc(t.y) * 0.5L + rest : erfc(-t.y) * 0.5L - rest;
}
/// exp(y^2) erfc(y) for y >= erfcx_from, by its asymptotic series (DLMF 7.12.1).
inline constexpr Real erfcx_from = 60;
template <class N>
N erfcx_far(const N& y) {
  const N inverse = -0.5L / (y * y);
  N sum = constant(y, 1);
  for (int k = 8; k > 0; --k) sum = 1 + (2 * k - 1) * inverse * sum;
  return sum / (y * std::sqrt(pi));
}
/// log P, m < 0, or log Q, m > 0: where they underflow too.
template <class N>
N log_gamma_temme(const N& a, const N& m, bool upper) {
  const Temme<N> t = temme_expansion(a, m);
  if (std::abs(value(t.y)) < erfcx_from) return log(gamma_temme(a, m, upper));
  return log(upper ? erfcx_far(t.y) * 0.5L + t.rest : erfcx_far(N(-t.y)) * 0.5L - t.rest) - t.y * t.y;
}

/// P (`upper` false) or Q for finite a, x > 0, where Temme's expansion does not apply.
template <class N, class X>
N gamma_away_from_mean(const N& a, const X& x, bool upper) {
  const Real order = value(a), at = value(x);
  if (order < 0.5L && at < 1.5L) {
    return upper ? gamma_q_small(a, x) : gamma_power(a, x) * gamma_p_series(a, x);
  }
  if (at < order + 1) {
    const N p = gamma_power(a, x) * gamma_p_series(a, x);
    return upper ? 1 - p : p;
  }
  const N q = a * gamma_power(a, x) / gamma_q_fraction(a, x);
  return upper ? q : 1 - q;
}
/// P (`upper` false) or Q for a >= 0, x >= 0, with limits at the ends of the range.
template <class N>
N incomplete_gamma(const N& a, Real x, bool upper) {
  const Real order = value(a);
  if (!(order >= 0 && x >= 0) || (order == 0 && x == 0) || (std::isinf(order) && std::isinf(x)))
    return constant(a, nan);
  if (x == 0 || std::isinf(order)) return constant(a, upper ? 1 : 0);
  if (std::isinf(x)) return constant(a, upper ? 0 : 1);
  if (order >= temme_from && std::abs(x - order) < temme_within * order) return gamma_temme(a, N((x - a) / a), upper);
  return gamma_away_from_mean(a, x, upper);
}

/// log(1 - e^t), t <= log(1/2) or little above.
template <class N>
N log_complement(const N& t) {
  return log1p(-exp(t));
}
/// log P or log Q for finite a, x > 0, m = (x - a) / a.
template <class N>
N log_incomplete_gamma(const N& a, const N& x, const N& m, bool upper) {
  const Real order = value(a), at = value(x);
  if (order >= temme_from && std::abs(value(m)) < temme_within) {
    const bool above = value(m) > 0;
    const N tail = log_gamma_temme(a, m, above);
    return above == upper ? tail : log_complement(tail);
  }
  const bool above = at >= order + 1;
  if (order < 0.5L && at < 1.5L) {
    const N q = gamma_q_small(a, x);
    if (upper) return log(q);
    if (value(q) < 0.5L) return log1p(-q);
  }
  const N tail = above ? log(a) + log_gamma_power(a, x) - log(gamma_q_fraction(a, x))
                       : log_gamma_power(a, x) + log(gamma_p_series(a, x));
  return above == upper ? tail : log_complement(tail);
}

template <class N>
N log_incomplete_gamma(const N& a, const N& x, bool upper) {
  return log_incomplete_gamma(a, x, N((x - a) / a), upper);
}

/// The density x^(a - 1) e^-x / Gamma(a), x > 0.
template <class N>
N gamma_density(const N& a, const N& x) {
  if (value(a) < stirling_from) return a * exp((a - 1) * log(x) - x - log_gamma_1p(a));
  return a * gamma_power(a, x) / x;
}

// ---- Beta

/// x b - a (1 - x), which is 0 at the mean a / (a + b). Its value is exact but for one rounding: near the mean, a
/// rounding error of a would be sqrt(a) standard deviations times that of 1.
template <class N, class X>
auto beta_excess(const N& a, const N& b, const X& x) {
  const Real p = value(a), q = value(b), at = value(x);
  const Real of_a = at * p, of_b = at * q, first = of_a - p, apart = first - of_a, sum = first + of_b,
             back = sum - first;
  const Real lost = (of_a - (first - apart)) + (-p - apart) + (first - (sum - back)) + (of_b - back);
  const Real exact = sum + (lost + std::fma(at, p, -of_a) + std::fma(at, q, -of_b));
  auto e = x * b - a * (1 - x);
  e += exact - value(e);
  return e;
}
/// The logarithm of x^a (1 - x)^b / B(a, b). For large a and b in terms of the ratios of x and 1 - x to the mean, whose
/// linear terms cancel analytically.
template <class N, class X>
auto log_beta_power(const N& a, const N& b, const X& x) {
  if (value(a) < stirling_from || value(b) < stirling_from) return a * log(x) + b * log1p(-x) - log_beta(a, b);
  const N sum = a + b;
  const auto excess = beta_excess(a, b, x), from_a = excess / a, from_b = -excess / b;
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

/// x - log(1 + x) - x^2 / 2, by its series near 0.
inline Real cubic_log1p(Real x) {
  if (std::abs(x) > 0.3L) return x - std::log1p(x) - x * x / 2;
  Real sum = 0;
  for (int k = 40; k >= 3; --k) sum = 1 / static_cast<Real>(k) - x * sum;
  return -x * x * x * sum;
}
[[gnu::noinline]] inline Taylor cubic_log1p(const Taylor& x) {
  Real power = 1;
  return compose(x, [&, x0 = x[0]](int k) {
    if (k > 0) power /= -(1 + x0);
    if (k == 0) return cubic_log1p(x0);
    if (k == 1) return -x0 * x0 / (1 + x0);
    return k == 2 ? -x0 * (2 + x0) / (2 * (1 + x0) * (1 + x0)) : power / k;
  });
}
/// d - log(1 + d), where 1 + d is given as well.
template <class N>
N minus_log(const N& d, const N& ratio) {
  return value(ratio) < 0.5L ? N(d - log(ratio)) : minus_log1p(d);
}

/// From this larger parameter a on, I_x(a, b) is Q(b, z) - unit exp(-deviance) h, with an error of order a^-2 (DLMF
/// 8.18.14, with the factorial of b in place of its Stirling approximation). z = b (1 + m).
inline constexpr Real beta_by_gamma_from = 1e10L;
template <class N>
struct GammaOfBeta {
  N z, m, deviance, h;
};
/// m of z / b - 1 = m and h, with v = (1 - x) / (1 - x0) - 1, x0 = a / (a + b), mu = b / a, |v| < 1/2: m - log(1 + m) =
/// deviance / b. As m = t + change, t = v sqrt(1 + mu), whose leading terms cancel analytically.
template <class N>
std::pair<N, N> beta_shift(const N& mu, const N& v) {
  const N root = sqrt(1 + mu), t = v * root;
  if (std::abs(value(v)) < 1e-8L) {
    const N h = (1 - mu) / (3 * root) - 1 / 3.0L;
    return {t / (1 + h * t), h};
  }
  const N rest = cubic_log1p(N(-mu * v)) / mu + cubic_log1p(v) - cubic_log1p(t);
  N change = rest * (1 + t) / t;
  for (int k = 0; k < 7; ++k)
    change =
        change - (change * t / (1 + t) + minus_log1p(N(change / (1 + t))) - rest) * (1 + t + change) / (t + change);
  return {t + change, -change / ((t + change) * t)};
}
/// For a >= b; y = 1 - x, and `excess` is a y - x b.
template <class N, class X>
GammaOfBeta<N> gamma_of_beta(const N& a, const N& b, const X& x, const X& y, const N& excess) {
  const N mu = b / a, v = excess / b, sum = a + b, ratio = y * (sum / b);
  const N deviance = a * minus_log(N(-excess / a), N(x * (sum / a))) + b * minus_log(v, ratio);
  if (std::abs(value(v)) < 0.5L) {
    const auto [m, h] = beta_shift(mu, v);
    return {b + b * m, m, deviance, h};
  }
  // exp(l) - 1 - l = deviance / b, by a contraction and Newton's method.
  const N target = deviance / b;
  Real start = value(v) > 0 ? std::log1p(value(target)) : -value(target);
  for (int k = 0; k < 12; ++k)
    start = value(v) > 0 ? std::log1p(value(target) + start) : std::expm1(start) - value(target);
  N l = constant(a, start);
  for (int k = 0; k < 6; ++k) l = l - (expm1(l) - l - target) / expm1(l);
  const N m = expm1(l);
  return {b * exp(l), m, deviance, 1 / m - 1 / (v * sqrt(1 + mu))};
}
/// log(b^b e^-b / Gamma(b + 1)).
template <class N>
N log_gamma_unit(const N& b) {
  if (value(b) < stirling_from) return b * log(b) - b - log_gamma_1p(b);
  return -stirling_rest(b) - log(2 * pi * b) / 2;
}
/// I_x(a, b) (`upper` false) or 1 - I_x(a, b), where g is of the same arguments.
template <class N>
N beta_by_gamma(const N& b, const GammaOfBeta<N>& g, bool upper) {
  const bool near = value(b) >= temme_from && std::abs(value(g.m)) < temme_within;
  const N tail = near ? gamma_temme(b, g.m, !upper) : gamma_away_from_mean(b, g.z, !upper);
  const N rest = exp(log_gamma_unit(b) - g.deviance) * g.h;
  return upper ? tail + rest : tail - rest;
}
template <class N>
N log_beta_by_gamma(const N& b, const GammaOfBeta<N>& g, bool upper) {
  const N tail = log_incomplete_gamma(b, g.z, g.m, !upper);
  constexpr Real dominates = 1e17L;  // of the deviance: the next term, of order 1, is below its rounding error
  if (value(g.deviance) > dominates) return tail;
  const N rest = exp(log_gamma_unit(b) - g.deviance - tail) * g.h;
  return tail + log1p(upper ? rest : N(-rest));
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
  if (std::max(p, q) >= beta_by_gamma_from) {
    const N excess = beta_excess(a, b, x);
    return p >= q ? beta_by_gamma(b, gamma_of_beta(a, b, x, 1 - x, N(-excess)), upper)
                  : beta_by_gamma(a, gamma_of_beta(b, a, 1 - x, x, excess), !upper);
  }
  const bool reflected = x > (p + 1) / (p + q + 2);
  return reflected ? near_beta(b, a, 1 - x, !upper) : near_beta(a, b, x, upper);
}
/// Its logarithm, for finite a, b > 0 and 0 < x < 1.
template <class N>
N log_incomplete_beta(const N& a, const N& b, const N& x, bool upper) {
  if (std::max(value(a), value(b)) >= beta_by_gamma_from) {
    const N excess = beta_excess(a, b, x);
    return value(a) >= value(b) ? log_beta_by_gamma(b, gamma_of_beta(a, b, x, N(1 - x), N(-excess)), upper)
                                : log_beta_by_gamma(a, gamma_of_beta(b, a, N(1 - x), x, excess), !upper);
  }
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
