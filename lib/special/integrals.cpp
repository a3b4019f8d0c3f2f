// Exponential and trigonometric integrals, Dawson's integral, the dilogarithm. Derivatives are those of the elementary
// integrand, or come from evaluating the function on a Taylor polynomial.
#include "special/arguments.hpp"
#include "special/fractions.hpp"

namespace reel::kernels::special {

namespace {

/// e^z E_p(z) (DLMF 8.19.17, its even part), for |z| >= 1 away from the negative axis.
template <class Z>
Z exponential_fraction(Real p, const Z& z) {
  const auto quotient = [&](int n) {
    const Real k = static_cast<Real>(n);
    return Quotient<Z>{Z(-k * (p + k - 1)), z + (p + 2 * k)};
  };
  const Z first = z + p;
  return Real(1) / fraction(first, fraction_length(first, quotient), 0, quotient);
}

/// The derivative of this order of e^(sign x) / x.
Real exponential_slope(Real x, Real sign, int order) {
  const Orders o = {order};
  const Taylor t = Taylor::variable(o, x, 0);
  return derivative(exp(sign * t) / t);
}

/// E_n(x), 0 < x < 1, n >= 1 (DLMF 8.19.8).
Real exponential_series(int n, Real x) {
  Real sum = 0, power = 1;  // (-x)^m / m!
  for (int m = 0; m < 40; ++m) {
    if (m > 0) power *= -x / m;
    if (m != n - 1) {
      sum -= power / (m - n + 1);
      continue;
    }
    Real harmonic = -euler - std::log(x);
    for (int k = 1; k < n; ++k) harmonic += 1 / static_cast<Real>(k);
    sum += power * harmonic;
  }
  return sum;
}
constexpr Real order_max = 1e9L;  // of E_n: fits int
/// The derivative of this order of E_n: +-E_(n - order), and beyond that derivatives of E_0(x) = e^-x / x.
Real exponential_integral(Real order_n, Real x, int order) {
  if (!is_whole(order_n) || order_n < 0 || order_n > order_max || !(x >= 0)) return nan;
  const int n = static_cast<int>(order_n) - std::min(order, static_cast<int>(order_n)),
            beyond = std::max(0, order - static_cast<int>(order_n));
  const Real sign = alternating(order - beyond);
  if (x == 0) return n > 1 ? sign / (n - 1) : alternating(order) * infinity;
  if (std::isinf(x)) return 0;
  if (n == 0) return sign * exponential_slope(x, -1, beyond);
  return sign * (x < 1 ? exponential_series(n, x) : std::exp(-x) * exponential_fraction<Real>(n, x));
}

/// Ei(x) (DLMF 6.6.1, 6.12.2).
Real exponential_integral_i(Real x, int order) {
  if (std::isinf(x)) return x < 0 ? 0 : x;
  if (order > 0) return exponential_slope(x, 1, order - 1);
  if (x < 0) return -exponential_integral(1, -x, 0);
  if (x == 0) return -infinity;
  if (x > 45) return std::exp(x) / x * asymptotic_series(Real(1), [x](int k, Real term) { return term * k / x; });
  Real power = x;
  const Real sum = series(x, [&](int k, Real) {
    power *= x / (k + 1);
    return power / (k + 1);
  });
  return euler + std::log(x) + sum;
}

/// Si as a Taylor polynomial, |x| < 4.
Taylor sine_series(const Taylor& x) {
  const Taylor square = x * x;
  Taylor power = x;
  return series(x, [&](int k, const Taylor&) {
    power = power * square * (Real(-1) / (2 * k * (2 * k + 1)));
    return power / Real(2 * k + 1);
  });
}
/// -Ci(x) + i (Si(x) - pi / 2) = E_1(i x), x >= 4.
Complex sine_and_cosine(Real x) { return Complex(std::cos(x), -std::sin(x)) * exponential_fraction(1, Complex(0, x)); }
Real sine_integral(Real x, int order) {
  if (std::isinf(x)) return order == 0 ? std::copysign(pi / 2, x) : 0;
  if (std::abs(x) < 4) return by_argument(x, order, sine_series);
  if (order > 0) return by_argument(x, order - 1, [](const Taylor& t) { return sin(t) / t; });
  return std::copysign(pi / 2 + sine_and_cosine(std::abs(x)).imag(), x);
}
Real cosine_integral(Real x, int order) {
  if (x == 0) return order == 0 ? -infinity : order == 1 ? std::copysign(infinity, x) : nan;
  if (std::isinf(x)) return x < 0 && order == 0 ? nan : 0;
  if (order > 0) return by_argument(x, order - 1, [](const Taylor& t) { return cos(t) / t; });
  if (std::abs(x) >= 4) return -sine_and_cosine(std::abs(x)).real();
  Real power = -x * x / 2;
  const Real sum = series(power / 2, [&](int k, Real) {
    power *= -x * x / ((2 * k + 1) * (2 * k + 2));
    return power / (2 * k + 2);
  });
  return euler + std::log(std::abs(x)) + sum;
}

/// pi / 2 times (x^2 modulo 4), with full precision for a double x.
Real fresnel_phase(Real x) {
  constexpr Real square_max = 1e300L;  // of |x|, a multiple of 2 from here on: the phase is 0
  if (std::abs(x) > square_max) return 0;
  const Real square = x * x;
  return pi / 2 * (std::fmod(square, 4.0L) + std::fma(x, x, -square));
}
Real fresnel_slope(Real x, int order, bool sine) {
  const Orders o = {order};
  const Taylor t = Taylor::variable(o, x, 0);
  const Real phase = fresnel_phase(x), s = std::sin(phase), c = std::cos(phase);
  const Taylor half = t * t * (pi / 2);
  return derivative(sine ? sin(half, s, c) : sin(half, c, -s));
}
/// C(x) and S(x) (DLMF 7.6.4, 7.6.6; from 1.7 on 7.5.10 and 7.11.2).
Real fresnel(Real x, int order, bool sine) {
  if (std::isinf(x)) return order == 0 ? std::copysign(0.5L, x) : nan;
  if (order > 0) return fresnel_slope(x, order - 1, sine);
  const Real t = pi / 2 * x * x;
  if (std::abs(x) < 1.7L) {
    Real power = sine ? t : 1;
    const int k0 = sine ? 1 : 0;
    const Real sum = series(power / (2 * k0 + 1), [&](int k, Real) {
      const int j = 2 * k + k0;
      power *= -t * t / (j * (j - 1));
      return power / (2 * j + 1);
    });
    return x * sum;
  }
  const Real phase = fresnel_phase(x);
  const Complex rest =
      std::abs(x) / 2 * Complex(std::cos(phase), std::sin(phase)) * exponential_fraction(0.5L, Complex(0, -t));
  return std::copysign(0.5L - (sine ? rest.imag() : rest.real()), x);
}

/// exp(-x^2) times the integral of exp(t^2) from 0 to x: by DLMF 7.6.2, from 7 on by 7.12.1 in Dawson's form.
Taylor dawson(const Taylor& x) {
  const Taylor square = x * x;
  if (std::abs(x[0]) >= 7) {
    const Taylor inverse = 1 / (2 * square);
    return asymptotic_series(1 / (2 * x), [&](int k, const Taylor& term) { return term * inverse * Real(2 * k - 1); });
  }
  Taylor power = x;
  return exp(-square) * series(x, [&](int k, const Taylor&) {
           power = power * square / Real(k);
           return power / Real(2 * k + 1);
         });
}

/// The dilogarithm of 1 - x: a series in u = -log(x) with Bernoulli numbers for |u| <= log(2), otherwise by reflection.
Taylor spence_function(const Taylor& x) {
  if (x[0] < 0.5L) return pi * pi / 6 - log(x) * log1p(-x) - spence_function(1 - x);
  if (x[0] > 2) {
    const Taylor l = log(x);
    return -0.5L * l * l - spence_function(1 / x);
  }
  const Taylor u = -log(x), square = u * u;
  Taylor sum = constant(u, 0);
  for (int k = 12; k-- > 0;) sum = (sum + bernoulli_by_factorial[k] / (2 * k + 3)) * square;
  return u * (1 - u / 4.0L + sum);
}
Real spence(Real x, int order) {
  if (x < 0) return nan;
  if (x == 0) return order == 0 ? pi * pi / 6 : alternating(order) * infinity;
  if (std::isinf(x)) return order == 0 ? -infinity : 0;
  return by_argument(x, order, spence_function);
}

}  // namespace

Real integral(Function f, const Arguments& a) {
  const Real x = a.at[0];
  const int order = a.orders[0];
  switch (f) {
    case Function::exp1:
      return exponential_integral(1, x, order);
    case Function::expn:
      return exponential_integral(a.at[1], x, order);
    case Function::expint:
      return exponential_integral_i(x, order);
    case Function::sinint:
      return sine_integral(x, order);
    case Function::cosint:
      return cosine_integral(x, order);
    case Function::fresnel_sin:
      return fresnel(x, order, true);
    case Function::fresnel_cos:
      return fresnel(x, order, false);
    case Function::dawsn:
      return std::isinf(x) ? std::copysign(0.0L, x) : by_argument(x, order, dawson);
    default:
      return spence(x, order);
  }
}

}  // namespace reel::kernels::special
