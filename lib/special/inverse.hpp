// Inverses of the incomplete gamma and beta functions in their last argument: bracketed Newton's method on the
// logarithm of the smaller tail.
#pragma once
#include "special/incomplete.hpp"

namespace reel::kernels::special {

/// The zero u of the increasing function f, where f(u) returns {f, f'}. Newton's method from a first guess. Where f is
/// flat, steps are too long: the bound on their length starts at 1 and doubles.
template <class F>
Real increasing_root(Real guess, Real most, const F& f) {
  constexpr int steps_max = 200;                             // of Newton, or bisections
  constexpr Real precision = 1e-18L, smallest_unit = 1e-3L;  // of u, and of |u| near 0
  Real low = -HUGE_VALL, high = most, u = std::min(guess, most), longest = 1;
  for (int i = 0; i < steps_max; ++i) {
    const auto [y, slope] = f(u);
    if (y == 0 || std::isnan(y)) return u + y;
    (y < 0 ? low : high) = u;
    Real step = -y / slope;
    if (!(std::abs(step) <= longest)) {
      step = y < 0 ? longest : -longest;
      longest *= 2;
    }
    const Real settled = precision * std::max(std::abs(u), smallest_unit);
    if (std::abs(step) <= settled || high - low <= settled) return u + step;
    const Real next = u + step;
    u = next > low && next < high ? next : (low + high) / 2;
  }
  return u;
}

/// log x below which x is 0 in double precision, whose least number is exp(-745).
inline constexpr Real log_of_zero = -800;

struct RootValue {
  Real y, slope;
};
/// log F - log p, or for p > 1/2 log q - log(1 - F), as functions of log x. `density` is the derivative of F by log x.
inline RootValue log_difference(Real lower, Real upper, Real density, Real p, Real q) {
  if (p <= 0.5L) return {std::log(lower / p), density / lower};
  return {std::log(q / upper), density / upper};
}

/// The normal quantile of p = 1 - q: from 26.2.23 of Abramowitz and Stegun, which is right to 5e-4, by two steps of
/// Halley's method; one makes it right to 1e-10.
inline Real normal_quantile(Real p, Real q, int steps = 2) {
  const Real tail = std::min(p, q), t = std::sqrt(-2 * std::log(tail));
  Real z = (2.515517L + t * (0.802853L + t * 0.010328L)) / (1 + t * (1.432788L + t * (0.189269L + t * 0.001308L))) - t;
  for (int i = 0; i < steps; ++i) {
    const Real off = (std::erfc(-z / std::sqrt(2.0L)) / 2 - tail) * std::sqrt(2 * pi) * std::exp(z * z / 2);
    z -= off / (1 + z * off / 2);
  }
  return p <= q ? z : -z;
}

/// From this parameter on a guess by the normal distribution is good; from the other on it is a point to rounding.
inline constexpr Real normal_from = 20, certain_from = 1e45L;

/// x with P(a, x) = p = 1 - q.
inline Real inverse_gamma(Real a, Real p, Real q) {
  if (!(a > 0 && p >= 0 && q >= 0) || std::isinf(a)) return nan;
  if (p == 0) return 0;
  if (q == 0) return HUGE_VALL;
  // By the first term of the series alone, a bound from below.
  const Real small = (std::log(p) + log_gamma_1p(a)) / a;
  if (small < log_of_zero) return 0;
  if (a > certain_from) return a;
  Real guess = std::max(small, std::log(a) - 1);
  if (a > normal_from) {  // Wilson and Hilferty 1931
    const Real root = 1 - 1 / (9 * a) + normal_quantile(p, q) / (3 * std::sqrt(a));
    if (root > 0) guess = std::max(small, std::log(a) + 3 * std::log(root));
  }
  const Real u = increasing_root(guess, HUGE_VALL, [&](Real v) {
    const Real x = std::exp(v);
    return log_difference(incomplete_gamma(a, x, false), incomplete_gamma(a, x, true), x * gamma_density(a, x), p, q);
  });
  return std::exp(u);
}

/// x with I_x(a, b) = p = 1 - q, and 1 - x, which may be more precise.
struct InverseBeta {
  Real x, rest;
};
/// For p up to about I_(1/2)(a, b), so that x is at most about 1/2.
inline InverseBeta inverse_beta_below_half(Real a, Real b, Real p, Real q) {
  const Real most = std::log(0.5L), small = (std::log(p) + std::log(a) + log_beta(a, b)) / a;
  if (small < log_of_zero) return {0, 1};
  Real guess = small;
  if (std::min(a, b) > normal_from) {  // 26.5.22 of Abramowitz and Stegun
    const Real z = -normal_quantile(p, q), r = 1 / (2 * a - 1), s = 1 / (2 * b - 1), h = 2 / (r + s),
               l = (z * z - 3) / 6;
    const Real w = z * std::sqrt(std::max(h + l, Real(0))) / h - (s - r) * (l + 5 / 6.0L - 2 / (3 * h));
    guess = std::max(small, -std::log1p(b / a * std::exp(2 * w)));
  }
  const Real u = increasing_root(std::min(guess, most), most, [&](Real v) {
    const Real x = std::exp(v);
    return log_difference(incomplete_beta(a, b, x, false), incomplete_beta(a, b, x, true), x * beta_density(a, b, x), p,
                          q);
  });
  return {std::exp(u), -std::expm1(u)};
}
inline InverseBeta inverse_beta(Real a, Real b, Real p, Real q) {
  if (!(a > 0 && b > 0 && p >= 0 && q >= 0) || std::isinf(a) || std::isinf(b)) return {nan, nan};
  if (p == 0) return {0, 1};
  if (q == 0) return {1, 0};
  if (std::min(a, b) > certain_from) return {1 / (1 + b / a), 1 / (1 + a / b)};
  if (!(p > incomplete_beta(a, b, 0.5L, false))) return inverse_beta_below_half(a, b, p, q);
  const InverseBeta r = inverse_beta_below_half(b, a, q, p);
  return {r.rest, r.x};
}

}  // namespace reel::kernels::special
