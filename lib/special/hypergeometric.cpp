// (e^x - 1) / x, Owen's function, and the hypergeometric functions 1F1 and 2F1 of real arguments. Where the terms of a
// hypergeometric series cancel, the function is continued along its differential equation by Taylor series about
// points between 0 and the argument, each of which cancels little.
#include "special/arguments.hpp"
#include "special/fractions.hpp"
#include "special/gamma.hpp"
#include "special/gauss_legendre.hpp"

namespace reel::kernels::special {

namespace {

// ---- (e^x - 1) / x

Taylor expm1_by_x(const Taylor& x) {
  constexpr Real series_max = 4;  // of |x|: beyond, derivatives of the quotient lose little
  if (std::abs(x[0]) > series_max) return expm1(x) / x;
  return series(constant(x, 1), [&](int n, const Taylor& term) { return term * x * (1 / static_cast<Real>(n + 1)); });
}
Real exprel(Real x, int order) {
  constexpr Real overflow_min = 1e4L;  // every derivative overflows in double
  if (x > overflow_min) return infinity;
  if (std::isinf(x)) return 0;
  return by_argument(x, order, expm1_by_x);
}

// ---- Owen's function: the integral of exp(-h^2 (1 + x^2) / 2) / (1 + x^2) for x from 0 to a, over 2 pi.

struct OwenRule {
  static constexpr int count = 40;
  Real nodes[count], weights[count];
  OwenRule() { gauss_legendre(count, nodes, weights); }
};
constexpr Real owen_zero = 60;  // |h| from which e^(-h^2 / 2) times any power of h is 0 in double

/// For h >= 0 and 0 <= a <= 1. Beyond `reach` the integrand is below 1e-20 of that at 0; 40 nodes have an error below
/// 1e-20, as the poles are at +-i.
Real owen_near(Real h, Real a) {
  static const OwenRule rule;
  constexpr Real reach = 10;  // of h x: e^(-50)
  const Real half = std::min(a, h > 0 ? reach / h : a) / 2;
  Real sum = 0;
  for (int i = 0; i < OwenRule::count; ++i) {
    const Real x = half * (1 + rule.nodes[i]), square = x * x;
    sum += rule.weights[i] * std::exp(-h * h * square / 2) / (1 + square);
  }
  return half * sum * std::exp(-h * h / 2) / (2 * pi);
}
/// For a > 1 by the argument 1 / a: no part of the sum is negative.
Real owen(Real h, Real a) {
  if (a <= 1) return owen_near(h, a);
  const Real root = std::sqrt(0.5L), product = h == 0 ? 0 : h * a;
  const Real p = std::erfc(h * root) / 2, q = std::erfc(product * root) / 2;
  return p * (0.5L - q) + (q / 2 - (product > owen_zero ? 0 : owen_near(product, 1 / a)));
}

/// The derivative by h of order i >= 1: that of order i - 1 of -e^(-h^2 / 2) erf(a h / sqrt(2)) / sqrt(8 pi).
Real owen_by_h(Real h, Real a, int order) {
  const Orders o = {order - 1};
  const Taylor t = Taylor::variable(o, h, 0);
  const Real root = std::sqrt(0.5L);
  // The derivative by h at h = 0 counts as 0 where a is infinite.
  Taylor edge = constant(t, std::isinf(a) ? (h == 0 ? 0 : std::copysign(Real(1), h)) : std::erf(a * h * root));
  if (!std::isinf(a)) {
    const Taylor rest = erfc(t * (a * root));
    edge += constant(t, rest[0]) - rest;
  }
  return derivative(exp(t * t * -0.5L) * edge) * (-1 / std::sqrt(8 * pi));
}
Real owens_t(const Arguments& x) {
  const Real h = x.at[0], a = x.at[1];
  const int m = x.orders[0], n = x.orders[1];
  if (std::abs(h) > owen_zero) return 0;
  if (m + n == 0) return std::copysign(owen(std::abs(h), std::abs(a)), a);
  if (n == 0) return owen_by_h(h, std::abs(a), m) * (a < 0 ? -1 : 1);
  if (std::isinf(a)) return 0;
  const int orders[] = {m, n - 1};
  return by_arguments<2>({{h, a}, orders}, [](const auto& t, const auto& u) {
    const auto square = u * u + Real(1);
    return exp(t * t * square * -0.5L) / (square * (2 * pi));
  });
}

// ---- Solutions of a differential equation of second order along the positive axis

/// A function and x times its derivative, and the relative error that its sums may have by cancellation.
template <class N>
struct State {
  N f, slope;
  Real error;
};
inline bool is_constant(Real) { return true; }
inline bool is_constant(const Taylor& x) {
  for (int k = 1; k < x.size(); ++k)
    if (x[k] != 0) return false;
  return true;
}
inline bool is_pole(Real x) { return x <= 0 && is_whole(x); }
inline int coefficients(Real) { return 1; }
inline int coefficients(const Taylor& x) { return x.size(); }
/// Whether a series with this parameter is a polynomial, and so are its derivatives, of no excessive degree.
template <class N>
bool terminates(const N& a) {
  constexpr Real degree_max = 1e5L;
  return is_pole(value(a)) && -value(a) <= degree_max && is_constant(a);
}

constexpr Real rounding = std::numeric_limits<Real>::epsilon();
constexpr Real error_max = 1e-11L;           // beyond, the result is NaN
constexpr Real error_least = 64 * rounding;  // what a series may lose before another method is tried

/// The largest terms of a sum, by coefficient.
class Peaks {
 public:
  template <class N>
  explicit Peaks(const N& x) {
    std::fill_n(at_, coefficients(x), Real(0));
  }
  /// Whether they are finite.
  template <class N>
  bool add(const N& term) {
    Real most = 0;
    for (int k = 0; k < coefficients(term); ++k) most = std::max(most, at_[k] = std::max(at_[k], size(term, k)));
    return std::isfinite(most);
  }
  /// The relative error of a sum by rounding. Near a zero it counts relative to the amplitude: `width` is the distance
  /// over which the solution changes, relative to x.
  template <class N>
  Real error(const N& f, const N& slope, Real width) const {
    Real most = 0;
    for (int k = 0; k < coefficients(f); ++k)
      if (at_[k] > 0) most = std::max(most, at_[k] / (size(f, k) + width * size(slope, k)));
    return rounding * most;
  }

