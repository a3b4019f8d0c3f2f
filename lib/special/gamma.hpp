// The gamma function, its logarithm and differences of such logarithms, of numbers and of Taylor polynomials.
#pragma once
#include <iterator>

#include "special/taylor.hpp"

namespace reel::kernels::special {

constexpr Real half_log_two_pi = 0.91893853320467274178032973640561764L;
/// From here on Stirling's series has the full precision of long double.
constexpr Real stirling_from = 20;

inline constexpr Real stirling_terms[] = {1 / 12.0L,         -1 / 360.0L,        1 / 1260.0L, -1 / 1680.0L,
                                          1 / 1188.0L,       -691 / 360360.0L,   1 / 156.0L,  -3617 / 122400.0L,
                                          43867 / 244188.0L, -174611 / 125400.0L};
/// lgamma(a) - ((a - 1/2) log a - a + log(2 pi) / 2), a >= stirling_from (DLMF 5.11.1).
template <class N>
N stirling_rest(const N& a) {
  const N inverse = 1 / a, z = inverse * inverse;
  N sum = constant(a, stirling_terms[9]);
  for (int k = 9; k-- > 0;) sum = sum * z + stirling_terms[k];
  return sum * inverse;
}

/// log Gamma(a), a > 0. The absolute error near its zeros is about 1e-18.
template <class N>
N log_gamma(const N& a) {
  N shifted = a, product = constant(a, 1);
  for (; value(shifted) < stirling_from; shifted = shifted + 1) product = product * shifted;
  return (shifted - 0.5L) * log(shifted) - shifted + half_log_two_pi + stirling_rest(shifted) - log(product);
}

/// zeta(k) - 1, k = 2, 3, ...
inline constexpr Real zeta_less_1[] = {
    0.6449340668482264364724L,     0.2020569031595942853997L,      0.082323233711138191516L,
    0.03692775514336992633137L,    0.01734306198444913971452L,     0.008349277381922826839798L,
    0.004077356197944339378685L,   0.002008392826082214417853L,    0.000994575127818085337146L,
    0.0004941886041194645587023L,  0.000246086553308048298638L,    0.0001227133475784891467518L,
    0.00006124813505870482925855L, 0.00003058823630702049355173L,  0.00001528225940865187173257L,
    0.0000076371976378997622736L,  0.000003817293264999839856462L, 0.000001908212716553938925657L,
    9.53962033872796113152e-7L,    4.769329867878064631167e-7L,    2.384505027277329900036e-7L,
    1.192199259653110730678e-7L,   5.960818905125947961244e-8L,    2.980350351465228018606e-8L,
    1.490155482836504123466e-8L,   7.450711789835429491981e-9L,    3.725334024788457054819e-9L,
    1.862659723513049006404e-9L,   9.313274324196681828718e-10L,   4.656629065033784072989e-10L,
    2.328311833676505492002e-10L,  1.164155017270051977593e-10L,   5.820772087902700889251e-11L,
    2.910385044497099686928e-11L};

/// log Gamma(1 + a), a > -1: for |a| <= 1/2 by the series DLMF 5.7.3, with full relative precision near 0.
template <class N>
N log_gamma_1p(const N& a) {
  if (!(std::abs(value(a)) <= 0.5L)) return log_gamma(a + 1);
  constexpr int count = static_cast<int>(std::size(zeta_less_1));
  N sum = constant(a, 0);
  for (int k = count; k-- > 0;) sum = zeta_less_1[k] / static_cast<Real>(k + 2) - a * sum;
  return a * (1 - euler) - log1p(a) + a * a * sum;
}

/// stirling_rest(a + m) - stirling_rest(a), relative to m: Horner's scheme for the difference of two values.
template <class N>
N stirling_rest_change(const N& a, const N& m) {
  const N u = 1 / a, v = 1 / (a + m), apart = -m * u * v, square = v * v, before = u * u, squares = apart * (u + v);
  N sum = constant(a, stirling_terms[9]), change = constant(a, 0);
  for (int k = 9; k-- > 0;) {
    change = change * before + sum * squares;
    sum = sum * square + stirling_terms[k];
  }
  return apart * sum + u * change;
}
/// log(Gamma(a + m) / Gamma(a)) for a >= stirling_from, a + m > 0, without cancellation.
template <class N>
N log_gamma_ratio_far(const N& a, const N& m) {
  return (a + m - 0.5L) * log1p(m / a) + m * log(a) - m + stirling_rest_change(a, m);
}
/// The same for a > 0, a + m > 0, by the recurrence up to where Stirling's series holds.
template <class N>
N log_gamma_ratio(const N& a, const N& m) {
  N shifted = a, product = constant(a, 1), excess = constant(a, 0);  // of (shifted + m) / shifted; less 1
  const bool small = std::abs(value(m)) <= value(a) / 2;             // then derivatives by a are of the order of m
  for (; value(shifted) < stirling_from || value(shifted) + value(m) < stirling_from; shifted = shifted + 1) {
    const N part = small ? m / shifted : shifted / (shifted + m);
    if (small)
      excess = excess + part + excess * part;
    else
      product = product * part;
  }
  return log_gamma_ratio_far(shifted, m) + (small ? -log1p(excess) : log(product));
}

/// log B(a, b), a, b > 0.
template <class N>
N log_beta(const N& a, const N& b) {
  return value(a) < value(b) ? log_gamma(a) - log_gamma_ratio(b, a) : log_gamma(b) - log_gamma_ratio(a, b);
}

/// 1 / Gamma(x), an entire function: for x < 1/2 by reflection, with the argument of the sine reduced exactly.
template <class N>
N reciprocal_gamma(const N& x) {
  if (value(x) >= 0.5L) return exp(-log_gamma(x));
  const Real n = std::nearbyint(value(x));
  const N s = sin_pi(x - n) * (1 / pi) * exp(log_gamma(1 - x));
  return std::fmod(n, 2.0L) == 0 ? s : -s;
}
template <class N>
N gamma_function(const N& x) {
  return value(x) >= 0.5L ? exp(log_gamma(x)) : 1 / reciprocal_gamma(x);
}

}  // namespace reel::kernels::special
