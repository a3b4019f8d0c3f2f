// Distribution functions, their logarithms and quantiles: the last functions of the list.
#include <vector>

#include "special/arguments.hpp"
#include "special/gauss_legendre.hpp"
#include "special/incomplete.hpp"
#include "special/inverse.hpp"
#include "special/values/values.hpp"

namespace reel::kernels::special {

namespace {

constexpr Real square_of(Real x) { return x * x; }

// At x = 0 the logarithm of the lower function is a log(x) plus a function of the parameters, that of the upper one a
// term in x^a.

/// Infinite, with the sign of the k-th derivative of log(x), k >= 0.
Real log_slope_at_zero(int k) { return alternating(k + 1) * infinity; }
/// The k-th derivative of log(c_0 + c_1 x + ...) at x = 0, with c_0 = 1 and c_j = (q)_j / j! (1 / j! if q is infinite)
/// for j < p, else 0.
Real log_sum_at_zero(Real p, Real q, int k) {
  std::vector<Real> c(static_cast<std::size_t>(k) + 1), series(c.size());  // of the sum and of its logarithm
  c[0] = 1;
  for (int n = 1; n <= k; ++n) {
    const auto at = static_cast<std::size_t>(n);
    c[at] = n < p ? c[at - 1] * (std::isinf(q) ? 1 : q + n - 1) / n : 0;
    series[at] = c[at];
    for (std::size_t i = 1; i < at; ++i) series[at] -= static_cast<Real>(i) / n * series[i] * c[at - i];
  }
  return factorial(k) * series.back();
}
/// The k-th derivative at x = 0 of the logarithm of the upper function, 1 - c x^p (1 + ...). For whole p the function
/// is a factor times the sum above (DLMF 8.4.10, 8.17.5); `of_factor` is the k-th derivative of the factor's logarithm.
Real upper_at_zero(Real p, Real q, Real of_factor, int of_parameters, int k) {
  if (k == 0 || p > k) return 0;
  if (of_parameters > 0) return nan;
  return p == std::floor(p) ? of_factor + log_sum_at_zero(p, q, k) : -power_at_zero(p, k);
}

Real log_gamma_tail(const Arguments& a, bool upper) {
  const Real p = a.at[0], x = a.at[1];
  const int m = a.orders[0], k = a.orders[1];
  if (!(p > 0 && x >= 0) || std::isinf(p)) return nan;
  if (std::isinf(x)) return !upper || m > 0 || k > 1 ? 0 : k == 1 ? -1 : -infinity;
  if (x > 0) return by_arguments<2>(a, [=](const auto& v, const auto& y) { return log_incomplete_gamma(v, y, upper); });
  if (upper) return upper_at_zero(p, infinity, k == 1 ? -1 : 0, m, k);  // exp(-x)
  return m < 2 ? log_slope_at_zero(k) : nan;
}

Real log_beta_tail(const Arguments& a, bool upper) {
  const Real p = a.at[0], q = a.at[1], x = a.at[2];
  const int m = a.orders[0] + a.orders[1], k = a.orders[2];
  if (!(p > 0 && q > 0 && x >= 0 && x <= 1) || std::isinf(p) || std::isinf(q)) return nan;
  if (x == 1) {  // I_x(a, b) = 1 - I_(1-x)(b, a)
    const int swapped[] = {a.orders[1], a.orders[0], k};
    return alternating(k) * log_beta_tail({{q, p, 0}, swapped}, !upper);
  }
  if (x > 0 && m + k == 0) return log_incomplete_beta(p, q, x, upper);
  if (x > 0)
    return by_arguments<3>(
        a, [=](const auto& v, const auto& w, const auto& y) { return log_incomplete_beta(v, w, y, upper); });
  // For p = 1 this is q log(1 - x).
  if (upper && p == 1 && k > 0 && a.orders[0] == 0 && m > 0) return m == 1 ? -factorial(k - 1) : 0;
  if (upper) return upper_at_zero(p, q, -q * factorial(std::max(k - 1, 0)), m, k);  // (1 - x)^q
  return m == 0 || (m == 1 && a.orders[0] == 1) ? log_slope_at_zero(k) : nan;
}

// ---- Inverses of both, by the logarithm l of the probability of at most x, or (`upper`) of more.

/// The logarithm below which the inverses of probabilities are not used, as the probability might underflow.
constexpr Real log_of_probability_min = 0.68L * std::numeric_limits<Real>::min_exponent;

using LogTail = Real (*)(const Arguments& a, bool upper);

/// log x, at most `most`, where the logarithm of a tail, of `parameters` and x, is l.
[[gnu::cold, gnu::noinline]] Real log_of_quantile(LogTail tail, int parameters, Real a, Real b, Real l, bool upper,
                                                  Real guess, Real most) {
  return increasing_root(guess, most, [=](Real v) {
    const Real x = std::exp(v), sign = upper ? -1 : 1;
    int orders[] = {0, 0, 0};
    const Arguments at{{a, parameters == 1 ? x : b, x}, orders};
    const Real y = tail(at, upper);
    orders[parameters] = 1;
    return RootValue{sign * (y - l), sign * x * tail(at, upper)};
  });
}

[[gnu::cold, gnu::noinline]] Real inverse_log_gamma(Real a, Real l, bool upper) {
  if (!(a > 0 && l <= 0) || std::isinf(a)) return nan;
  if (l > log_of_probability_min) {
    const Real p = std::exp(l), q = -std::expm1(l);
    return inverse_gamma(a, upper ? q : p, upper ? p : q);
  }
  if (std::isinf(l)) return upper ? infinity : 0;
  const Real small = (l + log_gamma_1p(a)) / a;
  if (!upper && small < log_of_zero) return 0;
  return std::exp(
      log_of_quantile(log_gamma_tail, 1, a, 0, l, upper, upper ? std::log(std::max(a, -l)) : small, infinity));
}

[[gnu::cold, gnu::noinline]] Real inverse_log_beta(Real a, Real b, Real l, bool upper) {
  if (!(a > 0 && b > 0 && l <= 0) || std::isinf(a) || std::isinf(b)) return nan;
  if (l > log_of_probability_min) {
    const Real p = std::exp(l), q = -std::expm1(l);
    return inverse_beta(a, b, upper ? q : p, upper ? p : q).x;
  }
  if (std::isinf(l)) return upper ? 1 : 0;
  const bool above_half = (log_incomplete_beta(a, b, Real(0.5L), upper) > l) == upper;
  if (above_half) std::swap(a, b), upper = !upper;
  const Real most = std::log(0.5L), small = (l + std::log(a) + log_beta(a, b)) / a;
  const Real u = !upper && small < log_of_zero
                     ? -infinity
                     : log_of_quantile(log_beta_tail, 2, a, b, l, upper, upper ? most : std::min(small, most), most);
  return above_half ? -std::expm1(u) : std::exp(u);
}

// ---- Quantiles of Student's distribution of v degrees of freedom

/// The logarithm of twice the probability beyond exp(u), or (`middle`) of that between -exp(u) and exp(u), and its
/// derivative.
RootValue log_student(Real v, Real u, bool middle) {
  constexpr Real cancels = -1e12L;  // the logarithm of the density, which is near that of the probability
  const Real r = std::exp(2 * u) / v, root = 0.5L, half = v / 2;
  const bool near = r < 1, upper = near != middle;  // otherwise 1 - x keeps its digits
  int orders[] = {0, 0, 0};
  const Arguments at{{near ? root : half, near ? half : root, near ? r / (1 + r) : 1 / (1 + r)}, orders};
  const Real y = log_beta_tail(at, upper);
  if (y > cancels && at.at[2] > 0) {
    const Real slope = 2 * std::exp(log_beta_power(at.at[0], at.at[1], at.at[2]) - y);
    return {y, middle ? slope : -slope};
  }
  orders[2] = 1;
  const Real slope = 2 * r / ((1 + r) * (1 + r));
  return {y, (near ? slope : -slope) * log_beta_tail(at, upper)};
}
/// For many degrees of freedom, z by terms of 1 / v of the normal quantile (Abramowitz, Stegun 26.7.5).
Real student_by_normal(Real v, Real q, Real between) {
  Real z = -normal_quantile(q, 1 - q);
  for (int i = 0; q > 0.25L && i < 2; ++i)  // the probability between keeps the digits of small z
    z -= (std::erf(z / std::sqrt(2.0L)) - between) * std::sqrt(pi / 2) * std::exp(z * z / 2);
  const Real y = z * z;
  return z * (1 + ((y + 1) / 4 + (((5 * y + 16) * y + 3) / 96 + (((3 * y + 19) * y + 17) * y - 15) / 384 / v) / v) / v);
}
/// z > 0 with the probability q <= 1/2 beyond, which may underflow, its logarithm l, and 1 - 2 q between -z and z.
[[gnu::cold, gnu::noinline]] Real student_beyond(Real v, Real q, Real l, Real between) {
  constexpr Real many = 1e7L, far = -750;  // up to there the next term is below 1e-18
  if (between == 0 || std::isinf(l)) return between == 0 ? 0 : infinity;
  if (v > many && l > far) return student_by_normal(v, q, between);
  v = std::min(v, Real(1e300L));
  const bool middle = q > 0.25L;
  const Real target = middle ? std::log(between) : l + std::log(2.0L), half = v / 2, log_b = log_beta(Real(0.5L), half);
  // By the first term of the density about 0, or of the tail: a bound from below.
  const Real t = -(target + std::log(half) + log_b) / half;
  const Real guess = middle || !(t > 0) ? target + log_b + std::log(v) / 2 - std::log(2.0L)
                                        : (std::log(v) + t + std::log(-std::expm1(-t))) / 2;
  return std::exp(increasing_root(guess, -log_of_zero, [=](Real u) {  // beyond, z is infinite in double
    const auto [y, slope] = log_student(v, u, middle);
    return middle ? RootValue{y - target, slope} : RootValue{target - y, -slope};
  }));
}
Real student_quantile(Real p, Real v) {
  if (!(p >= 0 && p <= 1 && v > 0)) return nan;
  const Real q = std::min(p, 1 - p), z = student_beyond(v, q, std::log(q), std::abs(1 - 2 * p));
  return p < 0.5L ? -z : z;
}
Real student_quantile_of_log(Real l, Real v) {
  if (!(l <= 0 && v > 0)) return nan;
  const Real ln2 = std::log(2.0L), q = l < -ln2 ? std::exp(l) : -std::expm1(l);
  const Real z = student_beyond(v, q, l < -ln2 ? l : std::log(q), std::abs(std::expm1(l + ln2)));
  return l < -ln2 ? -z : z;
}

// ---- Von Mises's distribution: the probability F(kappa, x) of an angle from -pi to x.

// sin(Real) of <cmath> might be that of double.
Real sine(Real x) { return std::sin(x); }
Taylor sine(const Taylor& x) { return sin(x); }

/// exp(-kappa) I_0(kappa): by its expansion for large kappa (DLMF 10.40.1), otherwise by the power series.
template <class N>
N scaled_i0(const N& kappa) {
  constexpr Real expansion_min = 50;  // of kappa: the last term is below 4e-24
  constexpr int expansion_terms = 20, series_terms = 100;
  N sum = constant(kappa, 1);
  if (value(kappa) >= expansion_min) {
    const N inverse = constant(kappa, 1) / kappa;
    for (int n = expansion_terms; n >= 1; --n) sum = sum * inverse * (square_of(2 * n - 1) / (8 * n)) + Real(1);
    return sum * sqrt(inverse * (1 / (2 * pi)));
  }
  const N quarter = kappa * kappa * 0.25L;
  for (int n = series_terms; n >= 1; --n) sum = sum * quarter * (1 / square_of(n)) + Real(1);
  return sum * exp(-kappa);
}

// The rule on [0, 1].
struct UnitRule {
  static constexpr int count = 40;
  Real nodes[count], weights[count];
  UnitRule() {
    gauss_legendre(count, nodes, weights);
    for (Real& x : nodes) x = (1 + x) / 2;
    for (Real& w : weights) w /= 2;
  }
};

/// The integral of exp(kappa (cos t - cos x)) for t from -pi to x <= 0, or from where the integrand is exp(-60). There
/// 40 nodes have an error below 1e-20.
template <class N>
N integral_below(const N& kappa, const N& x) {
  static const UnitRule rule;
  const Real s = std::sin(value(x) / 2), reach = std::sqrt(30 / value(kappa) + s * s);
  const Real low = reach < 1 ? -2 * std::asin(reach) : -pi;
  const N width = x - low;
  N sum = constant(kappa, 0);
  for (int i = 0; i < UnitRule::count; ++i) {
    const N half = width * (rule.nodes[i] / 2);  // of x - t
    sum = sum + exp(kappa * sine(x - half) * sine(half) * Real(2)) * rule.weights[i];
  }
  return width * sum;
}

/// F or its logarithm for x <= 0.
template <class N>
N vonmises_below(const N& kappa, const N& x, bool logarithm) {
  const N s = sine(x * 0.5L), exponent = kappa * s * s * Real(-2);
  const N integral = integral_below(kappa, x), unit = scaled_i0(kappa) * (2 * pi);
  return logarithm ? exponent + log(integral) - log(unit) : exp(exponent) * integral / unit;
}

/// A derivative of F, or of its logarithm.
Real vonmises(const Arguments& a, bool logarithm) {
  const Real kappa = a.at[0], x = std::clamp(a.at[1], -pi, pi);
  const int m = a.orders[0], k = a.orders[1];
  if (!(kappa >= 0) || std::isinf(kappa)) return nan;
  if (k > 0 && !logarithm) {
    const Orders o = {m, k - 1};
    const Taylor t = Taylor::variable(o, kappa, 0), s = sin(Taylor::variable(o, x / 2, 1));
    // The density; the angle is halved, which its derivatives have to make up for.
    return std::ldexp(derivative(exp(t * s * s * Real(-2)) / (scaled_i0(t) * (2 * pi))), 1 - k);
  }
  if (x <= 0) return by_arguments<2>(a, [=](const auto& v, const auto& y) { return vonmises_below(v, y, logarithm); });
  return by_arguments<2>(a, [=](const auto& v, const auto& y) {
    const auto above = -vonmises_below(v, -y, false);
    return logarithm ? log1p(above) : above + Real(1);
  });
}

/// The angle x with F(kappa, x) = p < 1/2, in terms of -log(-x). p may underflow.
Real vonmises_quantile_below(Real kappa, Real p, Real log_p) {
  const Real unit = 2 * pi * scaled_i0(kappa);
  if (log_p + std::log(unit) <= std::log(1e-17L) - 2 * kappa) return -pi;  // to rounding
  const Real u = increasing_root(-std::log(pi * (1 - 2 * p)) + std::log1p(kappa) / 2, HUGE_VALL, [=](Real v) {
    const Real x = -std::exp(-v), s = std::sin(x / 2);
    if (x <= -pi) return RootValue{-1, 1};
    const Real integral = integral_below(kappa, x),
               quotient = p > 0 ? std::log(integral / unit / p) : std::log(integral / unit) - log_p;
    return RootValue{quotient - 2 * kappa * s * s, -x / integral};
  });
  return -std::exp(-u);
}
Real vonmises_quantile(Real kappa, Real p, Real rest, Real log_p) {
  if (!(kappa >= 0 && p >= 0 && rest >= 0) || std::isinf(kappa)) return nan;
  if (p == rest) return 0;
  return p < rest ? vonmises_quantile_below(kappa, p, log_p) : -vonmises_quantile_below(kappa, rest, std::log(rest));
}

// ---- Quantiles of whole numbers

/// The smallest k from 0 to `most` with reached(k), which holds from there on: from a guess in steps that double, then
/// by bisection. Numbers above 2^53 are found to half a unit in the last place of double.
template <class F>
Real smallest(Real guess, Real most, const F& reached) {
  const auto unit = [](Real k) { return std::max(Real(1), std::floor(std::ldexp(k, -54))); };
  Real low = -1, high = most, k = std::clamp(std::floor(guess), Real(0), most), step = unit(k);
  if (reached(k)) {
    high = k;
    while (high > 0 && reached(k = std::max(high - step, Real(0)))) high = k, step *= 2;
    if (high > 0) low = k;
  } else {
    low = k;
    while (low < most && !reached(k = std::min(low + step, most))) low = k, step *= 2;
    high = k;
  }
  while (high - low > unit(low)) {
    const Real middle = std::floor(low + (high - low) / 2);
    if (middle <= low || middle >= high) break;  // Real has no more digits than double here
    (reached(middle) ? high : low) = middle;
  }
  return high;
}

/// Of a distribution of whole numbers: the mean, the standard deviation, and the cumulants of order 3 to 6 in units of
/// it.
struct Moments {
  Real mean, deviation, cumulant[4];

