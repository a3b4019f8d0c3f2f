// Distribution functions and their logarithms that have no public name: the last functions of the list.
#include <vector>

#include "kernels/special/arguments.hpp"
#include "kernels/special/incomplete.hpp"

namespace reel::kernels::special {

namespace {

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
  if (upper) return upper_at_zero(p, q, -q * factorial(std::max(k - 1, 0)), m, k);  // (1 - x)^q
  return m == 0 || (m == 1 && a.orders[0] == 1) ? log_slope_at_zero(k) : nan;
}

// Sums of the ratios r_n = I_n(kappa) / I_(n-1)(kappa), which are found by backward recurrence (DLMF 10.29.1): I_n /
// I_0 is below 1e-21 where it begins. `term(n)` is added before the sum is multiplied by r_n.
template <class Term>
Taylor sum_of_ratios(const Taylor& kappa, const Term& term) {
  Taylor ratio = constant(kappa, 0), sum = constant(kappa, 0);
  for (int n = 30 + static_cast<int>(11 * std::sqrt(value(kappa))); n > 0; --n) {
    ratio = kappa / (kappa * ratio + Real(2 * n));
    sum = ratio * (sum + term(n));
  }
  return sum;
}
/// The density by the sum exp(kappa) = I_0 + 2 I_1 + 2 I_2 + ... (10.35.5), its integral from -pi by its Fourier
/// series.
Real vonmises(const Arguments& a) {
  const Real kappa = a.at[0], x = a.at[1];
  const int m = a.orders[0], k = a.orders[1];
  constexpr Real kappa_max = 1e7L, angle_max = 4;  // above: more terms than a sum takes; and more than pi
  if (!(kappa >= 0 && kappa <= kappa_max && std::abs(x) <= angle_max)) return nan;
  if (k > 0) {
    const Orders o = {m, k - 1};
    const Taylor t = Taylor::variable(o, kappa, 0), angle = Taylor::variable(o, x, 1);
    const Taylor sum = sum_of_ratios(t, [](int) { return Real(1); });
    // cos(x) - 1, whose constant part would cancel.
    Taylor shift = cos(angle) - std::cos(x);
    shift += -2 * std::sin(x / 2) * std::sin(x / 2);
    return derivative(exp(t * shift) * (sum * 2 + 1) / (2 * pi));
  }
  const Orders o = {m};
  const Taylor t = Taylor::variable(o, kappa, 0);
  return derivative(sum_of_ratios(t, [x](int n) { return std::sin(n * x) / n; }) / pi + (0.5L + x / (2 * pi)));
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
    default:
      return vonmises(a);
  }
}

}  // namespace reel::kernels::special
