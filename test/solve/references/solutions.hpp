// Equations for one number and integrals over N, of which solvers are tested.
#pragma once
#include "../../op_cases/naive.hpp"

namespace cases::equations {

using std::cos, std::sin;

// Equations residual(x, p) = 0, and the slope by x.
struct Cubic {
  static auto residual(const auto& x, const auto& p) { return x * x * x + x - p; }
  static auto slope(const auto& x) { return x * x * Real(3) + Real(1); }
};
struct Kepler {
  static auto residual(const auto& x, const auto& p) { return x - p - sin(x) * Real(0.25); }
  static auto slope(const auto& x) { return Real(1) - cos(x) * Real(0.25); }
};
struct Exponential {
  static auto residual(const auto& x, const auto& p) { return exp(x) + x * Real(2) - p; }
  static auto slope(const auto& x) { return exp(x) + Real(2); }
};
/// Newton's steps on the value, then on what more the number has: each doubles the number of right coefficients.
template <class Equation, class N>
N solution_of(const N& p) {
  const auto step = [](const N& from, const N& to) {
    return from - Equation::residual(from, to) / Equation::slope(from);
  };
  N x(0);
  for (int k = 0; k < 60; ++k) x = N(value_of(step(x, N(value_of(p)))));
  for (int k = 0; k < 3; ++k) x = step(x, p);
  return x;
}

/// The integral of exp(p t) from a to b.
template <class N>
N exponential_integral(const N& p, const N& a, const N& b) {
  N sum(0), low = a, high = b;
  for (int k = 0; k < 45; ++k) {
    sum += high - low;
    low = low * a * p / N(k + 2);
    high = high * b * p / N(k + 2);
  }
  return sum;
}

}  // namespace cases::equations
