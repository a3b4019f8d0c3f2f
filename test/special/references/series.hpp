// Series and quadratures as references of special functions, for long doubles and for jets.
#pragma once
#include <initializer_list>

#include "../../kernels/references.hpp"
#include "power_series.hpp"

namespace references {

constexpr long double euler = 0.57721566490153286060651209008240243L;

template <class N>
N exp_of(const N& x) {
  using std::exp;
  return exp(x);
}
template <class N>
N log_of(const N& x) {
  using std::log;
  return log(x);
}
template <class N>
N sin_of(const N& x) {
  using std::sin;
  return sin(x);
}
template <class N>
N cos_of(const N& x) {
  using std::cos;
  return cos(x);
}
template <class N>
N sqrt_of(const N& x) {
  using std::sqrt;
  return sqrt(x);
}

/// The sum of (a_1)_k (a_2)_k ... / ((b_1)_k (b_2)_k ...) z^k / k! (DLMF 16.2.1).
template <class N>
N hypergeometric(const N& z, std::initializer_list<long double> a, std::initializer_list<long double> b) {
  N term = 1, sum = 1;
  for (int n = 0; n < 100; ++n) {
    const long double k = n;
    long double factor = 1 / (k + 1);
    for (const long double v : a) factor *= v + k;
    for (const long double v : b) factor /= v + k;
    term = term * z * factor;
    sum = sum + term;
  }
  return sum;
}

/// The same for 1F1(a; b; z) and 2F1(a, b; c; z), z up to 0.6 of the latter.
template <class N>
N kummer(const N& a, const N& b, const N& z) {
  N term = 1, sum = 1;
  for (int n = 0; n < 60; ++n) {
    const long double k = n;
    term = term * (a + k) * z / ((b + k) * (k + 1));
    sum = sum + term;
  }
  return sum;
}
template <class N>
N gauss(const N& a, const N& b, const N& c, const N& z) {
  N term = 1, sum = 1;
  for (int n = 0; n < 110; ++n) {
    const long double k = n;
    term = term * (a + k) * (b + k) * z / ((c + k) * (k + 1));
    sum = sum + term;
  }
  return sum;
}

/// The integral of f over t > 0, which falls off at least as t^(-3/2): the double exponential rule.
template <class F>
auto half_line_integral(const F& f) {
  constexpr int nodes = 70;
  constexpr long double step = 5.0L / nodes;
  auto sum = f(1.0L) * (pi / 2 * step);
  for (int j = -nodes; j <= nodes; ++j) {
    if (j == 0) continue;
    const long double s = j * step, t = std::exp(pi / 2 * std::sinh(s));
    sum = sum + f(t) * (t * pi / 2 * std::cosh(s) * step);
  }
  return sum;
}
/// The same over 0 < t < 1.
template <class F>
auto unit_integral(const F& f) {
  return half_line_integral([&](long double t) { return f(t / (1 + t)) * (1 / ((1 + t) * (1 + t))); });
}
template <class N>
N root(const N* x, long double t) {
  return sqrt_of((x[0] + t) * (x[1] + t) * (x[2] + t));
}

/// The sum of (q + k)^-s: 40 terms, then Euler's and Maclaurin's formula.
template <class N>
N hurwitz(const N& s, const N& q) {
  N sum = 0;
  for (int k = 0; k < 40; ++k) sum = sum + exp_of(-(s * log_of(q + static_cast<long double>(k))));
  const N w = q + 40.0L, power = exp_of(-(s * log_of(w))), square = w * w;
  const N first = s / w, third = first * (s + 1.0L) * (s + 2.0L) / square,
          fifth = third * (s + 3.0L) * (s + 4.0L) / square, seventh = fifth * (s + 5.0L) * (s + 6.0L) / square;
  return sum +
         power * (w / (s - 1.0L) + 0.5L + first / 12.0L - third / 720.0L + fifth / 30240.0L - seventh / 1209600.0L);
}

/// euler + log(x) + the sum of z^k / (k k!): Ei(x) of z = x, -E_1(x) of z = -x.
template <class N>
N exponential_integral(const N& z, const N& x) {
  return euler + log_of(x) + z * hypergeometric(z, {1, 1}, {2, 2});
}

/// w with w e^w = x, by Newton's steps from a number.
template <class N>
N lambert(const N& x, long double guess) {
  N w = guess;
  for (int i = 0; i < 14; ++i) w = (w * w + x * exp_of(-w)) / (w + 1.0L);
  return w;
}

/// I (sign 1) or J (-1) of order nu (DLMF 10.25.2).
template <class N>
N bessel(const N& nu, const N& x, int sign) {
  const N z = x * x * (0.25L * sign);
  N term = 1, sum = 1;
  for (int k = 1; k < 60; ++k) {
    const long double n = k;
    term = term * z / ((nu + n) * n);
    sum = sum + term;
  }
  return exp_of(nu * log_of(x * 0.5L) - log_gamma(nu + 1.0L)) * sum;
}
/// I (sign 1) or J (-1) of order -nu, 0 < nu < 1.
template <class N>
N negative_bessel(const N& nu, const N& x, int sign) {
  const N z = x * x * (0.25L * sign);
  N term = 1, sum = 1;
  for (int k = 1; k < 60; ++k) {
    const long double n = k;
    term = term * z / ((n - nu) * n);
    sum = sum + term;
  }
  return exp_of(-(nu * log_of(x * 0.5L)) - log_gamma(1.0L - nu)) * sum;
}
/// K and Y of order nu, 0 < nu < 1 (DLMF 10.27.4, 10.2.3).
template <class N>
N bessel_k(const N& nu, const N& x) {
  return (negative_bessel(nu, x, 1) - bessel(nu, x, 1)) / sin_of(nu * pi) * (pi / 2);
}
template <class N>
N bessel_y(const N& nu, const N& x) {
  return (bessel(nu, x, -1) * cos_of(nu * pi) - negative_bessel(nu, x, -1)) / sin_of(nu * pi);
}
/// The same of a whole order.
template <class N>
N whole_bessel(int n, const N& x, int sign) {
  N y = hypergeometric(x * x * (0.25L * sign), {}, {n + 1.0L});
  for (int k = 1; k <= n; ++k) y = y * x * (0.5L / k);
  return y;
}
/// -K_0 (sign 1) or pi / 2 Y_0 (-1): DLMF 10.31.2, 10.8.2.
template <class N>
N second_kind_0(const N& x, int sign) {
  const N z = x * x * (0.25L * sign);
  N term = 1, sum = 0;
  long double harmonic = 0;
  for (int k = 1; k < 60; ++k) {
    harmonic += 1.0L / k;
    term = term * z * (1.0L / k / k);
    sum = sum + term * harmonic;
  }
  return (log_of(x * 0.5L) + euler) * whole_bessel(0, x, sign) - sum;
}
/// K_1 (sign 1) or -pi / 2 Y_1 (-1): DLMF 10.31.1, 10.8.1.
template <class N>
N second_kind_1(const N& x, int sign) {
  const N z = x * x * (0.25L * sign);
  N term = 1, sum = 0;
  long double harmonic = 1;  // H_k + H_(k+1)
  for (int k = 0; k < 60; ++k) {
    sum = sum + term * (harmonic - 2 * euler);
    term = term * z * (1 / ((k + 1.0L) * (k + 2.0L)));
    harmonic += 1 / (k + 1.0L) + 1 / (k + 2.0L);
  }
  return 1.0L / x + (log_of(x * 0.5L) * whole_bessel(1, x, sign) - x * sum * 0.25L) * static_cast<long double>(sign);
}
/// A solution of y'' = x y with these values of y and y' at 0 (DLMF 9.4.1).
template <class N>
N airy(const N& x, long double value, long double slope) {
  const N z = x * x * x * (1 / 9.0L);
  return hypergeometric(z, {}, {2 / 3.0L}) * value + x * hypergeometric(z, {}, {4 / 3.0L}) * slope;
}

}  // namespace references
