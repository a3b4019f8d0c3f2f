// The functions of a Lane, found by argument-dependent lookup. (Interim: element by element; the vector forms replace these bodies.)
#pragma once
#include "kernels/lane.hpp"

namespace reel::kernels {

#define REEL_INTERIM1(NAME, EXPR)                             \
  template <class T, class I>                                 \
  Lane<T, I> NAME(Lane<T, I> lane) {                          \
    return each([](T x) { return static_cast<T>(EXPR); }, lane); \
  }
#define REEL_INTERIM2(NAME, EXPR)                                        \
  template <class T, class I>                                            \
  Lane<T, I> NAME(Lane<T, I> a, Lane<T, I> b) {                          \
    return each([](T x, T y) { return static_cast<T>(EXPR); }, a, b); \
  }
REEL_INTERIM1(exp, std::exp(x))
REEL_INTERIM1(exp2, std::exp2(x))
REEL_INTERIM1(expm1, std::expm1(x))
REEL_INTERIM1(log, std::log(x))
REEL_INTERIM1(log2, std::log2(x))
REEL_INTERIM1(log10, std::log10(x))
REEL_INTERIM1(log1p, std::log1p(x))
REEL_INTERIM1(sin, std::sin(x))
REEL_INTERIM1(cos, std::cos(x))
REEL_INTERIM1(tan, std::tan(x))
REEL_INTERIM1(arcsin, std::asin(x))
REEL_INTERIM1(arccos, std::acos(x))
REEL_INTERIM1(arctan, std::atan(x))
REEL_INTERIM2(arctan2, std::atan2(x, y))
REEL_INTERIM1(sinh, std::sinh(x))
REEL_INTERIM1(cosh, std::cosh(x))
REEL_INTERIM1(tanh, std::tanh(x))
REEL_INTERIM1(arcsinh, std::asinh(x))
REEL_INTERIM1(arccosh, std::acosh(x))
REEL_INTERIM1(arctanh, std::atanh(x))
REEL_INTERIM1(rsqrt, 1 / std::sqrt(x))
REEL_INTERIM1(cbrt, std::cbrt(x))
REEL_INTERIM1(reciprocal, 1 / x)
REEL_INTERIM1(sign, x > 0 ? T(1) : x < 0 ? T(-1) : x)
REEL_INTERIM1(square, x* x)
REEL_INTERIM2(power, std::pow(x, y))
REEL_INTERIM1(erf, std::erf(x))
REEL_INTERIM1(erfc, std::erfc(x))
REEL_INTERIM1(lgamma, std::lgamma(x))
REEL_INTERIM1(digamma, std::log(x) - 1 / (2 * x))
REEL_INTERIM2(polygamma, x* std::log(y))
REEL_INTERIM1(sigmoid, 1 / (1 + std::exp(-x)))
REEL_INTERIM1(softplus, (x > 0 ? x : T(0)) + std::log1p(std::exp(-std::abs(x))))
REEL_INTERIM2(hypot, std::hypot(x, y))
REEL_INTERIM2(maximum, x != x || x > y ? x : y)
REEL_INTERIM2(minimum, x != x || x < y ? x : y)
REEL_INTERIM1(floor, std::floor(x))
REEL_INTERIM1(ceil, std::ceil(x))
REEL_INTERIM1(round, std::nearbyint(x))
REEL_INTERIM1(trunc, std::trunc(x))
REEL_INTERIM2(floor_divide, std::floor(x / y))
REEL_INTERIM2(mod, x - y * std::floor(x / y))
REEL_INTERIM2(logaddexp, (x > y ? x : y) + std::log1p(std::exp(-std::abs(x - y))))
REEL_INTERIM1(silu, x / (1 + std::exp(-x)))
REEL_INTERIM1(gelu, x * std::erfc(-x * T(0.70710678118654752)) / 2)
REEL_INTERIM1(normal_cdf, std::erfc(-x * T(0.70710678118654752)) / 2)
REEL_INTERIM1(normal_pdf, std::exp(-x * x / 2) * T(0.39894228040143268))
REEL_INTERIM1(selu, x > 0 ? T(1.0507009873554805) * x : T(1.7580993408473766) * std::expm1(x))
REEL_INTERIM2(elu, x > 0 ? x : y * std::expm1(x))
REEL_INTERIM1(softsign, x / (1 + std::abs(x)))
#undef REEL_INTERIM1
#undef REEL_INTERIM2

template <class T, class I>
Mask<T, I> isinf(Lane<T, I> x) {
  return abs(x) == Lane<T, I>(std::numeric_limits<T>::infinity());
}
template <class T, class I>
Mask<T, I> isfinite(Lane<T, I> x) {
  return abs(x) < Lane<T, I>(std::numeric_limits<T>::infinity());
}

}  // namespace reel::kernels