  /// The number x for which F(x - 1/2) is that of the normal distribution at z, by the expansion of Cornish and Fisher
  /// (Abramowitz, Stegun 26.2.49), with Sheppard's corrections for the steps of F.
  Real expansion(Real z) const {
    const Real variance = square_of(deviation) - 1 / 12.0L, unit = std::sqrt(variance), shrink = deviation / unit;
    const Real a = cumulant[0] * shrink * square_of(shrink),
               b = cumulant[1] * square_of(square_of(shrink)) + 1 / (120 * square_of(variance));
    const Real c = cumulant[2] * shrink * square_of(square_of(shrink)),
               d = cumulant[3] * square_of(shrink * square_of(shrink)) - 1 / (252 * variance * square_of(variance));
    const Real y = z * z;
    const Real h1 = z, h2 = y - 1, h3 = z * (y - 3), h4 = (y - 6) * y + 3, h5 = z * ((y - 10) * y + 15);
    const Real first = a * h2 / 6, second = b * h3 / 24 - a * a * (2 * h3 + h1) / 36;
    const Real third = c * h4 / 120 - a * b * (h4 + h2) / 24 + a * a * a * (12 * h4 + 19 * h2) / 324;
    const Real fourth = d * h5 / 720 - b * b * (3 * h5 + 6 * h3 + 2 * h1) / 384 - a * c * (2 * h5 + 3 * h3) / 180 +
                        a * a * b * (14 * h5 + 37 * h3 + 8 * h1) / 288 -
                        square_of(a * a) * (252 * h5 + 832 * h3 + 227 * h1) / 7776;
    return mean + unit * (z + first + second + third + fourth);
  }
  Real guess(Real z) const {
    constexpr Real expanded_max = 0.1L;  // of the skewness
    const Real k =
        std::abs(cumulant[0]) < expanded_max ? expansion(z) : mean + deviation * (z + cumulant[0] * (z * z - 1) / 6);
    return std::isfinite(k) ? std::ceil(k - 0.5L) : mean;
  }
};

/// The variance of binom, and n (1 - p) of nbinom, above which a quantile is that of the expansion alone. Its error is
/// below 1e-10 standard deviations in both tails, to the least number of double.
constexpr Real binom_expanded = 1e10L, nbinom_expanded = 1e8L;
/// Whether an incomplete beta function is an incomplete gamma function of -T log(1 - p) with T = n - k / 2 for binom, k
/// + (n + 1) / 2 for nbinom (DLMF 8.18.1): to a relative difference below rounding, or below the error of the former
/// for numbers as large as `largest`.
bool is_gamma_limit(Real difference, Real largest) {
  constexpr Real rounding = 1e-16L, error = 1e-20L, inexact_min = 1e13L;
  return difference < rounding || (largest > inexact_min && difference < error * largest);
}

/// The probability of which a quantile is asked: of at most k, or of more than k.
struct Level {
  Real p;
  bool upper;
  bool before_first() const { return p == (upper ? 1 : 0); }
  bool last() const { return p == (upper ? 0 : 1); }
  Real normal(int steps) const { return normal_quantile(upper ? 1 - p : p, upper ? p : 1 - p, steps); }
  /// Whether the probability of a number is at least (of more: at most) p. It is rounded to double before, so that the
  /// quantile of a probability of k is k.
  bool reached(Real probability) const {
    const double y = static_cast<double>(probability), level = static_cast<double>(p);
    return upper ? y <= level : y >= level;
  }
};

/// gammaincc(k + 1, mu), or `upper` gammainc, as users get it in float64.
Real poisson_tail(Real k, Real mu, bool upper) {
  const double a = static_cast<double>(k + 1), x = static_cast<double>(mu);
  const double* const in[] = {&a, &x};
  double value;
  values::incomplete_gamma(upper ? Function::gammainc : Function::gammaincc, in, &value, 1, values::least_of_double);
  return std::isfinite(value) ? value : incomplete_gamma(k + 1, mu, !upper);
}

/// tail(k) is the distribution function, or 1 minus it.
template <class F>
Real whole_quantile(const Level& level, Real most, const Moments& moments, const F& tail) {
  if (level.before_first()) return -1;
  if (level.last()) return moments.deviation == 0 && level.reached(tail(0)) ? moments.mean : most;
  const Real top = std::isinf(most) ? std::numeric_limits<double>::max() : most;
  return smallest(moments.guess(level.normal(1)), top, [&](Real k) { return level.reached(tail(k)); });
}
/// The same, without a search: of many numbers, whose distribution function would take as many terms as the deviation.
Real expanded_quantile(const Level& level, Real most, const Moments& moments) {
  if (level.before_first() || level.last()) return level.last() ? most : -1;
  return std::clamp(std::ceil(moments.expansion(level.normal(2)) - 0.5L), Real(0), most);
}

Real poisson_quantile(const Level& level, Real mu) {
  const Real variance = 1 / mu, root = std::sqrt(variance);
  return whole_quantile(level, infinity, {mu, std::sqrt(mu), {root, variance, variance * root, variance * variance}},
                        [=](Real k) { return poisson_tail(k, mu, level.upper); });
}

Real binom_quantile(const Level& level, Real n, Real chance) {
  const Real rest = 1 - chance, product = chance * rest, variance = n * product, root = std::sqrt(variance),
             asymmetry = rest - chance;
  const Moments moments = {
      n * chance,
      root,
      {asymmetry / root, (1 - 6 * product) / variance, asymmetry * (1 - 12 * product) / (variance * root),
       (1 - 30 * product * (1 - 4 * product)) / square_of(variance)}};
  if (variance > binom_expanded) return expanded_quantile(level, n, moments);
  const bool limit = is_gamma_limit(n * chance * square_of(chance), n), upper = level.upper;
  return whole_quantile(level, n, moments, [=](Real k) {
    if (k >= n || chance == 0) return Real(upper ? 0 : 1);
    if (limit) return incomplete_gamma(k + 1, (n - k / 2) * -std::log1p(-chance), !upper);
    return incomplete_beta(k + 1, n - k, chance, !upper);
  });
}

Real nbinom_quantile(const Level& level, Real n, Real chance) {
  const Real q = 1 - chance, size = n * q, root = std::sqrt(size);
  const Moments moments = {size / chance,
                           root / chance,
                           {(1 + q) / root, (1 + q * (4 + q)) / size, (1 + q) * (1 + q * (10 + q)) / (size * root),
                            (1 + q * (26 + q * (66 + q * (26 + q)))) / square_of(size)}};
  if (size > nbinom_expanded) return expanded_quantile(level, infinity, moments);
  if (is_gamma_limit(n * square_of(chance), n / chance)) {  // gammainc(n, x), x = -(k + (n + 1) / 2) log(1 - chance)
    if (level.before_first() || level.last()) return level.last() ? infinity : -1;
    const Real p = level.p, x = level.upper ? inverse_gamma(n, 1 - p, p) : inverse_gamma(n, p, 1 - p);
    return std::max(std::ceil(x / -std::log1p(-chance) - (n + 1) / 2), Real(0));
  }
  return whole_quantile(level, infinity, moments,
                        [=](Real k) { return incomplete_beta(n, k + 1, chance, level.upper); });
}

Real whole_quantile(Function f, const Real* x) {
  const bool poisson = f == Function::poisson_ppf || f == Function::poisson_isf,
             binom = f == Function::binom_ppf || f == Function::binom_isf;
  const Level level = {x[0], f == Function::poisson_isf || f == Function::binom_isf || f == Function::nbinom_isf};
  const Real n = x[1], chance = x[2];
  if (!(level.p >= 0 && level.p <= 1 && n >= 0) || std::isinf(n)) return nan;
  if (poisson) return poisson_quantile(level, n);
  if (!(chance >= 0 && chance <= 1)) return nan;
  if (binom) return n == std::floor(n) ? binom_quantile(level, n, chance) : nan;
  return n == 0 || chance == 0 ? nan : nbinom_quantile(level, n, chance);
}

}  // namespace

Real distribution_function(Function f, const Arguments& a) {
  switch (f) {
    case Function::log_gammainc:
      return log_gamma_tail(a, false);
    case Function::log_gammaincc:
      return log_gamma_tail(a, true);
    case Function::log_betainc:
      return log_beta_tail(a, false);
    case Function::log_betaincc:
      return log_beta_tail(a, true);
    case Function::vonmises_cdf:
      return vonmises(a, false);
    case Function::vonmises_logcdf:
      return vonmises(a, true);
    case Function::vonmises_ppf:
      return vonmises_quantile(a.at[0], a.at[1], 1 - a.at[1], std::log(a.at[1]));
    case Function::vonmises_ilogcdf:
      return vonmises_quantile(a.at[0], std::exp(a.at[1]), -std::expm1(a.at[1]), a.at[1]);
    case Function::log_gammaincinv:
    case Function::log_gammainccinv:
      return inverse_log_gamma(a.at[0], a.at[1], f == Function::log_gammainccinv);
    case Function::log_betaincinv:
    case Function::log_betainccinv:
      return inverse_log_beta(a.at[0], a.at[1], a.at[2], f == Function::log_betainccinv);
    case Function::t_ppf:
      return student_quantile(a.at[0], a.at[1]);
    case Function::t_ilogcdf:
      return student_quantile_of_log(a.at[0], a.at[1]);
    default:
      return whole_quantile(f, a.at);
  }
}

}  // namespace reel::kernels::special
