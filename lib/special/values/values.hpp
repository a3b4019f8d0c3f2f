// Values of special functions in double, by methods that take less time than the general ones: those
// evaluate in long double, on Taylor polynomials too. Derivatives, but the first of gammainc by x, are left to the
// general methods. float32 operands are converted.
#pragma once
#include <cstddef>
#include <limits>
#include <numeric>

#include "special/table.hpp"

namespace reel::kernels::special::values {

/// What a method returns where it does not apply: the general method computes the element.
inline constexpr double left = std::numeric_limits<double>::quiet_NaN();

/// out[i] = f(in[0][i], in[1][i], ...). Where a method does not apply, out[i] is not finite; it may be infinite or NaN
/// as a result, too. `least`: terms below it, relative to their sum, may be left out. n is at most block.
using Values = void (*)(Function f, const double* const* in, double* out, std::ptrdiff_t n, double least);
inline constexpr std::ptrdiff_t block = 256;
/// `least` of float64 and float32: far below the rounding of the result.
inline constexpr double least_of_double = 1e-17, least_of_float = 1e-9;

void incomplete_gamma(Function f, const double* const* in, double* out, std::ptrdiff_t n, double least);
/// Of gammainc or gammaincc, the derivative by x.
void gamma_slope(Function f, const double* const* in, double* out, std::ptrdiff_t n, double least);
void zeta(Function f, const double* const* in, double* out, std::ptrdiff_t n, double least);
void multigammaln(Function f, const double* const* in, double* out, std::ptrdiff_t n, double least);
void polynomial(Function f, const double* const* in, double* out, std::ptrdiff_t n, double least);
void spherical_jn(Function f, const double* const* in, double* out, std::ptrdiff_t n, double least);
void airy_ai(Function f, const double* const* in, double* out, std::ptrdiff_t n, double least);

/// The method for the derivative of f of these orders, or null.
constexpr Values of(Function f, const int* orders) {
  const int variables = signature(f).arguments - signature(f).constants;
  const int total = std::accumulate(orders, orders + variables, 0);
  if (total == 1 && orders[variables - 1] == 1)
    return f == Function::gammainc || f == Function::gammaincc ? gamma_slope : nullptr;
  if (total > 0) return nullptr;
  switch (f) {
    case Function::gammainc:
    case Function::gammaincc:
      return incomplete_gamma;
    case Function::zeta:
      return zeta;
    case Function::multigammaln:
      return multigammaln;
    case Function::legendre:
    case Function::chebyshev_t:
    case Function::chebyshev_u:
    case Function::hermite:
    case Function::hermite_e:
    case Function::laguerre:
      return polynomial;
    case Function::spherical_jn:
      return spherical_jn;
    case Function::airy_ai:
      return airy_ai;
    default:
      return nullptr;
  }
}

/// c_0 + c_1 x + c_2 x^2 + ...
template <std::size_t Size>
double horner(double x, const double (&c)[Size]) {
  double sum = c[Size - 1];
  for (std::size_t k = Size - 1; k-- > 0;) sum = sum * x + c[k];
  return sum;
}

}  // namespace reel::kernels::special::values
