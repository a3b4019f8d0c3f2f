// Orthogonal polynomials of whole degrees by their recurrences (DLMF 18.9). Those of Legendre, Chebyshev and Laguerre
// by the recurrence of p_(k+1) - p_k, in which 1 - x, or x, enters without rounding: near the end of the interval the
// recurrence of p_k would lose digits as the square of the degree (Reinsch's modification of Clenshaw's sum). Near 0
// the recurrence of p_k. For x < 0 by p_n(-x) = (-1)^n p_n(x).
#include <algorithm>
#include <cmath>

#include "special/values/values.hpp"

namespace reel::kernels::special::values {

namespace {

constexpr int lanes = 32;
/// Up to this degree errors stay below 1e-13 of the largest values near x.
constexpr double degree_max = 128;

struct State {
  double x[lanes], p[lanes], d[lanes];  // d: the difference from the polynomial before, or that polynomial
};
struct Factors {
  double of_d, of_p;
};

/// d = of_d d + of_p x p, p += d; twice, so that a polynomial is stored half as often.
void difference_steps(State& s, const Factors& one, const Factors& two) {
  for (int l = 0; l < lanes; ++l) {
    const double x = s.x[l], d = one.of_d * s.d[l] + one.of_p * x * s.p[l], p = s.p[l] + d;
    s.d[l] = two.of_d * d + two.of_p * x * p;
    s.p[l] = p + s.d[l];
  }
}
/// d, p = p, of_p x p - of_d d; twice.
void plain_steps(State& s, const Factors& one, const Factors& two) {
  for (int l = 0; l < lanes; ++l) {
    const double x = s.x[l], p = s.p[l], next = one.of_p * x * p - one.of_d * s.d[l];
    s.p[l] = two.of_p * x * next - two.of_d * p;
    s.d[l] = next;
  }
}
Factors factors(Function f, int k) {
  const double next = 1.0 / (k + 1);
  switch (f) {
    case Function::legendre:
      return {k * next, (2 * k + 1) * next};
    case Function::laguerre:
      return {k * next, -next};
    case Function::hermite:
      return {2.0 * k, 2};
    case Function::hermite_e:
      return {1.0 * k, 1};
    default:
      return {1, f == Function::chebyshev_t && k == 0 ? 1.0 : 2.0};
  }
}
bool is_plain(Function f) { return f == Function::hermite || f == Function::hermite_e; }
bool is_on_unit(Function f) {
  return f == Function::legendre || f == Function::chebyshev_t || f == Function::chebyshev_u;
}

/// Of one degree, by one of the recurrences.
void of_degree(Function f, int degree, bool plain, const double* x, double* p) {
  State s;
  const bool odd = degree % 2 == 1, on_unit = is_on_unit(f);
  const double before = !plain && f == Function::chebyshev_u ? 1 : -0.0;
  const Factors first = factors(f, 0);
  for (int l = 0; l < lanes; ++l) {
    s.x[l] = plain || !on_unit ? x[l] : std::abs(x[l]) - 1;
    s.p[l] = 1 + 0 * x[l];  // NaN for an argument that is not finite, of degree 0 too
    s.d[l] = before;
    if (!odd) continue;
    const double next = first.of_d * before + first.of_p * s.x[l];
    s.d[l] = plain ? 1 : next;
    s.p[l] = plain ? next : s.p[l] + next;
  }
  const auto steps = plain ? plain_steps : difference_steps;
  for (int k = odd; k < degree; k += 2) steps(s, factors(f, k), factors(f, k + 1));
  const bool reflected = !plain && on_unit && odd;
  for (int l = 0; l < lanes; ++l) p[l] = reflected && x[l] < 0 ? -s.p[l] : s.p[l];
}
/// At most `lanes` arguments, of one degree. Near 0 the difference would lose what odd polynomials have there.
void of_degree(Function f, int degree, const double* x, double* out, int count) {
  constexpr double plain_below = 0.5;
  double at[lanes] = {}, p[lanes], near[lanes];
  std::copy_n(x, count, at);
  const bool unit = is_on_unit(f);
  const auto is_near = [](double v) { return std::abs(v) < plain_below; };
  if (unit && std::any_of(x, x + count, is_near)) of_degree(f, degree, true, at, near);
  of_degree(f, degree, is_plain(f), at, p);
  for (int l = 0; l < count; ++l) out[l] = unit && is_near(x[l]) ? near[l] : p[l];
}

}  // namespace

void polynomial(Function f, const double* const* in, double* out, std::ptrdiff_t n, double) {
  for (std::ptrdiff_t i = 0; i < n;) {
    const double degree = in[1][i];
    int count = 1;
    while (count < lanes && i + count < n && in[1][i + count] == degree) ++count;
    if (degree >= 0 && degree <= degree_max && degree == std::floor(degree))
      of_degree(f, static_cast<int>(degree), in[0] + i, out + i, count);
    else
      std::fill_n(out + i, count, left);
    i += count;
  }
}

}  // namespace reel::kernels::special::values
