// Sums and quotients of gamma functions, the zeta functions, Lambert's W.
#include "special/arguments.hpp"
#include "special/fractions.hpp"
#include "special/gamma.hpp"

namespace reel::kernels::special {

namespace {

template <class N>
N multigammaln_of(const N& a, Real dimension) {
  N sum = constant(a, dimension * (dimension - 1) / 4 * std::log(pi));
  for (int j = 0; j < static_cast<int>(dimension); ++j) sum += log_gamma_1p(a - (1 + j / 2.0L));
  return sum;
}
Real multigammaln(Real x, Real dimension, int order) {
  constexpr Real dimension_max = 1e4L;  // terms of the sum
  if (!is_whole(dimension) || dimension < 1 || dimension > dimension_max || !(x > (dimension - 1) / 2)) return nan;
  if (std::isinf(x)) return order < 2 ? x : 0;
  if (order == 0) return multigammaln_of(x, dimension);
  const Orders o = {order};
  return derivative(multigammaln_of(Taylor::variable(o, x, 0), dimension));
}

/// Gamma(n + 1) / (Gamma(k + 1) Gamma(n - k + 1)): by the smaller of k and n - k, and by quotients of two of the three
/// unless an argument is at or near a pole.
Taylor binomial(const Taylor& n, const Taylor& k) {
  const Taylor rest = n - k;
  if (rest[0] < k[0]) return binomial(n, rest);
  if (k[0] > -0.5L) return exp(log_gamma_ratio(rest + 1, k) - log_gamma_1p(k));
  if (n[0] > -0.5L) return exp(-log_gamma_ratio(n + 1, -k)) * reciprocal_gamma(k + 1);
  return gamma_function(n + 1) * reciprocal_gamma(k + 1) * reciprocal_gamma(rest + 1);
}
Real comb(const Arguments& a) {
  const Real n = a.at[0], k = a.at[1];
  if (n == infinity && std::isfinite(k)) {  // n^k / Gamma(k + 1)
    const Real limit = power_at_infinity(k, a.orders[0], a.orders[1]);
    return std::isfinite(limit) && limit != 0 ? 1 : limit;
  }
  if (std::isinf(k) && n > -1 && std::isfinite(n)) return 0;
  if (std::isinf(n) || std::isinf(k) || (n < 0 && is_whole(n))) return nan;
  const Orders o(a.orders, 2);
  return derivative(binomial(Taylor::variable(o, n, 0), Taylor::variable(o, k, 1)));
}

/// q^-s; for negative q only integer s.
template <class N>
N negative_power(const N& q, const N& s) {
  if (value(q) > 0) return exp(-s * log(q));
  return exp(-s * log(-q)) * alternating(value(s));
}
/// The sum of (q + k)^-s over k >= 0 by Euler-Maclaurin summation (DLMF 25.11.5), and its analytic continuation.
template <class N>
N hurwitz(const N& s, const N& q) {
  N w = q, sum = constant(q, 0);
  const Real far = std::max(std::abs(value(s)) + 24, Real(20));
  for (int k = 0; value(w) < far; ++k, w = w + 1) {
    const N term = negative_power(w, s);
    sum += term;
    if (k == terms_max || !std::isfinite(value(sum))) return sum;
    // The rest of the sum is at most w / (s - 1) + 1 times this term.
    if (value(s) > 2 && value(w) > 0 && negligible(term * (value(w) + 1), sum, series_least)) return sum;
  }
  const N power = negative_power(w, s), inverse = 1 / w, square = inverse * inverse;
  sum += power * (w / (s - 1) + 0.5L);
  N factor = power * s * inverse;
  for (int j = 0; j < static_cast<int>(std::size(bernoulli_by_factorial)); ++j) {
    sum += factor * bernoulli_by_factorial[j];
    factor = factor * (s + Real(2 * j + 1)) * (s + Real(2 * j + 2)) * square;
  }
  return sum;
}
Real zeta(const Arguments& a) {
  constexpr Real shift_max = 1e6L;  // terms that are added before the sum for positive q
  const Real s = a.at[0], q = a.at[1];
  if (s == 1) return a.orders[0] + a.orders[1] == 0 ? infinity : nan;
  if (s > 1 && (q == infinity || (s == infinity && q > 1))) return 0;
  if (s == infinity && q > 0 && a.orders[1] == 0) return q < 1 ? alternating(a.orders[0]) * infinity : a.orders[0] == 0;
  if (!(s > 1) || std::isinf(q) || std::isinf(s)) return nan;
  if (q <= 0) {
    if (is_whole(q)) return a.orders[0] + a.orders[1] == 0 ? infinity : nan;
    if (!is_whole(s) || a.orders[0] > 0 || q < -shift_max) return nan;
  }
  if (a.orders[1] > 0) {  // -s zeta(s + 1, q), far from the pole
    const int orders[] = {a.orders[0], a.orders[1] - 1};
    return by_arguments<2>({{s, q}, orders}, [](const auto& t, const auto& r) { return -t * hurwitz(t + Real(1), r); });
  }
  return by_arguments<2>(a, [](const auto& t, const auto& r) { return hurwitz(t, r); });
}
/// zeta(s): by reflection (DLMF 25.4.1), except near s = 0, where its factors have a zero and a pole.
Taylor riemann(const Taylor& s) {
  if (s[0] >= -0.5L) return hurwitz(s, constant(s, 1));
  const Real reduced = pi / 2 * std::fmod(s[0], 4.0L);
  const bool zero = std::fmod(s[0], 2.0L) == 0;
  const Taylor sine = sin(s * (pi / 2), zero ? 0 : std::sin(reduced), zero ? alternating(s[0] / 2) : std::cos(reduced));
  return 2 * exp((s - 1) * std::log(2 * pi)) * sine * gamma_function(1 - s) * riemann(1 - s);
}
Real riemann_zeta(Real s, int order) {
  if (s == 1) return order == 0 ? infinity : nan;
  if (s == infinity) return order == 0 ? 1 : 0;
  constexpr Real overflow_below = -1000;  // |zeta(s)| is above 1e1700 between even numbers
  if (s < overflow_below) {
    if (std::isinf(s) || order > 0) return nan;
    const Real sine = std::sin(pi / 2 * std::fmod(s, 4.0L));
    return std::fmod(s, 2.0L) == 0 ? 0 : std::copysign(infinity, sine);
  }
  return by_argument(s, order, riemann);
}

// ---- W, the inverse of w e^w

/// e x + 1 without cancellation near -1/e; the second term is e minus the nearest long double.
Real above_branch_point(Real x) {
  constexpr Real e = 2.71828182845904523542816810799L, remainder = -6.78806366412778411717e-20L;
  return std::fma(e, x, 1.0L) + remainder * x;
}
/// By the series in p = +-sqrt(2 (e x + 1)) (Corless and others 1996, 4.22).
template <class N>
N lambert_series(const N& p) {
  constexpr Real c[] = {-1,
                        1,
                        -1 / 3.0L,
                        11 / 72.0L,
                        -43 / 540.0L,
                        769 / 17280.0L,
                        -221 / 8505.0L,
                        680863 / 43545600.0L,
                        -1963 / 204120.0L,
                        226287557 / 37623398400.0L};
  N sum = constant(p, c[9]);
  for (int k = 9; k-- > 0;) sum = sum * p + c[k];
  return sum;
}
Real lambert_guess(Real x, Real p) {
  if (std::abs(p) < 0.7L) return lambert_series(p);
  if (p > 0 && x < 3) {
    const Real l = std::log1p(x);
    return l * (1 - std::log1p(l) / (2 + l));
  }
  const Real l = std::log(std::abs(x)), ll = std::log(std::abs(l));
  return l - ll + ll / l;
}
Real lambert_w_of(Real x, int order, bool lower) {
  constexpr Real rounding = 1e-16L;   // of x, at the branch point
  constexpr Real series_max = 0.01L;  // of p, for derivatives, which cancel near the branch point
  constexpr Real settled = 1e-19L;    // the last step, relative to w
  constexpr int steps_max = 40;
  const Real above = above_branch_point(x);
  if (x == -infinity || above < -rounding || (lower && x > 0)) return nan;
  if (std::isinf(x)) return order == 0 ? x : 0;
  if (lower && x == 0) return -infinity;
  if (above <= 0) return order == 0 ? -1 : (lower ? 1 : -1) * alternating(order) * infinity;
  const Real root = std::sqrt(2 * above), p = lower ? -root : root;
  const Orders o = {order};
  const Taylor t = Taylor::variable(o, x, 0);
  if (root < series_max) {
    const Taylor q = sqrt((t - x) * (2 * std::exp(1.0L)) + 2 * above);
    return derivative(lambert_series(lower ? -q : q));
  }
  Real w = lambert_guess(x, p);
  for (int i = 0; i < steps_max; ++i) {
    const Real next = (w * w + x * std::exp(-w)) / (1 + w), step = std::abs(next - w);
    w = next;
    if (step <= settled * std::abs(w)) break;
  }
  Taylor y = constant(t, w);
  for (int known = 1; known <= order; known *= 2) y = (y * y + t * exp(-y)) / (1 + y);
  return derivative(y);
}

}  // namespace

Real gamma_like(Function f, const Arguments& a) {
  switch (f) {
    case Function::multigammaln:
      return multigammaln(a.at[0], a.at[1], a.orders[0]);
    case Function::comb:
      return comb(a);
    case Function::zeta:
      return zeta(a);
    default:
      return riemann_zeta(a.at[0], a.orders[0]);
  }
}

Real lambert_w(Function f, const Arguments& a) {
  return lambert_w_of(a.at[0], a.orders[0], f == Function::lambertw_lower);
}

}  // namespace reel::kernels::special
