#include "special/special.hpp"

#include <algorithm>

#include "special/arguments.hpp"
#include "special/inverse.hpp"
#include "special/values/values.hpp"

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
  if (!(p >= 0 && x >= 0) || std::isinf(p)) return nan;
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
  if (!(p > 0 && q > 0 && x >= 0 && x <= 1) || std::isinf(p) || std::isinf(q)) return nan;
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
  if (a.orders[2] > 0) return upper ? -beta_slope(a) : beta_slope(a);
  const Orders o = {a.orders[0], a.orders[1]};
  if (o.total() == 0) return incomplete_beta(a.at[0], a.at[1], a.at[2], upper);
  return derivative(incomplete_beta(Taylor::variable(o, a.at[0], 0), Taylor::variable(o, a.at[1], 1), a.at[2], upper));
}

Real evaluate(Function f, const Arguments& a) {
  for (std::size_t k = 0; k < signature(f).arguments; ++k)
    if (std::isnan(a.at[k])) return nan;
  switch (f) {
    case Function::gamma:
      return gamma_of(a);
    case Function::rgamma:
      return rgamma_of(a);
    case Function::betaln:
      return log_beta_of(a);
    case Function::beta:
      return beta_of(a);
    case Function::poch:
      return poch_of(a);
    case Function::gammainc:
      return incomplete_gamma_of(a, false);
    case Function::gammaincc:
      return incomplete_gamma_of(a, true);
    case Function::betainc:
      return incomplete_beta_of(a, false);
    case Function::betaincc:
      return incomplete_beta_of(a, true);
    case Function::gammaincinv:
      return inverse_gamma(a.at[0], a.at[1], 1 - a.at[1]);
    case Function::gammainccinv:
      return inverse_gamma(a.at[0], 1 - a.at[1], a.at[1]);
    case Function::betaincinv:
      return inverse_beta(a.at[0], a.at[1], a.at[2], 1 - a.at[2]).x;
    default:
      break;
  }
  if (f <= Function::lambertw_lower && (f < Function::spence || f >= Function::lambertw)) return gamma_like(f, a);
  if (f < Function::iv) return integral(f, a);
  if (f < Function::ellipk) return bessel(f, a);
  if (f < Function::legendre) return elliptic(f, a);
  return f < Function::log_gammainc ? polynomial(f, a) : distribution_function(f, a);
}

[[gnu::noinline]] Real evaluate_at(Function f, const int* orders, const void* const* in, DType d, std::ptrdiff_t i) {
  Arguments a{{}, orders};
  for (std::size_t k = 0; k < signature(f).arguments; ++k)
    a.at[k] = d == DType::float32 ? static_cast<const float*>(in[k])[i] : static_cast<const double*>(in[k])[i];
  return evaluate(f, a);
}
void store(Real y, void* out, DType d, std::ptrdiff_t i) {
  if (d == DType::float32)
    static_cast<float*>(out)[i] = static_cast<float>(y);
  else
    static_cast<double*>(out)[i] = static_cast<double>(y);
}

/// Elements from `begin` on, at most a block of them, by a method in double; by the general one where it does not
/// apply.
void evaluate_block(Function f, const int* orders, const void* const* in, void* out, std::ptrdiff_t begin,
                    std::ptrdiff_t n, DType d) {
  const bool single = d == DType::float32;
  constexpr double finite_max = std::numeric_limits<double>::max();
  const double least = single ? values::least_of_float : values::least_of_double;
  double x[arguments_max][values::block], floats[values::block];
  double* const y = single ? floats : static_cast<double*>(out) + begin;
  const double* from[arguments_max] = {};
  for (std::size_t k = 0; k < signature(f).arguments; ++k) {
    from[k] = single ? x[k] : static_cast<const double*>(in[k]) + begin;
    if (single) std::copy_n(static_cast<const float*>(in[k]) + begin, n, x[k]);
  }
  values::of(f, orders)(f, from, y, n, least);
  unsigned others = 0;
  for (std::ptrdiff_t i = 0; i < n; ++i) others |= static_cast<unsigned>(!(std::abs(y[i]) <= finite_max));
  if (single)
    std::transform(y, y + n, static_cast<float*>(out) + begin, [](double v) { return static_cast<float>(v); });
  if (others == 0) return;
  for (std::ptrdiff_t i = 0; i < n; ++i)
    if (!std::isfinite(y[i])) store(evaluate_at(f, orders, in, d, begin + i), out, d, begin + i);
}

}  // namespace

void evaluate(Function f, const int* orders, const void* const* in, void* out, std::ptrdiff_t n, DType d) {
  if (values::of(f, orders) != nullptr) {
    for (std::ptrdiff_t i = 0; i < n; i += values::block)
      evaluate_block(f, orders, in, out, i, std::min(values::block, n - i), d);
    return;
  }
  for (std::ptrdiff_t i = 0; i < n; ++i) store(evaluate_at(f, orders, in, d, i), out, d, i);
}

}  // namespace reel::kernels::special
