// The gamma function and its reciprocal, the beta function and its logarithm, Pochhammer's symbol.
#include "special/gamma.hpp"

#include "special/arguments.hpp"
#include "special/fractions.hpp"

namespace reel::kernels::special {

namespace {

template <class F>
Real of_positive(const Arguments& a, const F& f) {
  if (!(a.at[0] > 0 && a.at[1] > 0) || std::isinf(a.at[0]) || std::isinf(a.at[1])) return nan;
  return by_arguments<2>(a, f);
}

Real gamma_of(const Arguments& a) {
  const Real x = a.at[0];
  if (std::isnan(x) || x == -infinity) return nan;
  if (x == 0) return alternating(a.orders[0]) * std::pow(std::copysign(infinity, x), a.orders[0] + 1);
  if (x <= 0 && x == std::floor(x)) return nan;
  constexpr Real overflow_above = 200;  // Gamma overflows double from 172 on
  if (x > overflow_above) return infinity;
  return by_arguments<1>(a, [](const auto& v) { return gamma_function(v); });
}
Real rgamma_of(const Arguments& a) {
  if (std::isnan(a.at[0]) || a.at[0] == -infinity) return nan;
  constexpr Real zero_above = 1e4L;  // its inverse and all derivatives underflow in double
  if (a.at[0] > zero_above) return 0;
  return by_arguments<1>(a, [](const auto& v) { return reciprocal_gamma(v); });
}
/// 1 + x / 2 + x^2 / 3 + ..., or 1 + x / 2! + x^2 / 3! + ...; |x| <= 1/8.
Taylor short_series(const Taylor& x, bool factorials) {
  const int last = 20 + total_order(x);
  Taylor sum = constant(x, 1);
  for (int k = last; k > 0; --k) sum = sum * x * (factorials ? 1 / (k + 1.0L) : k / (k + 1.0L)) + Real(1);
  return sum;
}
/// B(a, b) - 1 / a - 1 / b for a, b <= 1/8: (a + b) (e^L - 1) / (a b), where L is log Gamma(1 + a) Gamma(1 + b) /
/// Gamma(1 + a + b) = a b m by DLMF 5.7.3, whose terms a^k + b^k - (a + b)^k are -a b u.
Taylor beta_rest(const Taylor& a, const Taylor& b) {
  const Taylor sum = a + b, product = a * b, below = 1 / (sum + 1);
  Taylor m = -(short_series(-product * below, false) * below), u = constant(a, 2), a_power = a, b_power = b;
  Real sign = 1;
  for (std::size_t k = 0; k < std::size(zeta_less_1); ++k) {
    m -= u * (sign * zeta_less_1[k] / static_cast<Real>(k + 2));
    u = sum * u + a_power + b_power;
    a_power = a_power * a, b_power = b_power * b, sign = -sign;
  }
  return sum * m * short_series(product * m, true);
}
/// An argument of the logarithm of the beta function is infinite: the limit, -lgamma's where the other one is not.
Real log_beta_at_infinity(const Arguments& a) {
  const int other = std::isinf(a.at[0]) ? 1 : 0, m = a.orders[1 - other], n = a.orders[other];
  if (m > 0) return std::isinf(a.at[other]) ? nan : 0;
  if (n < 2 || std::isinf(a.at[other])) return n == 0 || !std::isinf(a.at[other]) ? -infinity : nan;
  return by_argument(a.at[other], n, log_gamma<Taylor>);
}
Real log_beta_of(const Arguments& a) {
  if (a.at[0] > 0 && a.at[1] > 0 && (std::isinf(a.at[0]) || std::isinf(a.at[1]))) return log_beta_at_infinity(a);
  return of_positive(a, [](const auto& v, const auto& w) { return log_beta(v, w); });
}
/// Mixed derivatives near 0 are those of the rest: 1 / a and 1 / b, which are far larger, have none.
Real beta_of(const Arguments& a) {
  constexpr Real small = 0.125L;
  constexpr int orders_max = 10;  // for which the terms of the series are enough
  const int m = a.orders[0], n = a.orders[1];
  if (a.at[0] > 0 && a.at[1] > 0 && (std::isinf(a.at[0]) || std::isinf(a.at[1]))) return 0;
  if (m > 0 && n > 0 && m + n <= orders_max && a.at[0] > 0 && a.at[1] > 0 && a.at[0] <= small && a.at[1] <= small) {
    const Orders o(a.orders, 2);
    return derivative(beta_rest(Taylor::variable(o, a.at[0], 0), Taylor::variable(o, a.at[1], 1)));
  }
  return of_positive(a, [](const auto& v, const auto& w) { return exp(log_beta(v, w)); });
}
Real poch_of(const Arguments& a) {
  if (a.at[0] == infinity && std::isfinite(a.at[1])) return power_at_infinity(a.at[1], a.orders[0], a.orders[1]);
  if (!(a.at[0] > 0 && a.at[0] + a.at[1] > 0) || std::isinf(a.at[0]) || std::isinf(a.at[1])) return nan;
  if (a.at[0] < 0.5L && a.at[1] > 0.5L)  // small a is a factor
    return by_arguments<2>(
        a, [](const auto& v, const auto& m) { return v * exp(log_gamma_ratio(v + Real(1), m - Real(1))); });
  return by_arguments<2>(a, [](const auto& v, const auto& m) { return exp(log_gamma_ratio(v, m)); });
}

}  // namespace

Real gamma_or_beta(Function f, const Arguments& a) {
  switch (f) {
    case Function::gamma:
      return gamma_of(a);
    case Function::rgamma:
      return rgamma_of(a);
    case Function::betaln:
      return log_beta_of(a);
    case Function::beta:
      return beta_of(a);
    default:
      return poch_of(a);
  }
}

}  // namespace reel::kernels::special
