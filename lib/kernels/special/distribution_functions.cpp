// Distribution functions, their logarithms and quantiles: the last functions of the list.
#include <vector>

#include "kernels/special/arguments.hpp"
#include "kernels/special/gauss_legendre.hpp"
#include "kernels/special/incomplete.hpp"
#include "kernels/special/inverse.hpp"
#include "kernels/special/values/values.hpp"

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

// ---- Von Mises's law: the probability F(kappa, x) of an angle from -pi to x.

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

/// The angle x with F(kappa, x) = p, in terms of -log(-x), below the median.
Real vonmises_quantile(Real kappa, Real p) {
  if (!(kappa >= 0 && p >= 0 && p <= 1) || std::isinf(kappa)) return nan;
  if (p > 0.5L) return -vonmises_quantile(kappa, 1 - p);
  if (p == 0.5L) return 0;
  if (p * 2 * pi * scaled_i0(kappa) <= 1e-17L * std::exp(-2 * kappa)) return -pi;  // to rounding
  const Real u = increasing_root(-std::log(pi * (1 - 2 * p)) + std::log1p(kappa) / 2, HUGE_VALL, [=](Real v) {
    const Real x = -std::exp(-v), s = std::sin(x / 2);
    if (x <= -pi) return RootValue{-1, 1};
    const Real integral = integral_below(kappa, x);
    return RootValue{std::log(integral / (2 * pi * scaled_i0(kappa)) / p) - 2 * kappa * s * s, -x / integral};
  });
  return -std::exp(-u);
}

// ---- Quantiles of whole numbers

/// The normal quantile to 5e-4 (Abramowitz, Stegun 26.2.23).
Real about_normal(Real p) {
  const Real t = std::sqrt(-2 * std::log(std::min(p, 1 - p)));
  const Real z =
      t - (2.515517L + t * (0.802853L + t * 0.010328L)) / (1 + t * (1.432788L + t * (0.189269L + t * 0.001308L)));
  return p < 0.5L ? -z : z;
}

/// The smallest k from 0 to `most` with reached(k), which holds from there on: from a guess in steps that double, then
/// by bisection.
template <class F>
Real smallest(Real guess, Real most, const F& reached) {
  Real low = -1, high = most, step = 1, k = std::clamp(std::floor(guess), Real(0), most);
  if (reached(k)) {
    high = k;
    while (high > 0 && reached(k = std::max(high - step, Real(0)))) high = k, step *= 2;
    if (high > 0) low = k;
  } else {
    low = k;
    while (low < most && !reached(k = std::min(low + step, most))) low = k, step *= 2;
    high = k;
  }
  for (Real middle; (middle = std::floor((low + high) / 2)) > low && middle < high;)
    (reached(middle) ? high : low) = middle;
  return high;
}

// Of moments: the mean, the standard deviation and the skewness.
struct Moments {
  Real mean, deviation, skewness;
  /// By two terms of Cornish's and Fisher's expansion.
  Real guess(Real p) const {
    const Real z = about_normal(p), k = mean + deviation * (z + skewness * (z * z - 1) / 6) - 0.5L;
    return std::isfinite(k) ? k : mean;
  }
};

/// gammaincc(k + 1, mu) as users get it in float64.
Real poisson_cdf(Real k, Real mu) {
  const double a = static_cast<double>(k + 1), x = static_cast<double>(mu);
  const double* const in[] = {&a, &x};
  double value;
  values::incomplete_gamma(Function::gammaincc, in, &value, 1, values::least_of_double);
  return std::isfinite(value) ? value : incomplete_gamma(k + 1, mu, true);
}

/// `cdf` is rounded to double before it is compared, so that the quantile of a probability of k is k.
template <class F>
Real whole_quantile(Real p, Real most, const Moments& moments, const F& cdf) {
  if (p == 0) return -1;
  if (p == 1) return cdf(0) == 1 && moments.deviation == 0 ? moments.mean : most;
  const Real top = std::isinf(most) ? std::numeric_limits<double>::max() : most;
  return smallest(moments.guess(p), top, [&](Real k) { return static_cast<double>(cdf(k)) >= static_cast<double>(p); });
}

Real whole_quantile(Function f, const Real* x) {
  const Real p = x[0];
  if (!(p >= 0 && p <= 1)) return nan;
  if (f == Function::poisson_ppf) {
    const Real mu = x[1];
    if (!(mu >= 0) || std::isinf(mu)) return nan;
    return whole_quantile(p, infinity, {mu, std::sqrt(mu), 1 / std::sqrt(mu)},
                          [=](Real k) { return poisson_cdf(k, mu); });
  }
  const Real n = x[1], chance = x[2], rest = 1 - chance;
  if (!(n >= 0 && chance >= 0 && chance <= 1) || std::isinf(n)) return nan;
  if (f == Function::binom_ppf) {
    if (n != std::floor(n)) return nan;
    const Real deviation = std::sqrt(n * chance * rest);
    return whole_quantile(p, n, {n * chance, deviation, (rest - chance) / deviation},
                          [=](Real k) { return k >= n ? 1 : incomplete_beta(k + 1, n - k, chance, true); });
  }
  if (n == 0 || chance == 0) return nan;
  const Real root = std::sqrt(n * rest);
  return whole_quantile(p, infinity, {n * rest / chance, root / chance, (1 + rest) / root},
                        [=](Real k) { return incomplete_beta(n, k + 1, chance, false); });
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
      return vonmises_quantile(a.at[0], a.at[1]);
    default:
      return whole_quantile(f, a.at);
  }
}

}  // namespace reel::kernels::special