 private:
  static Real size(Real x, int) { return std::abs(x); }
  static Real size(const Taylor& x, int k) { return std::abs(x[k]); }
  Real at_[Orders::coefficients_max];
};

/// Bounds on the time: of the terms of a series and of the steps from 0, for a polynomial of so many coefficients.
inline int series_terms(int count) { return std::max(200000 / count, 8192); }
inline int steps_max(int count) { return std::max(10000 / count, 500); }

/// The sum of term(n) = next(n, term(n - 1)) from n = 0, and of n term(n); terms before number `least` may be small.
template <class N, class Next>
State<N> power_series(const N& first, int least, Real width, const Next& next) {
  N term = first, f = first, slope = constant(first, 0);
  Peaks peaks(term);
  peaks.add(term);
  for (int n = 1; n < series_terms(coefficients(first)); ++n) {
    term = next(n, term);
    const N weighted = term * static_cast<Real>(n);
    f += term, slope += weighted;
    if (!peaks.add(term)) break;
    if (n > least && negligible(term, f, series_least) && negligible(weighted, slope, series_least))
      return {f, slope, peaks.error(f, slope, width)};
  }
  return {f, slope, nan};
}
/// The number of the first term from which on no factor of a series changes its sign, at most `far`.
inline int settled_from(Real a, Real b, Real c) {
  constexpr Real far = 1e4L;
  return static_cast<int>(std::min(far, std::max({Real(0), -a, -b, -c}) + 1));
}

/// The solution at x + t from that at x; next(n, g, h) is term n + 2 from terms n and n + 1 of the series in t.
template <class N, class Next>
State<N> step(const State<N>& s, Real x, Real t, Real width, const Next& next) {
  N before = s.f, now = s.slope * (t / x), f = before + now, slope = now;  // slope: t times the derivative
  Peaks peaks(now);
  peaks.add(before), peaks.add(now);
  for (int n = 0; n < series_terms(coefficients(before)); ++n) {
    const N after = next(n, before, now), weighted = after * static_cast<Real>(n + 2);
    f += after, slope += weighted;
    if (!peaks.add(after)) break;
    if (negligible(now, f, series_least) && negligible(after, f, series_least) &&
        negligible(weighted, slope, series_least)) {
      slope = slope * ((x + t) / t);
      return {f, slope, s.error + peaks.error(f, slope, width)};
    }
    before = now, now = after;
  }
  return {f, slope, nan};
}
template <class N>
N checked(const State<N>& s) {
  return s.error <= error_max ? s.f : s.f * nan;
}
/// Gamma(p) Gamma(q) / (Gamma(r) Gamma(s)), 0 at poles of r and s.
template <class N>
N gamma_ratio(const N& p, const N& q, const N& r, const N& s) {
  constexpr Real direct_max = 1000;  // of an argument: Gamma is far from overflow at 1755
  const Real most = std::max({std::abs(value(p)), std::abs(value(q)), std::abs(value(r)), std::abs(value(s))});
  if (most < direct_max) return reciprocal_gamma(r) * reciprocal_gamma(s) / (reciprocal_gamma(p) * reciprocal_gamma(q));
  if (!(value(p) > 0 && value(q) > 0 && value(r) > 0 && value(s) > 0)) return p * nan;
  return exp(log_gamma(p) + log_gamma(q) - log_gamma(r) - log_gamma(s));
}

// ---- 1F1 = M(a, b, x)

inline Real kummer_width(Real a, Real x) { return 1 / std::sqrt(1 + std::abs(a) * x); }
template <class N>
State<N> kummer_series(const N& a, const N& b, Real x) {
  return power_series(constant(a, 1), settled_from(value(a), 0, value(b)), kummer_width(value(a), x),
                      [&](int n, const N& term) {
                        const Real k = static_cast<Real>(n - 1);
                        return term * (a + k) * (x / static_cast<Real>(n)) / (b + k);
                      });
}
/// M for a < 0 < b by steps from where the series does not cancel. Each is at most a third of a wave of the solution,
/// and its series has no large terms of the solution that is singular at 0.
template <class N>
State<N> kummer_steps(const N& a, const N& b, Real x) {
  const Real p = std::abs(value(a)), q = std::abs(value(b));
  Real at = std::min(x, 2 * (q + 1) / (p + 1));
  State<N> s = kummer_series(a, b, at);
  for (int i = 0; at < x && i < steps_max(coefficients(a)) && s.error <= error_max; ++i) {
    const Real longest = std::min({at / 2, 2 * at / (q + 1), 2 * std::sqrt(at / (p + 1))});
    const Real t = std::min(x - at, longest);
    s = step(s, at, t, kummer_width(p, at), [&](int n, const N& g, const N& h) {
      const Real k = static_cast<Real>(n), unit = t / (at * (k + 1) * (k + 2));
      return (a + k) * g * (unit * t) - (b + (k - at)) * h * (unit * (k + 1));
    });
    at += t;
  }
  return at < x ? State<N>{s.f, s.slope, nan} : s;
}
/// e^-x x^(b - a) Gamma(a) / Gamma(b) M for large x (DLMF 13.7.1), and whether it has all digits.
template <class N>
bool kummer_far(const N& a, const N& b, Real x, N& sum) {
  constexpr Real far_min = 50;  // of x: e^-x is below rounding
  if (x < far_min) return false;
  const Real p = 1 - value(a), q = value(b) - value(a);
  if (std::abs(p * q) > x || std::abs(p) + std::abs(q) > x / 4) return false;
  N term = constant(a, 1);
  sum = term;
  for (int n = 1; n < static_cast<int>(far_min); ++n) {
    const Real k = static_cast<Real>(n - 1);
    term = term * ((1 + k) - a) * (b - a + k) / (x * (k + 1));
    sum += term;
    if (negligible(term, sum, rounding / 4)) return true;
  }
  return false;
}
/// The polynomial M(-n, b, x) by recurrence over n (DLMF 13.3.1).
template <class N>
N kummer_polynomial(int n, const N& b, Real x) {
  N before = constant(b, 1), now = 1 - x / b;
  if (n == 0) return before;
  for (int k = 1; k < n; ++k) {
    const Real r = static_cast<Real>(k);
    const N next = ((b + (2 * r - x)) * now - before * r) / (b + r);
    before = now, now = next;
  }
  return now;
}
/// e^-shift M for 0 < x.
template <class N>
N kummer(const N& a, const N& b, Real x, Real shift) {
  const bool polynomial = terminates(a);
  N sum = a;
  if (!polynomial && kummer_far(a, b, x, sum))
    return sum * exp((a - b) * std::log(x)) * gamma_ratio(b, constant(b, 1), a, constant(b, 1)) * std::exp(x - shift);
  constexpr Real series_max = 11000;  // of x: e^x is finite
  if (x > series_max && !polynomial) return a * nan;
  State<N> s = kummer_series(a, b, x);
  if (!(s.error <= error_least) && value(b) > 0 && value(a) < 0) {
    if (polynomial) return kummer_polynomial(static_cast<int>(-value(a)), b, x) * std::exp(-shift);
    const State<N> t = kummer_steps(a, b, x);
    if (!(s.error <= t.error)) s = t;
  }
  return checked(s) * std::exp(-shift);
}
/// M at +-infinity: the sign of its leading term.
Real hyp1f1_at_infinity(Real a, Real b, bool upper) {
  const Real of_b = reciprocal_gamma(b), rest = reciprocal_gamma(b - a);
  if (a == 0) return 1;
  if (upper && is_pole(a)) return alternating(a) * std::copysign(infinity, of_b * rest);
  if (!upper && (a > 0 || is_pole(b - a))) return 0;
  return std::copysign(infinity, of_b * (upper ? reciprocal_gamma(a) : rest));
}
Real hyp1f1(const Arguments& x) {
  const Real a = x.at[0], b = x.at[1], z = x.at[2];
  const Orders o = {x.orders[0], x.orders[1]};
  const int k = x.orders[2];
  if (std::isinf(a) || std::isinf(b) || is_pole(b)) return nan;
  if (std::isinf(z)) {
    if (o.total() > 0) return nan;
    Real factor = 1;
    for (int i = 0; i < k; ++i) factor *= (a + i) / (b + i);
    return factor == 0 ? 0 : factor * hyp1f1_at_infinity(a + k, b + k, z > 0);
  }
  const auto f = [&](auto p, auto q) {
    auto factor = constant(p, 1);
    for (int i = 0; i < k; ++i, p = p + Real(1), q = q + Real(1)) factor = factor * p / q;
    if (z == 0) return factor;
    if (z > 0) return factor * kummer(p, q, z, 0);
    return factor * kummer(decltype(p)(q - p), q, -z, -z);
  };
  return o.total() == 0 ? f(a, b) : derivative(f(Taylor::variable(o, a, 0), Taylor::variable(o, b, 1)));
}

// ---- 2F1 = F(a, b; c; z)

inline Real gauss_width(Real a, Real b, Real z) {
  return std::min(Real(1), std::abs(1 - z) / std::abs(z)) / std::sqrt(1 + std::abs(a * b));
}
template <class N>
State<N> gauss_series(const N& a, const N& b, const N& c, Real z) {
  return power_series(constant(a, 1), settled_from(value(a), value(b), value(c)), gauss_width(value(a), value(b), z),
                      [&](int n, const N& term) {
                        const Real k = static_cast<Real>(n - 1);
                        return term * (a + k) * (b + k) * (z / static_cast<Real>(n)) / (c + k);
                      });
}
/// F at 0 < z < 1 from that at `at`, by steps. `rest` is 1 - z, which may be more precise.
template <class N>
State<N> gauss_steps(State<N> s, const N& a, const N& b, const N& c, Real at, Real rest) {
  Real left = 1 - at;  // to 1
  const Real waves = std::abs(value(a) * value(b)) + 1, p = std::abs(value(c)) + 1,
             q = std::abs(value(c) - value(a) - value(b)) + 1;
  for (int i = 0; left > rest && i < steps_max(coefficients(a)) && s.error <= error_max; ++i) {
    Real t = std::min({at / 2, left / 2, 2 * at / p, 2 * left / q, 2 * std::sqrt(at * left / waves)});
    const bool end = left - t <= rest;
    if (end) t = left - rest;
    const N middle = (c - a - b - Real(1)) + (a + b + Real(1)) * left;
    s = step(s, at, t, gauss_width(value(a), value(b), at), [&](int n, const N& g, const N& h) {
      const Real k = static_cast<Real>(n), unit = t / (at * left * (k + 1) * (k + 2));
      return (a + k) * (b + k) * g * (unit * t) - (middle + k * (left - at)) * h * (unit * (k + 1));
    });
    at += t;
    left = end ? rest : left - t;
  }
  return left > rest ? State<N>{s.f, s.slope, nan} : s;
}
/// F(a, b; c; 1) where a or b terminates the series: (c - b)_n / (c)_n, n = -a (DLMF 15.4.24).
template <class N>
N polynomial_at_1(const N& a, const N& b, const N& c) {
  const bool first = terminates(a) && !(terminates(b) && value(b) > value(a));
  const N other = c - (first ? b : a);
  const int n = static_cast<int>(-value(first ? a : b));
  N y = constant(a, 1);
  for (int k = 0; k < n; ++k) y = y * (other + static_cast<Real>(k)) / (c + static_cast<Real>(k));
  return y;
}
/// Where 0 < z < 1: 1 - z and log(1 - z).
struct Point {
  Real z, rest, log_rest;
};
/// F by its series or by steps. The other solution at 1 is a power of 1 - z, c - a - b: it must not be the larger one.
template <class N>
State<N> gauss_inside(const N& a, const N& b, const N& c, Real z, Real rest) {
  constexpr Real middle = 0.5L;  // beyond, series take longer than steps
  const Real first = std::min(z, middle);
  State<N> s = gauss_series(a, b, c, first);
  if (!(s.error <= error_least) && value(c) > 0) {
    const Real waves = (std::abs(value(a)) + 1) * (std::abs(value(b)) + 1);
    const Real start = std::min(first, 2 * (value(c) + 1) / waves);
    const State<N> t = gauss_steps(gauss_series(a, b, c, start), a, b, c, start, z <= middle ? rest : middle);
    if (!(s.error <= t.error)) s = t;
  }
  return z <= middle ? s : gauss_steps(s, a, b, c, middle, rest);
}
/// F where a or b terminates the series: by the series, or from 1 (DLMF 15.8.7), or by steps. Rounding errors of steps
/// grow with the other solution.
template <class N>
State<N> gauss_polynomial(const N& a, const N& b, const N& c, const Point& x) {
  const State<N> s = gauss_series(a, b, c, x.z);
  if (s.error <= error_least) return s;
  const Real power = value(c) - value(a) - value(b);
  State<N> t = gauss_inside(a, b, c, x.z, x.rest);
  t.error *= std::exp(std::min(Real(0), power) * x.log_rest);
  const N factor = polynomial_at_1(a, b, c);
  if (value(factor) != 0 && power < 1) {
    State<N> u = gauss_inside(a, b, N(a + b - c + Real(1)), x.rest, x.z);
    u.error *= std::pow(x.z, std::min(Real(0), 1 - value(c)));
    u.f = u.f * factor;
    if (!(t.error <= u.error)) t = u;
  }
  return s.error <= t.error ? s : t;
}
/// F for 0 < z < 1, by Euler's transformation (DLMF 15.8.1) where the power is negative, or leaves a polynomial.
template <class N>
N gauss(const N& a, const N& b, const N& c, const Point& x) {
  const N p = c - a, q = c - b, power = p - b;
  const auto euler = [&](const State<N>& s) { return checked(s) * exp(power * x.log_rest); };
  const bool ends = terminates(a) || terminates(b), other_ends = terminates(p) || terminates(q);
  constexpr Real nearby = 0.5L;
  if (ends && other_ends) {
    const State<N> s = gauss_polynomial(a, b, c, x), t = gauss_polynomial(p, q, c, x);
    return s.error <= t.error ? checked(s) : euler(t);
  }
  if (ends) return checked(gauss_polynomial(a, b, c, x));
  if (other_ends) return euler(gauss_polynomial(p, q, c, x));
  if (x.z <= nearby || value(power) >= 0) return checked(gauss_inside(a, b, c, x.z, x.rest));
  return euler(gauss_inside(p, q, c, x.z, x.rest));
}
/// For z < 0 by z / (z - 1) (DLMF 15.8.1).
template <class N>
N gauss_below(const N& a, const N& b, const N& c, Real z) {
  constexpr Real nearby = -0.5L;
  if (z >= nearby) {
    const State<N> s = gauss_series(a, b, c, z);
    if (s.error <= error_least) return s.f;
  }
  const Real rest = 1 / (1 - z), log_rest = -std::log1p(-z);
  const bool first = terminates(a) || terminates(N(c - b)), second = terminates(b) || terminates(N(c - a));
  const bool both = terminates(a) && terminates(b);
  const bool swap = first != second ? second : both ? value(a) < value(b) : value(a) > value(b);
  const N &p = swap ? b : a, &q = swap ? a : b;
  return exp(p * log_rest) * gauss(p, N(c - q), c, {-z * rest, rest, log_rest});
}
/// F(a, b; c; 1) (DLMF 15.4.20).
template <class N>
N gauss_at_1(const N& a, const N& b, const N& c) {
  if (terminates(a) || terminates(b)) return polynomial_at_1(a, b, c);
  const N power = c - a - b;
  if (value(power) > 0) return gamma_ratio(c, power, N(c - a), N(c - b));
  if (total_order(a) > 0) return a * nan;
  return constant(a, infinity) * reciprocal_gamma(a) * reciprocal_gamma(b) / reciprocal_gamma(c);
}
/// F at -infinity: the sign of its leading term, in z^-a for a < b.
Real hyp2f1_at_infinity(Real a, Real b, Real c) {
  if (a == 0 || b == 0) return 1;
  if (a > b) std::swap(a, b);
  const bool ends = is_pole(a) || (is_pole(b) && !is_pole(a));
  if (a > 0) return 0;
  if (ends) {  // (a)_n (b)_n / (c)_n times (-1)^n z^n / n!, of the lower degree n
    const Real n = is_pole(b) ? -b : -a, other = is_pole(b) ? a : b;
    Real sign = 1;
    for (Real k = 0; k < n; k += 1) sign *= std::copysign(Real(1), (other + k) * (c + k));
    return sign * infinity;
  }
  const Real of_difference = a == b ? 1 : reciprocal_gamma(b - a);
  const Real sign = reciprocal_gamma(b) * reciprocal_gamma(c - a) * of_difference * reciprocal_gamma(c);
  return sign == 0 ? nan : std::copysign(infinity, sign);
}
template <class N>
N hyp2f1_of(N a, N b, N c, Real z, int order) {
  N factor = constant(a, 1);
  for (int i = 0; i < order; ++i, a = a + Real(1), b = b + Real(1), c = c + Real(1)) factor = factor * a * b / c;
  if (z == 0 || (value(factor) == 0 && is_constant(factor))) return factor;
  if (z == 1) return factor * gauss_at_1(a, b, c);
  if (z > 1) return terminates(a) || terminates(b) ? N(factor * checked(gauss_series(a, b, c, z))) : a * nan;
  return factor * (z > 0 ? gauss(a, b, c, {z, 1 - z, std::log1p(-z)}) : gauss_below(a, b, c, z));
}
Real hyp2f1(const Arguments& x) {
  const Real a = x.at[0], b = x.at[1], c = x.at[2], z = x.at[3];
  const int order = x.orders[3];
  const Orders o(x.orders, 3);
  if (std::isinf(a) || std::isinf(b) || std::isinf(c) || is_pole(c) || z == infinity) return nan;
  if (z == -infinity) return o.total() + order == 0 ? hyp2f1_at_infinity(a, b, c) : nan;
  if (o.total() == 0) return hyp2f1_of(a, b, c, z, order);
  return derivative(
      hyp2f1_of(Taylor::variable(o, a, 0), Taylor::variable(o, b, 1), Taylor::variable(o, c, 2), z, order));
}

}  // namespace

Real hypergeometric(Function f, const Arguments& a) {
  switch (f) {
    case Function::exprel:
      return exprel(a.at[0], a.orders[0]);
    case Function::owens_t:
      return owens_t(a);
    case Function::hyp1f1:
      return hyp1f1(a);
    default:
      return hyp2f1(a);
  }
}

}  // namespace reel::kernels::special
