// The incomplete gamma and beta functions and their inverses.
#include "special/incomplete.hpp"

#include <algorithm>

#include "special/arguments.hpp"
#include "special/inverse.hpp"

namespace reel::kernels::special {

namespace {

/// ((-1)^m / m!) n (n - 1) ... (m factors).
Real falling(Real n, int m) {
  Real y = 1;
  for (int j = 0; j < m; ++j) y *= -(n - j) / (j + 1);
  return y;
}
/// A derivative of the density, which is that of P by x: `orders` are those of P.
Real gamma_slope(const Arguments& a) {
  const Real p = a.at[0], x = a.at[1];
  const int k = a.orders[1];
  if (std::isinf(p)) return nan;
  if (std::isinf(x)) return 0;
  if (x == 0) {
    if (p > k || a.orders[0] == 0) {
      if (p <= 0) return p == 0 && a.orders[0] == 0 ? 0 : nan;
      if (p > k || p != std::floor(p)) return power_at_zero(p, k);
      const int whole = static_cast<int>(p), m = k - whole;
      return (m % 2 == 0 ? 1 : -1) * factorial(k - 1) / factorial(m) / factorial(whole - 1);
    }
    return nan;
  }
  const int orders[] = {a.orders[0], k - 1};
  return by_arguments<2>({{p, x}, orders}, [](const auto& v, const auto& y) { return gamma_density(v, y); });
}
Real incomplete_gamma_of(const Arguments& a, bool upper) {
  if (!(a.at[0] >= 0 && a.at[1] >= 0)) return nan;
  if (a.orders[1] > 0) return upper ? -gamma_slope(a) : gamma_slope(a);
  const Orders o = {a.orders[0]};
  if (o.total() == 0) return incomplete_gamma(a.at[0], a.at[1], upper);
  return derivative(incomplete_gamma(Taylor::variable(o, a.at[0], 0), a.at[1], upper));
}

/// A derivative by q of the k-th one by x, for whole p <= k, of I_x(p, q) at x = 0: of (k - 1)! / B(p, q) times a
/// binomial coefficient of q - 1, which is a polynomial in q.
Real beta_slope_at_zero(int p, Real q, int order, int k) {
  const Orders o = {order};
  const Taylor t = Taylor::variable(o, q, 0);
  Taylor y = constant(t, factorial(k - 1));
  for (int j = 0; j < p; ++j) y = y * (t + Real(j)) * (Real(1) / std::max(j, 1));
  for (int j = 1; j <= k - p; ++j) y = y * (t + Real(-j)) * (Real(-1) / j);
  return derivative(y);
}
Real beta_slope(const Arguments& a) {
  const Real p = a.at[0], q = a.at[1], x = a.at[2];
  const int k = a.orders[2];
  if (std::isinf(p) || std::isinf(q)) return nan;
  if (x == 0) {
    if (p > k) return 0;
    if (a.orders[0] == 0 && a.orders[1] > 0 && is_whole(p))
      return beta_slope_at_zero(static_cast<int>(p), q, a.orders[1], k);
    if (a.orders[0] + a.orders[1] > 0) return nan;
    if (p != std::floor(p)) return power_at_zero(p, k);
    return factorial(k - 1) * falling(q - 1, k - static_cast<int>(p)) / std::exp(log_beta(p, q));
  }
  if (x == 1) {  // I_x(a, b) = 1 - I_(1-x)(b, a)
    const int swapped[] = {a.orders[1], a.orders[0], k};
    const Real y = beta_slope({{q, p, 0}, swapped});
    return k % 2 == 0 ? -y : y;
  }
  const int orders[] = {a.orders[0], a.orders[1], k - 1};
  return by_arguments<3>({{p, q, x}, orders},
                         [](const auto& v, const auto& w, const auto& y) { return beta_density(v, w, y); });
}
Real incomplete_beta_of(const Arguments& a, bool upper) {
  if (!(a.at[0] > 0 && a.at[1] > 0 && a.at[2] >= 0 && a.at[2] <= 1)) return nan;
  if (a.orders[2] > 0) return upper ? -beta_slope(a) : beta_slope(a);
  const Orders o = {a.orders[0], a.orders[1]};
  if (o.total() == 0) return incomplete_beta(a.at[0], a.at[1], a.at[2], upper);
  return derivative(incomplete_beta(Taylor::variable(o, a.at[0], 0), Taylor::variable(o, a.at[1], 1), a.at[2], upper));
}

}  // namespace

Real incomplete(Function f, const Arguments& a) {
  switch (f) {
    case Function::gammainc:
      return incomplete_gamma_of(a, false);
    case Function::gammaincc:
      return incomplete_gamma_of(a, true);
    case Function::betainc:
      return incomplete_beta_of(a, false);
    default:
      return incomplete_beta_of(a, true);
  }
}

Real incomplete_inverse(Function f, const Arguments& a) {
  switch (f) {
    case Function::gammaincinv:
      return inverse_gamma(a.at[0], a.at[1], 1 - a.at[1]);
    case Function::gammainccinv:
      return inverse_gamma(a.at[0], 1 - a.at[1], a.at[1]);
    case Function::betaincinv:
      return inverse_beta(a.at[0], a.at[1], a.at[2], 1 - a.at[2]).x;
    default:
      return inverse_beta(a.at[0], a.at[1], 1 - a.at[2], a.at[2]).x;
  }
}

}  // namespace reel::kernels::special
