// Bessel functions J and Y of real order, as Taylor polynomials in order nu and argument x. Methods, first match:
// 1. both, x >= 25 and x >= nu^2: Hankel's asymptotic expansion;
// 2. J, nu > x and x^2 < 16 (nu + 1): the power series;
// 3. J, nu >= x + 1 and x < 1000: the continued fraction of the ratios of successive orders;
// 4. both, x + nu < 2000: Schlaefli's integrals by quadrature, whose nodes are in proportion to x + nu;
// 5. both, beyond: contour integrals along paths of steepest descent, of about 100 nodes (DLMF 10.9.17, 10.9.18).
#include "special/arguments.hpp"
#include "special/fractions.hpp"
#include "special/gamma.hpp"

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
/// sin(pi x) and cos(pi x). The argument is reduced exactly: multiples of 1/2 give 0.
SinCos sin_cos_pi(const Taylor& x) {
  const Real n = std::nearbyint(x[0]), sign = alternating(n), rest = x[0] - n, s = sign * std::sin(pi * rest),
             c = sign * (std::abs(rest) < 0.25L ? std::cos(pi * rest) : std::sin(pi * (0.5L - std::abs(rest))));
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
  const int steps = static_cast<int>(nu[0] - x[0]), margin = 80 + static_cast<int>(12 * std::cbrt(x[0]));
  const Taylor base = nu - Real(steps), two_by_x = 2 / x;
  Taylor ratio = constant(x, 0), product = of_positive_order(base, x, false);
  for (int k = steps + margin; k-- > 0;) {
    ratio = 1 / (two_by_x * (base + Real(k + 1)) - ratio);
    if (k < steps) product = product * ratio;
  }
  return product;
}
/// The integrals take two nodes per unit of x + nu; the ratios of orders a step for each.
constexpr Real integrals_max = 2000, ratios_max = 1000;

// ---- Large orders. With t0 on the path and w = t - t0, the exponent x sinh(t) - nu t is a constant E plus
// x sinh(t0) (cosh(w) - 1) + x cosh(t0) (sinh(w) - w) + slope w. At a saddle point slope is 0.

/// Where |exp(exponent)| is below this part of its largest value, a path ends.
constexpr Real path_end = 1e-24L;
/// The phase of an oscillating function, a multiple of pi aside, up to which it has ten digits.
constexpr Real phase_max = 1e9L;

/// sinh(w) - w.
Complex sinh_excess(Complex w) {
  if (std::abs(w) > 0.5L) return std::sinh(w) - w;
  const Complex square = w * w;
  Complex term = w, sum = 0;
  for (Real k = 2; k < 22; k += 2) sum += term *= square / (k * (k + 1));
  return sum;
}
Real sinh_excess(Real x) { return sinh_excess(Complex(x)).real(); }
/// x - sin(x).
Real sin_excess(Real x) { return -sinh_excess(Complex(0, x)).imag(); }
Real squared(Real x) { return x * x; }

/// The point that a path starts from, in whose direction steps have this length.
struct Start {
  Complex t;
  Real slope, step;
};
/// w, and dt by the parameter of the path.
struct PathPoint {
  Complex w, direction;
};
struct ComplexTaylor {
  Taylor real, imag;
};
/// The integral of exp(x sinh(t) - nu t - E) by the trapezoidal rule in the parameter of the path, from -infinity or,
/// if `half`, from 0.
template <class Path>
ComplexTaylor path_integral(const Taylor& nu, const Taylor& x, const Start& from, bool half, const Path& path) {
  const Complex sinh0 = std::sinh(from.t), cosh0 = std::cosh(from.t);
  const Taylor order = nu - nu[0], argument = x - x[0];
  ComplexTaylor sum = {constant(x, 0), constant(x, 0)};
  Real largest = 0;
  for (const int towards : {1, -1}) {
    if (half && towards < 0) break;
    for (int j = towards > 0 ? 0 : 1;; ++j) {
      const PathPoint p = path(towards * j * from.step);
      const Complex half_sinh = std::sinh(p.w * 0.5L), t = from.t + p.w, sinh = std::sinh(t);
      const Complex weight =
          std::exp(x[0] * (2.0L * sinh0 * half_sinh * half_sinh + cosh0 * sinh_excess(p.w)) + from.slope * p.w) *
          p.direction * (half && j == 0 ? 0.5L : 1.0L) * from.step;
      const Real size = std::abs(weight);
      if (!(size > path_end * largest)) break;
      largest = std::max(largest, size);
      const Taylor scale = exp(argument * sinh.real() - order * t.real()),
                   angle = argument * sinh.imag() - order * t.imag(), c = scale * cos(angle), s = scale * sin(angle);
      sum.real += c * weight.real() - s * weight.imag();
      sum.imag += c * weight.imag() + s * weight.real();
    }
  }
  return sum;
}

