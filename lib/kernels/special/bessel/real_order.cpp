// Bessel functions J and Y of real order, as Taylor polynomials in order nu and argument x. Methods, first match:
// 1. both, x >= 25 and x >= nu^2: Hankel's asymptotic expansion;
// 2. J, nu > x and x^2 < 16 (nu + 1): the power series;
// 3. J, nu >= x + 1 and x < 1000: the continued fraction of the ratios of successive orders;
// 4. both, x + nu < 2000: Schlaefli's integrals by quadrature; NaN beyond.
#include "kernels/special/arguments.hpp"
#include "kernels/special/fractions.hpp"
#include "kernels/special/gamma.hpp"

namespace reel::kernels::special {

namespace {

/// J (DLMF 10.2.2).
Taylor power_series(const Taylor& nu, const Taylor& x) {
  const Taylor z = x * x * -0.25L;
  const Taylor sum = series(constant(x, 1), [&](int k, const Taylor& term) {
    const Real n = static_cast<Real>(k);
    return term * z / ((nu + n) * n);
  });
  return sum * exp(nu * log(x / 2) - log_gamma_1p(nu));
}

struct SinCos {
  Taylor sin, cos;
};
/// sin(pi x) and cos(pi x). The argument is reduced exactly.
SinCos sin_cos_pi(const Taylor& x) {
  const Real n = std::nearbyint(x[0]), sign = alternating(n), s = sign * std::sin(pi * (x[0] - n)),
             c = sign * std::cos(pi * (x[0] - n));
  const Taylor angle = pi * x;
  return {sin(angle, s, c), sin(angle, c, -s)};
}

/// DLMF 10.17.3 (J), 10.17.4 (Y), for arguments from hankel_min on that exceed the square of the order.
constexpr Real hankel_min = 25;
Taylor hankel_expansion(const Taylor& nu, const Taylor& x, bool second) {
  const Taylor square = 4 * nu * nu, inverse = 1 / (8 * x);
  Taylor term = constant(x, 1), p = term, q = constant(x, 0);
  constexpr int terms = 200;
  for (int k = 1; k < terms; ++k) {
    const Real before = std::abs(term[0]);
    term = term * (square - Real(2 * k - 1) * Real(2 * k - 1)) * inverse * (1 / Real(k));
    if (!(std::abs(term[0]) <= before) || negligible(term, p, series_least)) break;
    (k % 2 == 0 ? p : q) += k % 4 < 2 ? term : -term;
  }
  // The phase is x - (nu / 2 + 1 / 4) pi.
  const SinCos shift = sin_cos_pi(nu / 2.0L + 0.25L);
  const Taylor s = sin(x) * shift.cos - cos(x) * shift.sin, c = cos(x) * shift.cos + sin(x) * shift.sin;
  return (second ? p * s + q * c : p * c - q * s) * sqrt(2 / (pi * x));
}

/// The first integral of DLMF 10.9.6 (J) and 10.9.7 (Y), divided by pi: of cos(x sin(t) - nu t) or its sine over
/// 0 < t < pi, by the double exponential rule (Takahasi and Mori 1974).
Taylor finite_integral(const Taylor& nu, const Taylor& x, bool second) {
  const int nodes = 60 + static_cast<int>(2 * (x[0] + nu[0]));
  const Real step = 3.5L / nodes;
  Taylor sum = constant(x, 0);
  for (int j = -nodes; j <= nodes; ++j) {
    const Real s = j * step, e = std::exp(-pi * std::abs(std::sinh(s))), small = e / (1 + e);
    const Real t = pi * (s > 0 ? 1 - small : small);
    const Taylor phase = x * std::sin(pi * small) - nu * t;
    sum += (second ? sin(phase) : cos(phase)) * (pi * std::cosh(s) * small / (1 + e));
  }
  return sum * step;
}
/// The second integral of DLMF 10.9.6 (J) and 10.9.7 (Y): of exp(-x sinh(t) - nu t) sin(pi nu), or of exp(-x sinh(t))
/// (exp(nu t) + exp(-nu t) cos(pi nu)), over t > 0, by the trapezoidal rule in s, t = log(1 + exp(s)).
Taylor infinite_integral(const Taylor& nu, const Taylor& x, bool second) {
  const Real step = 0.2L / std::sqrt(1 + nu[0] / 4);  // the integrand's peak narrows with the order
  const SinCos angle = sin_cos_pi(nu);
  const Taylor& factor = second ? angle.cos : angle.sin;
  Taylor sum = constant(x, 0);
  constexpr Real first = -46, last = 1500;  // of s: exp(-46) is below 2^-64; terms vanish before the last
  for (int j = static_cast<int>(first / step); j * step < last; ++j) {
    const Real s = j * step, e = std::exp(-std::abs(s)), t = std::log1p(e) + std::max(s, Real(0));
    const Real weight = s > 0 ? 1 / (1 + e) : e / (1 + e);
    const Taylor decay = x * std::sinh(t);
    Taylor term = exp(-decay - nu * t) * factor;
    if (second) term += exp(nu * t - decay);
    term *= weight;
    sum += term;
    if (!std::isfinite(sum[0])) break;
    if (s > 1 && decay[0] > nu[0] * t && negligible(term, sum, series_least)) break;
  }
  return sum * step;
}

Taylor of_positive_order(const Taylor& nu, const Taylor& x, bool second);

/// J of an order nu >= x + 1: J of the order between x and x + 1 that differs from nu by a whole number, times the
/// ratios J_(m+1) / J_m up to nu. The ratios are a continued fraction (DLMF 10.10.1), evaluated from far above nu.
Taylor by_ratios_of_orders(const Taylor& nu, const Taylor& x) {
  const int steps = static_cast<int>(nu[0] - x[0]), further = 80 + static_cast<int>(12 * std::cbrt(x[0]));
  const Taylor base = nu - Real(steps), two_by_x = 2 / x;
  Taylor ratio = constant(x, 0), product = of_positive_order(base, x, false);
  for (int k = steps + further; k-- > 0;) {
    ratio = 1 / (two_by_x * (base + Real(k + 1)) - ratio);
    if (k < steps) product = product * ratio;
  }
  return product;
}
/// The integrals take two nodes per unit of x + nu; the ratios of orders a step for each.
constexpr Real integrals_max = 2000, ratios_max = 1000;
Taylor of_positive_order(const Taylor& nu, const Taylor& x, bool second) {
  if (x[0] >= hankel_min && x[0] >= nu[0] * nu[0]) return hankel_expansion(nu, x, second);
  if (!second && nu[0] > x[0] && x[0] * x[0] < 16 * (nu[0] + 1)) return power_series(nu, x);
  if (!second && nu[0] >= x[0] + 1 && x[0] < ratios_max) return by_ratios_of_orders(nu, x);
  if (!(x[0] + nu[0] < integrals_max)) return constant(x, nan);
  return finite_integral(nu, x, second) - infinite_integral(nu, x, second) / pi;
}

}  // namespace

/// J, or Y if `second`, of order a.at[0] at a.at[1].
Real bessel_real_order(const Arguments& a, bool second) {
  const Real order = a.at[0], argument = a.at[1];
  if (std::isinf(order) || !(argument >= 0)) return nan;
  if (std::isinf(argument)) return 0;
  const Orders o(a.orders, 2);
  if (argument == 0) return o.total() > 0 || order < 0 ? nan : second ? -infinity : order == 0 ? 1 : 0;
  if (order < -integrals_max) return nan;
  const Taylor nu = Taylor::variable(o, order, 0), x = Taylor::variable(o, argument, 1);
  if (order >= 0) return derivative(of_positive_order(nu, x, second));
  // DLMF 10.4.7: J_-m = cos(pi m) J_m - sin(pi m) Y_m, Y_-m = sin(pi m) J_m + cos(pi m) Y_m.
  const Taylor m = -nu, j = of_positive_order(m, x, false), y = of_positive_order(m, x, true);
  const SinCos angle = sin_cos_pi(m);
  return derivative(second ? angle.sin * j + angle.cos * y : angle.cos * j - angle.sin * y);
}

}  // namespace reel::kernels::special
