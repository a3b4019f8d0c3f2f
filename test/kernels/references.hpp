// Functions in long double for the tests of kernels to compare with, where the C library has none.
#pragma once
#include <algorithm>
#include <cmath>

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

}  // namespace references
