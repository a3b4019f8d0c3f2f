// Complex<T>: one complex number with the functions that the holomorphic definitions of the table call. Arithmetic is
// NumPy's. A product is the textbook formula, which does not recover infinities from NaN. A quotient is Smith's method,
// which does not overflow on the way. 0**y is 0, 1 or NaN. Other functions are the C library's, on principal branches,
// in double.
#pragma once
#include <cmath>
#include <complex>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace reel::kernels {

// The result of a comparison, with functions that argument-dependent lookup finds.
struct Truth {
  bool v;
  friend constexpr Truth logical_and(Truth a, Truth b) { return {a.v && b.v}; }
  friend constexpr Truth logical_or(Truth a, Truth b) { return {a.v || b.v}; }
};

template <std::floating_point T>
struct Complex {
  T re, im;

  Complex() = default;
  constexpr Complex(T real, T imag) : re(real), im(imag) {}
  template <class C>
  requires std::is_arithmetic_v<C>
  constexpr Complex(C c) : re(static_cast<T>(c)), im(0) {}

  friend constexpr Complex operator+(Complex a, Complex b) { return {a.re + b.re, a.im + b.im}; }
  friend constexpr Complex operator-(Complex a, Complex b) { return {a.re - b.re, a.im - b.im}; }
  friend constexpr Complex operator-(Complex a) { return {-a.re, -a.im}; }
  friend constexpr Complex operator*(Complex a, Complex b) {
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
  }
  friend Complex operator/(Complex a, Complex b) {
    const T across = std::abs(b.re), up = std::abs(b.im);
    if (across == 0 && up == 0) return {a.re / across, a.im / across};
    if (across >= up) {
      const T ratio = b.im / b.re, divisor = b.re + b.im * ratio;
      return {(a.re + a.im * ratio) / divisor, (a.im - a.re * ratio) / divisor};
    }
    const T ratio = b.re / b.im, divisor = b.im + b.re * ratio;
    return {(a.re * ratio + a.im) / divisor, (a.im * ratio - a.re) / divisor};
  }

  friend constexpr bool operator==(Complex a, Complex b) { return (a.re == b.re) & (a.im == b.im); }
  friend constexpr bool operator!=(Complex a, Complex b) { return (a.re != b.re) | (a.im != b.im); }
  friend constexpr Truth equal(Complex a, Complex b) { return {a == b}; }
  friend constexpr Complex where(Truth c, Complex a, Complex b) { return c.v ? a : b; }

  friend Complex reciprocal(Complex a) {
    if (std::isinf(a.re) && std::isinf(a.im)) return {std::copysign(T(0), a.re), -std::copysign(T(0), a.im)};
    return Complex(1) / a;
  }
  friend Complex sqrt(Complex a) { return of(std::sqrt(wide(a))); }
  friend Complex exp(Complex a) { return of(std::exp(wide(a))); }
  friend Complex log(Complex a) { return of(std::log(wide(a))); }
  friend Complex sin(Complex a) { return of(std::sin(wide(a))); }
  friend Complex cos(Complex a) { return of(std::cos(wide(a))); }
  friend Complex tan(Complex a) { return of(std::tan(wide(a))); }
  friend Complex sinh(Complex a) { return of(std::sinh(wide(a))); }
  friend Complex cosh(Complex a) { return of(std::cosh(wide(a))); }
  friend Complex tanh(Complex a) { return of(std::tanh(wide(a))); }
  friend Complex power(Complex a, Complex b) {
    if (b == Complex(0)) return 1;
    if (a == Complex(0)) {
      constexpr T nan = std::numeric_limits<T>::quiet_NaN();
      return b.re > 0 ? Complex(0) : Complex(nan, nan);
    }
    if (b.im == 0 && b.re == std::trunc(b.re) && std::abs(b.re) < 100) {
      const auto n = static_cast<int>(b.re);
      const Complex<double> p = raised({static_cast<double>(a.re), static_cast<double>(a.im)}, n < 0 ? -n : n);
      const Complex<double> result = n < 0 ? reciprocal(p) : p;
      return {static_cast<T>(result.re), static_cast<T>(result.im)};
    }
    return of(std::pow(wide(a), wide(b)));
  }

 private:
  using Wide = std::complex<double>;
  static Wide wide(Complex a) { return {static_cast<double>(a.re), static_cast<double>(a.im)}; }
  static Complex of(Wide a) { return {static_cast<T>(a.real()), static_cast<T>(a.imag())}; }
  // a to the power n >= 1 by squaring.
  static constexpr Complex<double> raised(Complex<double> a, int n) {
    Complex<double> result = 1;
    for (bool first = true; n != 0; n >>= 1, a = a * a)
      if ((n & 1) != 0) {
        result = first ? a : result * a;
        first = false;
      }
    return result;
  }
};

}  // namespace reel::kernels
