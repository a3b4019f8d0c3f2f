// Elementary functions of jets, by their Taylor series, and comparisons of jets: with them a reference written for
// `auto` takes long doubles and jets alike.
#pragma once
#include <concepts>

#include "normal.hpp"
#include "number.hpp"

namespace random_programs {

inline Jet& operator-=(Jet& a, const Jet& b) { return a = a - b; }
inline Jet& operator*=(Jet& a, const Jet& b) { return a = a * b; }
inline Jet& operator/=(Jet& a, const Jet& b) { return a = a / b; }
inline Jet without_derivative(const Jet& x) { return x.value(); }
inline Real value_of(const Jet& x) { return x.v[0]; }
inline bool is_zero(const Jet& x) { return same(x, 0); }
inline Jet size_of(const Jet& x) { return absolute(x); }
inline Jet squared_size(const Jet& x) { return x * x; }
/// The derivatives of x at this value.
inline Jet with_value(Jet x, const Jet& value) {
  x.v[0] = value.v[0], x.e[0] = value.e[0];
  return x;
}
inline Num with_value(const Num& x, const Num& value) { return {with_value(x.re, value.re), x.im}; }
/// x whose error is larger by that of `units` roundings of a number of that size.
inline Jet widened(Jet x, double units, double size) {
  x.e[0] += units * Jet::unit * size;
  return x;
}
inline Jet pow(const Jet& x, Real p) { return chain(x, pow(Series::variable(x.v[0]), p), 8); }

// Of complex numbers. Functions of sizes take their real parts.
template <std::same_as<Num> Z>
Num operator*(const Z& z, Real x) {
  return complex_numbers ? Num(z.re * x, z.im * x) : Num(z.re * x);
}
template <std::same_as<Num> Z>
Num operator/(const Z& z, Real x) {
  return complex_numbers ? Num(z.re / x, z.im / x) : Num(z.re / x);
}
inline Num rounded(const Num& z, double units) { return {rounded(z.re, units), rounded(z.im, units)}; }
inline bool less(const Num& a, const Num& b) { return less(a.re, b.re); }
inline bool same(const Num& a, const Num& b) { return same(a.re, b.re) && same(a.im, b.im); }
inline bool is_zero(const Num& z) { return same(z, Num(0)); }
/// |x| of a number whose imaginary part is a constant 0.
inline Num size_of(const Num& z) {
  bool real = !complex_numbers || (z.im.exact() && z.im.v[0] == 0);
  for (int k = 1; k < Jet::count; ++k) real = real && (!complex_numbers || z.im.v[k] == 0);
  return real ? absolute(z.re) : sqrt(z.re * z.re + z.im * z.im);
}
inline Num squared_size(const Num& z) { return complex_numbers ? z.re * z.re + z.im * z.im : z.re * z.re; }
inline Num sqrt(const Num& size) { return sqrt(size.re); }
inline Num pow(const Num& size, Real p) { return pow(size.re, p); }

/// Ambiguous within error.
inline bool operator<(const Jet& x, const Jet& y) { return less(x, y); }
inline bool operator>(const Jet& x, const Jet& y) { return less(y, x); }

// clang-format off
#define REEL_FUNCTION(name, series) inline Jet name(const Jet& jet) { return smooth(jet, [](const Series& x) -> Series { return series; }); }
REEL_FUNCTION(cbrt_of_positive, pow(x, 1 / 3.0L))
inline Jet cbrt(const Jet& x) { return x.v[0] < 0 ? -cbrt_of_positive(-x) : cbrt_of_positive(x); }
REEL_FUNCTION(exp2, exp(Series(std::log(2.0L)) * x))
REEL_FUNCTION(expm1, expm1(x))
REEL_FUNCTION(log2, log(x) / Series(std::log(2.0L)))
REEL_FUNCTION(log10, log(x) / Series(std::log(10.0L)))
REEL_FUNCTION(log1p, log1p(x))
REEL_FUNCTION(tan, sin(x) / cos(x))
REEL_FUNCTION(asin, integral(std::asin(x.c[0]), pow(Series(1) - x * x, -0.5L), x))
REEL_FUNCTION(acos, integral(std::acos(x.c[0]), Series(-1) * pow(Series(1) - x * x, -0.5L), x))
REEL_FUNCTION(atan, integral(std::atan(x.c[0]), Series(1) / (Series(1) + x * x), x))
REEL_FUNCTION(tanh, (exp(x) - exp(Series(0) - x)) / (exp(x) + exp(Series(0) - x)))
REEL_FUNCTION(asinh, integral(std::asinh(x.c[0]), pow(Series(1) + x * x, -0.5L), x))
REEL_FUNCTION(acosh, integral(std::acosh(x.c[0]), pow(x * x - Series(1), -0.5L), x))
REEL_FUNCTION(atanh, integral(std::atanh(x.c[0]), Series(1) / (Series(1) - x * x), x))
REEL_FUNCTION(erf, erf_series(x))
REEL_FUNCTION(erfc, integral(std::erfc(x.c[0]), Series(-2 / std::sqrt(references::pi)) * exp(Series(0) - x * x), x))
REEL_FUNCTION(lgamma, lgamma(x))
REEL_FUNCTION(digamma_of, polygamma(0, x))
REEL_FUNCTION(sigmoid_of, Series(1) / (Series(1) + exp(Series(0) - x)))
REEL_FUNCTION(softplus_of, log(Series(1) + exp(x)))
REEL_FUNCTION(ndtr_of, normal_cdf(x))
REEL_FUNCTION(log_ndtr_of, log_normal_cdf(x))
REEL_FUNCTION(erfcx_of, erfcx_series(0, x))
#undef REEL_FUNCTION
inline Jet erfinv_of(const Jet& x) { return chain(x, quantile_series(references::erfinv(x.v[0]), std::sqrt(references::pi) / 2, 1), 16); }
inline Jet erfcinv_of(const Jet& x) { return chain(x, quantile_series(references::erfcinv(x.v[0]), -std::sqrt(references::pi) / 2, 1), 16); }
inline Jet ndtri_of(const Jet& x) { return chain(x, quantile_series(references::ndtri(x.v[0]), std::sqrt(2 * references::pi), 0.5L), 16); }
// clang-format on

}  // namespace random_programs
