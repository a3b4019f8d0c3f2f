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

/// x with P(a, x) = p = 1 - q.
inline Real inverse_gamma(Real a, Real p, Real q) {
  if (!(a > 0 && p >= 0 && q >= 0) || std::isinf(a)) return nan;
  if (p == 0) return 0;
  if (q == 0) return HUGE_VALL;
  // By the first term of the series alone, a bound from below.
  const Real small = (std::log(p) + log_gamma_1p(a)) / a;
  if (small < log_of_zero) return 0;
  const Real u = increasing_root(std::max(small, std::log(a) - 1), HUGE_VALL, [&](Real v) {
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
  const Real u = increasing_root(std::min(small, most), most, [&](Real v) {
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
  if (!(p > incomplete_beta(a, b, 0.5L, false))) return inverse_beta_below_half(a, b, p, q);
  const InverseBeta r = inverse_beta_below_half(b, a, q, p);
  return {r.rest, r.x};
}

}  // namespace reel::kernels::special
