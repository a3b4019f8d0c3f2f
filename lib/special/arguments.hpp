// How special functions take their arguments and return the requested derivative.
#pragma once
#include "special/table.hpp"
#include "special/taylor.hpp"

namespace reel::kernels::special {

/// B_2k / (2k)!, k = 1, 2, ...
inline constexpr Real bernoulli_by_factorial[] = {
    0.08333333333333333333333L,    -0.001388888888888888888889L, 0.00003306878306878306878307L,
    -8.267195767195767195767e-7L,  2.087675698786809897921e-8L,  -5.284190138687493184848e-10L,
    1.338253653068467883283e-11L,  -3.38968029632258286683e-13L, 8.586062056277844564136e-15L,
    -2.174868698558061873042e-16L, 5.509002828360229515203e-18L, -1.395446468581252334071e-19L};

struct Arguments {
  Real at[arguments_max];
  const int* orders;
};

/// The coefficient of the highest orders times their factorials: the derivative.
inline Real derivative(const Taylor& t) {
  Real y = t[t.size() - 1];
  for (int v = 0; v < Orders::variables; ++v)
    for (int i = 2; i <= t.orders()[v]; ++i) y *= i;
  return y;
}

/// f of the first `Count` arguments, differentiated orders[i] times by argument i; computed on numbers if all orders
/// are 0.
template <std::size_t Count, class F>
Real by_arguments(const Arguments& a, const F& f) {
  const Orders o(a.orders, Count);
  const bool plain = o.total() == 0;
  const auto argument = [&](std::size_t k) { return Taylor::variable(o, a.at[k], static_cast<int>(k)); };
  if constexpr (Count == 1)
    return plain ? f(a.at[0]) : derivative(f(argument(0)));
  else if constexpr (Count == 2)
    return plain ? f(a.at[0], a.at[1]) : derivative(f(argument(0), argument(1)));
  else
    return derivative(f(argument(0), argument(1), argument(2)));
}
/// The same for one argument and a function that exists for Taylor polynomials alone.
inline Real by_argument(Real x, int order, Taylor (*f)(const Taylor& x)) {
  const Orders o = {order};
  return derivative(f(Taylor::variable(o, x, 0)));
}

inline Real factorial(int n) {
  Real y = 1;
  for (int j = 2; j <= n; ++j) y *= j;
  return y;
}

/// The k-th derivative of c x^a (1 + e x + ...) at x = 0, where only the first term matters; not for integers a < k.
inline Real power_at_zero(Real a, int k) {
  if (a > k) return 0;
  if (a == std::floor(a)) return nan;
  Real sign = 1;
  for (int j = 0; j < k; ++j)
    if (a < j) sign = -sign;
  return sign * infinity;
}
/// The limit for x to infinity of x^a, differentiated m times by x and n times by a; NaN where it depends on more.
inline Real power_at_infinity(Real a, int m, int n) {
  if (a < m && !(a >= 0 && a == std::floor(a) && n > 0)) return a < 0 || n == 0 ? 0 : nan;
  if (n > 0) return m == 0 ? infinity : nan;
  return a == m ? factorial(m) : infinity;
}
inline bool is_whole(Real x) { return x == std::floor(x); }
/// (-1)^n
inline Real alternating(Real n) { return std::fmod(n, 2.0L) == 0 ? 1 : -1; }

// The families of functions, each in its own file: the last column of REEL_SPECIAL_FUNCTIONS. They return the
// derivative of the given orders; inverses and quantiles return the value.
Real gamma_or_beta(Function f, const Arguments& a);
Real incomplete(Function f, const Arguments& a);
Real incomplete_inverse(Function f, const Arguments& a);
Real gamma_like(Function f, const Arguments& a);
Real lambert_w(Function f, const Arguments& a);
Real integral(Function f, const Arguments& a);
Real bessel(Function f, const Arguments& a);
Real elliptic(Function f, const Arguments& a);
Real hypergeometric(Function f, const Arguments& a);
Real polynomial(Function f, const Arguments& a);
Real distribution_function(Function f, const Arguments& a);

/// J, or Y, the function of the second kind, of a real order.
Real bessel_real_order(const Arguments& a, bool second);

}  // namespace reel::kernels::special
