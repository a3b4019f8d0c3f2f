// Numbers with unbounded exponents: products of any length do not overflow or underflow.
#pragma once
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <type_traits>

namespace reel::loops {

/// x = mantissa 2^e, of complex x for the larger part.
inline double split(double x, int& e) { return std::frexp(x, &e); }
inline std::complex<double> split(const std::complex<double>& x, int& e) {
  e = 0;
  const double size = std::max(std::abs(x.real()), std::abs(x.imag()));
  if (!(size > 0) || !std::isfinite(size)) return x;
  static_cast<void>(std::frexp(size, &e));
  return {std::ldexp(x.real(), -e), std::ldexp(x.imag(), -e)};
}
inline double joined(double mantissa, int e) { return std::ldexp(mantissa, e) + 0.0; }  // + 0.0: no -0
inline std::complex<double> joined(const std::complex<double>& mantissa, int e) {
  return {std::ldexp(mantissa.real(), e), std::ldexp(mantissa.imag(), e)};
}

/// The exponent as an int: beyond +-5000, twice the range of float64, values are 0 or infinite.
constexpr int clamped_exponent(std::int64_t exponent) {
  constexpr std::int64_t bound = 5000;
  return static_cast<int>(std::clamp(exponent, -bound, bound));
}

/// mantissa 2^exponent; |mantissa|, or the larger part of a complex one, in [0.5, 1), or 0, or not finite.
template <class Number>
struct BasicScaled {
  Number mantissa{};
  std::int64_t exponent = 0;

  static BasicScaled of(const Number& x) {
    int e = 0;
    const Number mantissa = split(x, e);
    return {mantissa, e};
  }
  Number value() const { return joined(mantissa, clamped_exponent(exponent)); }
  BasicScaled& operator*=(const Number& x) {
    int e = 0;
    mantissa = split(mantissa * x, e);
    exponent += e;
    return *this;
  }
  BasicScaled& operator*=(const BasicScaled& x) {
    exponent += x.exponent;
    return *this *= x.mantissa;
  }
  BasicScaled& operator+=(const BasicScaled& x) {
    if (x.mantissa == Number(0)) return *this;
    if (mantissa == Number(0)) return *this = x;
    const std::int64_t common = std::max(exponent, x.exponent);
    const auto aligned = [&](const BasicScaled& s) { return BasicScaled{s.mantissa, s.exponent - common}.value(); };
    const BasicScaled sum = of(aligned(*this) + aligned(x));
    return *this = {sum.mantissa, sum.exponent + common};
  }
  friend BasicScaled operator*(BasicScaled x, const BasicScaled& y) { return x *= y; }
  friend BasicScaled operator-(const BasicScaled& x) { return {-x.mantissa, x.exponent}; }
};

template <class Number>
bool is_zero(const Number& x) {
  return x == Number(0);
}
template <class Number>
bool is_zero(const BasicScaled<Number>& x) {
  return x.mantissa == Number(0);
}

/// double or std::complex<double>, for the element type T.
template <class T>
using InDouble = std::conditional_t<std::is_floating_point_v<T>, double, std::complex<double>>;

/// The determinant from LU factors (see kernels::getrf).
template <class T>
auto pivot_product(const T* factors, const int* pivots, std::int64_t n) {
  using Number = InDouble<T>;
  BasicScaled<Number> p{1, 0};
  for (std::int64_t i = 0; i < n; ++i) {
    const auto pivot = BasicScaled<Number>::of(static_cast<Number>(factors[i * n + i]));
    p *= pivots[i] == i + 1 ? pivot.mantissa : -pivot.mantissa;
    p.exponent += pivot.exponent;
  }
  return p;
}

}  // namespace reel::loops
