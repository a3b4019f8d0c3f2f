// Quadrature of Gauss and Legendre.
#pragma once
#include <cmath>
#include <numbers>

namespace reel::kernels::special {

/// The n zeros of the Legendre polynomial of degree n in ascending order, and the weights that integrate over [-1, 1]:
/// Newton's method from Tricomi's approximation.
inline void gauss_legendre(int n, long double* nodes, long double* weights) {
  constexpr int steps = 8;  // each squares the error
  const auto count = static_cast<long double>(n);
  for (int i = 0; i < n; ++i) {
    long double x = -std::cos(std::numbers::pi_v<long double> * (static_cast<long double>(i) + 0.75L) / (count + 0.5L));
    if (2 * i + 1 == n) x = 0;
    long double slope = 1;
    for (int step = 0; step < steps; ++step) {
      long double below = 0, p = 1;
      for (int k = 1; k <= n; ++k) {
        const auto degree = static_cast<long double>(k);
        const long double next = ((2 * degree - 1) * x * p - (degree - 1) * below) / degree;
        below = p, p = next;
      }
      slope = count * (x * p - below) / (x * x - 1);
      x -= p / slope;
    }
    nodes[i] = x;
    weights[i] = 2 / ((1 - x * x) * slope * slope);
  }
}

}  // namespace reel::kernels::special