/// acosh(nu / x) for nu > x, else 0; and acos(nu / x) for nu < x, else 0.
Real hyperbolic_angle(Real nu, Real x) { return nu > x ? std::asinh(std::sqrt((nu - x) / x * ((nu + x) / x))) : 0; }
Real angle_of(Real nu, Real x) { return nu < x ? std::atan2(std::sqrt((x - nu) / x * ((x + nu) / x)), nu / x) : 0; }

/// nu alpha - x sinh(alpha) at the saddle point alpha.
Real saddle_exponent(Real alpha, Real x) {
  return x * (2 * alpha * squared(std::sinh(alpha / 2)) - sinh_excess(alpha));
}

/// J for nu > x: from infinity - i pi to infinity + i pi, through the saddle point alpha, on which it is symmetric.
Taylor by_saddle_point(const Taylor& nu, const Taylor& x) {
  const Real order = nu[0], argument = x[0], saddle = hyperbolic_angle(order, argument),
             least = 1.5L / std::cbrt(argument), alpha = std::max(saddle, least);
  const bool is_saddle = alpha == saddle;
  const Real sinh_alpha = std::sinh(alpha), cosh_alpha = std::cosh(alpha), s = std::sinh(alpha / 2);
  const Real slope = is_saddle ? 0 : argument - order + 2 * argument * s * s;
  const Real exponent =
      is_saddle ? -saddle_exponent(alpha, argument) : argument * sinh_excess(alpha) + (argument - order) * alpha;
  const Real width = 0.5L / std::sqrt(argument * sinh_alpha), step = std::min({0.5L * width, 0.1L * alpha, 0.1L});
  const ComplexTaylor sum = path_integral(nu, x, {alpha, slope, step}, true, [&](Real parameter) {
    // The imaginary part v of t; cosh(Re t) = cosh(alpha) v / sin(v).
    const Real v = 2 * std::atan(std::sinh(parameter)), by_parameter = 2 / std::cosh(parameter), sin_v = std::sin(v);
    if (parameter == 0) return PathPoint{0, Complex(0, by_parameter)};
    const Real excess = cosh_alpha * sin_excess(v) / sin_v;  // of the hyperbolic cosine
    const Real u = 2 * std::asinh(std::sqrt(s * s + excess / 2));
    const Real by_v = cosh_alpha * (2 * v * squared(std::sin(v / 2)) - sin_excess(v)) / (sin_v * sin_v * std::sinh(u));
    return PathPoint{Complex(2 * std::asinh(excess / (2 * std::sinh((u + alpha) / 2))), v),
                     Complex(by_v, 1) * by_parameter};
  });
  return sum.imag * (std::exp(exponent) / pi);
}
/// Y for nu so far above x that J is below its rounding errors: along the real axis, around the saddle point -alpha.
Taylor along_real_axis(const Taylor& nu, const Taylor& x) {
  const Real alpha = hyperbolic_angle(nu[0], x[0]), sinh_alpha = std::sinh(alpha);
  // Finite beyond the range of float64: J of a negative order takes 0 times Y.
  const Real exponent = std::min(saddle_exponent(alpha, x[0]), 0.9L * std::log(std::numeric_limits<Real>::max()));
  const Start from = {-alpha, 0, std::min(0.4L / std::sqrt(x[0] * sinh_alpha), 0.1L)};
  const ComplexTaylor sum = path_integral(nu, x, from, false, [](Real w) { return PathPoint{w, 1}; });
  return sum.real * (-std::exp(exponent) / pi);
}

