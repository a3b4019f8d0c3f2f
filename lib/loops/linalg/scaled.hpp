// Numbers with unbounded exponents: products of any length neither overflow nor underflow on the way.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>

namespace reel::loops {

/// mantissa 2^exponent; |mantissa| in [0.5, 1), or 0, or not finite.
struct Scaled {
  double mantissa = 0;
  std::int64_t exponent = 0;

  static Scaled of(double x) {
    int e = 0;
    const double mantissa = std::frexp(x, &e);
    return {mantissa, e};
  }
  double value() const {
    return std::ldexp(mantissa, static_cast<int>(std::clamp<std::int64_t>(exponent, -5000, 5000))) +
           0.0;  // + 0.0: no -0
  }
  Scaled& operator*=(double x) {
    int e = 0;
    mantissa = std::frexp(mantissa * x, &e);
    exponent += e;
    return *this;
  }
  Scaled& operator*=(const Scaled& x) {
    exponent += x.exponent;
    return *this *= x.mantissa;
  }
  Scaled& operator+=(const Scaled& x) {
    if (x.mantissa == 0) return *this;
    if (mantissa == 0) return *this = x;
    const std::int64_t common = std::max(exponent, x.exponent);
    const auto aligned = [&](const Scaled& s) { return Scaled{s.mantissa, s.exponent - common}.value(); };
    const Scaled sum = of(aligned(*this) + aligned(x));
    return *this = {sum.mantissa, sum.exponent + common};
  }
  friend Scaled operator*(Scaled x, const Scaled& y) { return x *= y; }
  friend Scaled operator-(const Scaled& x) { return {-x.mantissa, x.exponent}; }
};

inline bool is_zero(double x) { return x == 0; }
inline bool is_zero(const Scaled& x) { return x.mantissa == 0; }

/// The determinant from LU factors (see kernels::getrf).
template <class T>
Scaled pivot_product(const T* factors, const int* pivots, std::int64_t n) {
  Scaled p{1, 0};
  for (std::int64_t i = 0; i < n; ++i) {
    const Scaled pivot = Scaled::of(static_cast<double>(factors[i * n + i]));
    p *= pivots[i] == i + 1 ? pivot.mantissa : -pivot.mantissa;
    p.exponent += pivot.exponent;
  }
  return p;
}

}  // namespace reel::loops
