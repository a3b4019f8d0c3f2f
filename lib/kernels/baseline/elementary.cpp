// Elementary functions of complex numbers, most of them by the C library.
#include "kernels/baseline/elementary.hpp"

#include <cmath>
#include <complex>
#include <numbers>

namespace reel::kernels {
namespace {

using Z = std::complex<double>;

// exp(z) - 1, whose real part does not cancel near 0: 1 - cos(y) = 2 sin(y/2)^2.
Z expm1_of(Z z) {
  const double x = z.real(), y = z.imag();
  if (y == 0) return {std::expm1(x), y};
  const double half = std::sin(y / 2);
  return {std::expm1(x) * std::cos(y) - 2 * half * half, std::exp(x) * std::sin(y)};
}

struct DoubleDouble {
  double high, low;
  void add(double x) {
    const double sum = high + x, part = sum - high;
    low += (high - (sum - part)) + (x - part);
    high = sum;
  }
  void add_square(double x) {
    const double square = x * x;
    add(square);
    low += std::fma(x, x, -square);
  }
};
// |1 + z|^2 - 1 = 2 x + x^2 + y^2 may cancel: it is summed in twice the precision.
Z log1p_of(Z z) {
  constexpr double square_max = 1e100;  // numbers whose squares, in twice the precision, are finite
  constexpr double near_zero = 0.5;     // of 1 + z: its logarithm does not cancel there
  const double x = z.real(), y = z.imag(), angle = std::atan2(y, 1 + x);
  if (!(std::abs(x) < square_max && std::abs(y) < square_max) || std::abs(x + 1) + std::abs(y) < near_zero)
    return {std::log(std::hypot(1 + x, y)), angle};
  DoubleDouble excess{2 * x, 0};
  excess.add_square(x);
  excess.add_square(y);
  return {0.5 * std::log1p(excess.high + excess.low), angle};
}

Z scaled(Z z, double factor) { return {z.real() * factor, z.imag() * factor}; }

using Function = Z (*)(Z z);
constexpr Function functions[] = {
    [](Z z) { return std::asin(z); },
    [](Z z) { return std::acos(z); },
    [](Z z) { return std::atan(z); },
    [](Z z) { return std::asinh(z); },
    [](Z z) { return std::acosh(z); },
    [](Z z) { return std::atanh(z); },
    expm1_of,
    log1p_of,
    [](Z z) { return std::exp(scaled(z, std::numbers::ln2)); },
    [](Z z) { return scaled(std::log(z), std::numbers::log2e); },
    [](Z z) { return scaled(std::log(z), std::numbers::log10e); },
};

template <class T>
void run(Function f, const void* z, void* out, std::ptrdiff_t n) {
  const T* from = static_cast<const T*>(z);
  T* to = static_cast<T*>(out);
  for (std::ptrdiff_t i = 0; i < 2 * n; i += 2) {
    const Z y = f({from[i], from[i + 1]});
    to[i] = static_cast<T>(y.real());
    to[i + 1] = static_cast<T>(y.imag());
  }
}

}  // namespace

void elementary(Elementary f, const void* z, void* out, std::ptrdiff_t n, bool wide) {
  (wide ? run<double> : run<float>)(functions[static_cast<std::size_t>(f)], z, out, n);
}

}  // namespace reel::kernels