/// The path from -infinity to infinity + i pi through i beta, in the direction 1 + i there.
struct HankelPath {
  Real beta, sin_beta, cos_beta;
  explicit HankelPath(Real b) : beta(b), sin_beta(std::sin(b)), cos_beta(std::cos(b)) {}
  PathPoint operator()(Real parameter) const {
    // The imaginary part v = beta + d of t is a logistic function; cosh(Re t) sin(v) = sin(beta) + d cos(beta).
    const Real decay = (pi - beta) * std::exp(-parameter), all = beta + decay, v = pi * beta / all;
    const Real by_parameter = v * decay / all, sin_v = std::sin(v);
    if (parameter == 0) return {0, Complex(1, 1) * by_parameter};
    const Real d = -beta * (pi - beta) * std::expm1(-parameter) / all, rest = sin_excess(d);
    const Real square = (2 * squared(std::sin(d / 2)) * sin_beta + rest * cos_beta) / (2 * sin_v);  // sinh(u / 2)^2
    const Real u = std::copysign(2 * std::asinh(std::sqrt(square)), d);
    const Real turn = 2 * squared(std::sin(beta / 2)) + 2 * cos_beta * squared(std::sin(v / 2));
    const Real by_v = (d * turn - rest) / (sin_v * sin_v * std::sinh(u));
    return {Complex(u, d), Complex(by_v, 1) * by_parameter};
  }
};
/// exp(i (x sin(beta) - nu beta)) for beta = acos(nu / x). NaN beyond phase_max.
Complex hankel_phase(Real nu, Real x, Real beta) {
  if (beta < 1) {
    const Real phase = x * (2 * beta * squared(std::sin(beta / 2)) - sin_excess(beta));
    return phase < phase_max ? std::polar(1.0L, phase) : Complex(nan, nan);
  }
  // x - nu pi / 2, whose terms are reduced exactly, and the rest, in which gamma = asin(nu / x).
  const Real gamma = std::asin(nu / x), rest = nu * gamma - 2 * x * squared(std::sin(gamma / 2));
  const Real n = std::fmod(nu, 4.0L);
  return rest < phase_max ? Complex(std::cos(x), std::sin(x)) * std::polar(1.0L, rest - n * pi / 2) : Complex(nan, nan);
}
/// J or Y by pi i times H^(1).
Taylor by_hankel_function(const Taylor& nu, const Taylor& x, bool second) {
  const Real order = nu[0], argument = x[0], saddle = angle_of(order, argument),
             beta = std::max(saddle, 1 / std::cbrt(argument));
  const bool is_saddle = beta == saddle;
  const HankelPath path(beta);
  const Real slope = is_saddle ? 0 : argument - order - 2 * argument * squared(std::sin(beta / 2));
  const Complex factor = is_saddle ? hankel_phase(order, argument, beta)
                                   : std::polar(1.0L, (argument - order) * beta - argument * sin_excess(beta));
  const Real width = 1 / std::sqrt(2 * argument * path.sin_beta), by_parameter = beta * (pi - beta) / pi;
  const Start from = {Complex(0, beta), slope, std::min(0.4L * width / by_parameter, 0.07L)};
  const ComplexTaylor sum = path_integral(nu, x, from, false, path);
  return second ? (sum.imag * factor.imag() - sum.real * factor.real()) / pi
                : (sum.imag * factor.real() + sum.real * factor.imag()) / pi;
}
Taylor of_large_order(const Taylor& nu, const Taylor& x, bool second) {
  if (!second && nu[0] > x[0]) return by_saddle_point(nu, x);
  if (saddle_exponent(hyperbolic_angle(nu[0], x[0]), x[0]) > 40) return along_real_axis(nu, x);
  return by_hankel_function(nu, x, second);
}

Taylor of_positive_order(const Taylor& nu, const Taylor& x, bool second) {
  if (x[0] >= hankel_min && x[0] >= nu[0] * nu[0]) return hankel_expansion(nu, x, second);
  if (!second && nu[0] > x[0] && x[0] * x[0] < 16 * (nu[0] + 1)) return power_series(nu, x);
  if (!second && nu[0] >= x[0] + 1 && x[0] < ratios_max) return by_ratios_of_orders(nu, x);
  if (x[0] + nu[0] >= integrals_max) return of_large_order(nu, x, second);
  return finite_integral(nu, x, second) - infinite_integral(nu, x, second) / pi;
}

}  // namespace

/// J, or Y if `second`, of order a.at[0] at a.at[1].
Real bessel_real_order(const Arguments& a, bool second) {
  const Real order = a.at[0], argument = a.at[1];
  if (order == infinity && argument >= 0 && std::isfinite(argument))
    return !second ? 0 : a.orders[0] + a.orders[1] == 0 ? -infinity : nan;
  if (std::isinf(order) || !(argument >= 0)) return nan;
  if (std::isinf(argument)) return 0;
  const Orders o(a.orders, 2);
  if (argument == 0) return o.total() > 0 || order < 0 ? nan : second ? -infinity : order == 0 ? 1 : 0;
  const Taylor nu = Taylor::variable(o, order, 0), x = Taylor::variable(o, argument, 1);
  if (order >= 0) return derivative(of_positive_order(nu, x, second));
  // DLMF 10.4.7: J_-m = cos(pi m) J_m - sin(pi m) Y_m, Y_-m = sin(pi m) J_m + cos(pi m) Y_m.
  const Taylor m = -nu, j = of_positive_order(m, x, false), y = of_positive_order(m, x, true);
  const SinCos angle = sin_cos_pi(m);
  return derivative(second ? angle.sin * j + angle.cos * y : angle.cos * j - angle.sin * y);
}

}  // namespace reel::kernels::special
