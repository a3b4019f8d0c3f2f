// J and Y of real order, as Taylor polynomials in order and argument: J by its power series where the order is above
// the argument, both by Hankel's expansion where the argument is large, else by Schlaefli's integrals.
#include "kernels/special/arguments.hpp"
#include "kernels/special/fractions.hpp"
#include "kernels/special/gamma.hpp"

namespace reel::kernels::special {

namespace {

Taylor power_series(const Taylor& nu, const Taylor& x) {
  const Taylor z = x * x * -0.25L;
  const Taylor sum = series(constant(x, 1), [&](int k, const Taylor& term) {
    const Real n = static_cast<Real>(k);
    return term * z / ((nu + n) * n);
  });
  return sum * exp(nu * log(x / 2) - log_gamma_1p(nu));
}

/// sin(pi x), or cos(pi x), with the period taken off exactly.
Taylor sin_turns(const Taylor& x, bool cosine) {
  const Real n = std::nearbyint(x[0]), sign = alternating(n), s = sign * std::sin(pi * (x[0] - n)),
             c = sign * std::cos(pi * (x[0] - n));
  return cosine ? sin(pi * x, c, -s) : sin(pi * x, s, c);
}

/// DLMF 10.17.3, 10.17.4.
Taylor hankel(const Taylor& nu, const Taylor& x, bool second) {
  const Taylor square = 4 * nu * nu, inverse = 1 / (8 * x);
  Taylor term = constant(x, 1), p = term, q = constant(x, 0);
  for (int k = 1; k < 200; ++k) {
    const Real before = std::abs(term[0]);
    term = term * (square - Real(2 * k - 1) * Real(2 * k - 1)) * inverse * (1 / Real(k));
    if (!(std::abs(term[0]) <= before) || negligible(term, p, series_least)) break;
    (k % 2 == 0 ? p : q) += k % 4 < 2 ? term : -term;
  }
  // The phase is x less a quarter and half the order of half turns.
  const Taylor turns = nu / 2.0L + 0.25L, s0 = sin_turns(turns, false), c0 = sin_turns(turns, true);
  const Taylor s = sin(x) * c0 - cos(x) * s0, c = cos(x) * c0 + sin(x) * s0;
  return (second ? p * s + q * c : p * c - q * s) * sqrt(2 / (pi * x));
}

/// The integral of sin or cos of x sin(t) - nu t from 0 to pi, by pi (DLMF 10.9.6): the double exponential rule.
Taylor oscillating_part(const Taylor& nu, const Taylor& x, bool second) {
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
/// The integral of e^(-x sinh t) (e^(nu t) + e^(-nu t) cos(pi nu)) or of e^(-x sinh t - nu t) sin(pi nu) over t > 0:
/// the trapezoidal rule in s, t = log(1 + e^s).
Taylor decaying_part(const Taylor& nu, const Taylor& x, bool second) {
  const Real step = 0.2L / std::sqrt(1 + nu[0] / 4);  // of a summit whose width falls with the order
  const Taylor turned = sin_turns(nu, second);
  Taylor sum = constant(x, 0);
  for (int j = static_cast<int>(-46 / step); j * step < 1500; ++j) {
    const Real s = j * step, e = std::exp(-std::abs(s)), t = std::log1p(e) + std::max(s, Real(0));
    const Real weight = s > 0 ? 1 / (1 + e) : e / (1 + e);
    const Taylor decay = x * std::sinh(t);
    Taylor term = exp(-decay - nu * t) * turned;
    if (second) term += exp(nu * t - decay);
    term *= weight;
    sum += term;
    if (!std::isfinite(sum[0])) break;
    if (s > 1 && decay[0] > nu[0] * t && negligible(term, sum, series_least)) break;
  }
  return sum * step;
}

Taylor of_positive_order(const Taylor& nu, const Taylor& x, bool second);

/// J of an order above x, from one between x and x + 1: the ratios of successive orders are a continued fraction, which
/// settles soon above nu (DLMF 10.10.1).
Taylor above_argument(const Taylor& nu, const Taylor& x) {
  const int between = static_cast<int>(nu[0] - x[0]), more = 80 + static_cast<int>(12 * std::cbrt(x[0]));
  const Taylor base = nu - Real(between), twice = 2 / x;
  Taylor ratio = constant(x, 0), product = of_positive_order(base, x, false);
  for (int k = between + more; k-- > 0;) {
    ratio = 1 / (twice * (base + Real(k + 1)) - ratio);
    if (k < between) product = product * ratio;
  }
  return product;
}
Taylor of_positive_order(const Taylor& nu, const Taylor& x, bool second) {
  if (x[0] >= 25 && x[0] >= nu[0] * nu[0]) return hankel(nu, x, second);
  if (!second && nu[0] > x[0] && x[0] * x[0] < 16 * (nu[0] + 1)) return power_series(nu, x);
  if (!second && nu[0] >= x[0] + 1 && x[0] < 1000) return above_argument(nu, x);
  if (!(x[0] + nu[0] < 2000)) return constant(x, nan);
  return oscillating_part(nu, x, second) - decaying_part(nu, x, second) / pi;
}

}  // namespace

/// J (or Y) of order a.at[0] at a.at[1].
Real bessel_real_order(const Arguments& a, bool second) {
  const Real order = a.at[0], argument = a.at[1];
  if (std::isinf(order) || !(argument >= 0)) return nan;
  if (std::isinf(argument)) return 0;
  const Orders o(a.orders, 2);
  if (argument == 0) return o.total() > 0 || order < 0 ? nan : second ? -infinity : order == 0 ? 1 : 0;
  if (order < -2000) return nan;
  const Taylor nu = Taylor::variable(o, order, 0), x = Taylor::variable(o, argument, 1);
  if (order >= 0) return derivative(of_positive_order(nu, x, second));
  // DLMF 10.4.7: J_-m = cos(pi m) J_m - sin(pi m) Y_m, Y_-m = sin(pi m) J_m + cos(pi m) Y_m.
  const Taylor m = -nu, s = sin_turns(m, false), c = sin_turns(m, true);
  const Taylor j = of_positive_order(m, x, false), y = of_positive_order(m, x, true);
  return derivative(second ? s * j + c * y : c * j - s * y);
}

}  // namespace reel::kernels::special
