// Special functions by their power series, of long doubles and of jets, for moderate arguments.
#pragma once
#include <cmath>

#include "../../random/functions.hpp"

namespace references {

/// log Gamma(x), of either number.
inline long double log_gamma(long double x) { return std::lgamma(x); }
inline random_programs::Jet log_gamma(const random_programs::Jet& x) { return random_programs::lgamma(x); }

template <class N>
N log_beta(const N& a, const N& b) {
  return log_gamma(a) + log_gamma(b) - log_gamma(a + b);
}
/// P(a, x): DLMF 8.11.4.
template <class N>
N gammainc(const N& a, const N& x) {
  using std::exp, std::log;
  N term = 1, sum = 1;
  for (int n = 1; n < 80; ++n) {
    term = term * (x / (a + static_cast<long double>(n)));
    sum = sum + term;
  }
  return exp(a * log(x) - x - log_gamma(a + 1.0L)) * sum;
}
inline long double value_of(long double x) { return x; }

/// I_x(a, b): DLMF 8.17.8, beyond 1/2 by 8.17.4.
template <class N>
N betainc(const N& a, const N& b, const N& x) {
  using std::exp, std::log;
  if (value_of(x) > 0.5L) return 1.0L - betainc<N>(b, a, 1.0L - x);
  N term = 1, sum = 1;
  for (int n = 0; n < 160; ++n) {
    const long double k = static_cast<long double>(n);
    term = term * (x * (a + b + k) / (a + (k + 1)));
    sum = sum + term;
  }
  return exp(a * log(x) + b * log(1.0L - x) - log_beta(a, b)) / a * sum;
}
template <class N>
N gamma_density(const N& a, const N& x) {
  using std::exp, std::log;
  return exp((a - 1.0L) * log(x) - x - log_gamma(a));
}
template <class N>
N beta_density(const N& a, const N& b, const N& x) {
  using std::exp, std::log;
  return exp((a - 1.0L) * log(x) + (b - 1.0L) * log(1.0L - x) - log_beta(a, b));
}

/// x in (0, high) where f, which increases, is p.
template <class F>
long double bisected(long double p, long double high, const F& f) {
  long double low = 0;
  for (int i = 0; i < 80; ++i) {
    const long double middle = (low + high) / 2;
    (f(middle) < p ? low : high) = middle;
  }
  return low;
}
inline long double gammaincinv(long double a, long double p) {
  return bisected(p, 40, [&](long double x) { return gammainc(a, x); });
}
inline long double betaincinv(long double a, long double b, long double p) {
  return bisected(p, 1, [&](long double x) { return betainc(a, b, x); });
}

}  // namespace references
