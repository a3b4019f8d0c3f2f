// Series of the normal distribution's functions.
#pragma once
#include "../kernels/references.hpp"
#include "number.hpp"

namespace random_programs {

inline Series erf_series(const Series& x) {
  return integral(std::erf(x.c[0]), Series(2 / std::sqrt(references::pi)) * exp(Series(0) - x * x), x);
}
inline Series normal_cdf(const Series& x) {
  return integral(0.5L * std::erfc(-x.c[0] / std::sqrt(2.0L)),
                  Series(1 / std::sqrt(2 * references::pi)) * exp(Series(-0.5L) * x * x), x);
}
// Where the function is close to 1, the logarithm comes from the other tail.
inline Series log_normal_cdf(const Series& x) {
  Series y = log(normal_cdf(x));
  if (x.c[0] > 0) y.c[0] = std::log1p(-0.5L * std::erfc(x.c[0] / std::sqrt(2.0L)));
  return y;
}
// z with z' = factor e^(square z^2): an inverse of a distribution function, where its value is known.
inline Series quantile_series(Real value, Real factor, Real square) {
  Series z(value);
  for (int k = 0; k + 1 < Series::terms; ++k)
    z.c[static_cast<std::size_t>(k + 1)] =
        factor * exp(Series(square) * z * z).c[static_cast<std::size_t>(k)] / static_cast<Real>(k + 1);
  return z;
}
// The n-th derivative of erfcx.
inline Series erfcx_series(int n, const Series& x) {
  Series y;
  Real factorial = 1;
  for (int k = 0; k < Series::terms; ++k) {
    if (k > 0) factorial *= static_cast<Real>(k);
    const Real derivative = n + k == 0 ? references::erfcx(x.c[0]) : references::erfcx_derivative(n + k, x.c[0]);
    y.c[static_cast<std::size_t>(k)] = derivative / factorial;
  }
  return y;
}

}  // namespace random_programs
