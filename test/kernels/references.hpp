// Functions in long double for the tests of kernels to compare with, where the C library has none.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>

namespace references {

using Real = long double;
inline constexpr Real pi = 3.14159265358979323846264338327950288L;

// sum over k >= 0 of (a + k)^-s for a > 0, s >= 2: terms, then Euler's and Maclaurin's series.
inline Real hurwitz_zeta(int s, Real a) {
  Real sum = 0;
  for (; a < 40; a += 1) sum += std::pow(a, Real(-s));
  const Real b[] = {1 / 12.0L, -1 / 720.0L, 1 / 30240.0L, -1 / 1209600.0L, 1 / 47900160.0L, -691 / 1307674368000.0L};
  sum += std::pow(a, Real(1 - s)) / (s - 1) + std::pow(a, Real(-s)) / 2;
  Real term = s * std::pow(a, Real(-s - 1));
  for (int j = 0; j < 6; ++j) {
    sum += b[j] * term;
    term *= Real(s + 2 * j + 1) * Real(s + 2 * j + 2) / (a * a);
  }
  return sum;
}

inline Real digamma(Real x) {
  if (x < 0) return digamma(1 - x) - pi / std::tan(pi * (x - std::nearbyint(x)));
  Real sum = 0;
  for (; x < 40; x += 1) sum -= 1 / x;
  const Real c[] = {1 / 12.0L, -1 / 120.0L, 1 / 252.0L, -1 / 240.0L, 1 / 132.0L, -691 / 32760.0L, 1 / 12.0L};
  sum += std::log(x) - 1 / (2 * x);
  Real power = 1 / (x * x);
  for (const Real k : c) sum -= k * power, power /= x * x;
  return sum;
}

inline Real polygamma(Real order, Real x) {
  const int n = static_cast<int>(order);
  if (n == 0) return digamma(x);
  Real y = 0;
  for (; x < 0; x += 1) y += std::pow(x, Real(-n - 1));
  y += hurwitz_zeta(n + 1, x);
  for (int i = 2; i <= n; ++i) y *= i;
  return n % 2 == 1 ? y : -y;
}

inline Real softplus(Real x) { return std::max(x, Real(0)) + std::log1p(std::exp(-std::abs(x))); }
inline Real sigmoid(Real x) { return 1 / (1 + std::exp(-x)); }

// log(x / y) for positive numbers.
inline Real log_ratio(Real x, Real y) {
  const Real d = (x - y) / y;
  return std::abs(d) < 0.5L ? std::log1p(d) : std::log(x / y);
}
// x log(x / y) - x + y for x, y >= 0: for close numbers by y (d^2 / 2 - d^3 / 6 + d^4 / 12 - ...), x = y (1 + d).
inline Real kl_div(Real x, Real y) {
  if (x == 0) return y;
  if (y == 0 || std::isinf(x) != std::isinf(y)) return std::numeric_limits<Real>::infinity();
  const Real d = (x - y) / y;
  if (std::abs(d) > 0.25L) return x * std::log(x / y) - x + y;
  Real sum = 0, power = d * d;
  for (int k = 2; k < 40; ++k, power *= -d) sum += power / (k * (k - 1));
  return y * sum;
}

// e^(x^2) erfc(x), with the square in two parts; far out its asymptotic series.
inline Real erfcx(Real x) {
  if (x > 50) {
    Real sum = 1, term = 1;
    for (int k = 1; k < 12; ++k) sum += term *= -(2 * k - 1) / (2 * x) / x;
    return sum / (x * std::sqrt(pi));
  }
  const Real square = x * x;
  return std::exp(square) * (1 + std::fma(x, x, -square)) * std::erfc(x);
}
// Its n-th derivative, n >= 1: for x > 0 by the integral of (-2t)^n e^(-t^2 - 2xt) over t = e^u, with the trapezoidal
// rule; else by the recurrence, whose terms have one sign.
inline Real erfcx_derivative(int n, Real x) {
  const Real two_over_root_pi = 2 / std::sqrt(pi);
  if (x <= 0) {
    Real before = erfcx(x), y = 2 * x * before - two_over_root_pi;
    for (int k = 1; k < n; ++k) {
      const Real next = 2 * x * y + 2 * k * before;
      before = y, y = next;
    }
    return y;
  }
  const Real step = 1 / 20.0L, middle = -std::log(std::max(x, Real(1)));
  Real sum = 0;
  for (Real u = middle - 50; u < 3 && u < middle + 6; u += step) {
    const Real t = std::exp(u);
    sum += std::exp(-t * (t + 2 * x) + n * (u + std::log(Real(2))) + u - middle);
  }
  sum *= step * two_over_root_pi * std::exp(middle);
  return n % 2 == 0 ? sum : -sum;
}
inline Real ndtr(Real x) { return std::erfc(-x / std::sqrt(Real(2))) / 2; }
inline Real log_ndtr(Real x) {
  if (x < -1) return std::log(erfcx(-x / std::sqrt(Real(2))) / 2) - x * x / 2;
  return x > 0 ? std::log1p(-ndtr(-x)) : std::log(ndtr(x));
}
// Newton's method, on the logarithm in the tail.
inline Real erfcinv(Real q) {
  if (!(q >= 0 && q <= 2)) return std::numeric_limits<Real>::quiet_NaN();
  if (q > 1) return -erfcinv(2 - q);
  if (q == 0) return std::numeric_limits<Real>::infinity();
  Real y = q < 0.4L ? std::sqrt(-std::log(q)) : (1 - q) * std::sqrt(pi) / 2;
  for (int i = 0; i < 40; ++i) {
    const Real e = erfcx(y), change = q < 0.4L ? (std::log(e) - y * y - std::log(q)) * e * std::sqrt(pi) / 2
                                               : (std::erfc(y) - q) * std::exp(y * y) * std::sqrt(pi) / 2;
    y += change;
    if (std::abs(change) < 1e-18L * y) break;
  }
  return y;
}
inline Real erfinv(Real x) {
  if (!(std::abs(x) < 0.6L)) return x < 0 ? -erfcinv(1 + x) : erfcinv(1 - x);
  Real y = x * std::sqrt(pi) / 2;
  for (int i = 0; i < 8; ++i) y -= (std::erf(y) - x) * std::exp(y * y) * std::sqrt(pi) / 2;
  return y;
}
inline Real ndtri(Real p) {
  const Real root = std::sqrt(Real(2));
  return p < 0.3L ? -root * erfcinv(2 * p) : p > 0.7L ? root * erfcinv(2 * (1 - p)) : root * erfinv(2 * p - 1);
}
// 1 / density at ndtri(p) or at erfinv(x), from the tail where there is one.
inline Real ndtri_derivative(Real p) {
  const Real tail = std::min(p, 1 - p), z = std::abs(ndtri(p));
  return std::sqrt(2 * pi) * erfcx(z / std::sqrt(Real(2))) / (2 * tail);
}
inline Real erfcinv_derivative(Real q) { return -std::sqrt(pi) / 2 * erfcx(std::abs(erfcinv(q))) / std::min(q, 2 - q); }
inline Real erfinv_derivative(Real x) { return std::sqrt(pi) / 2 * erfcx(std::abs(erfinv(x))) / (1 - std::abs(x)); }

}  // namespace references
