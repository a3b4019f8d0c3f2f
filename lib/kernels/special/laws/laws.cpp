#include "kernels/special/laws/laws.hpp"

#include "kernels/special/arguments.hpp"
#include "kernels/special/incomplete.hpp"

namespace reel::kernels::special {

namespace {

// At x = 0 the logarithm of the lower function is a log(x) plus a function of the parameters, that of the upper one a
// term in x^a.

/// Infinite, with the sign of the k-th derivative of log(x), k >= 0.
Real log_slope_at_zero(int k) { return alternating(k + 1) * infinity; }
/// The upper function at x = 0, where the density of exponent p is `density` for p = 1.
Real upper_at_zero(Real p, Real density, int of_parameters, int k) {
  if (k == 0 || p > k) return 0;
  if (of_parameters > 0 || k > 1) return nan;
  return p < 1 ? -infinity : -density;
}

Real log_gamma_tail(const Arguments& a, bool upper) {
  const Real p = a.at[0], x = a.at[1];
  const int m = a.orders[0], k = a.orders[1];
  if (!(p > 0 && x >= 0) || std::isinf(p)) return nan;
  if (std::isinf(x)) return upper && m + k == 0 ? -infinity : 0;
  if (x > 0) return by_arguments<2>(a, [=](const auto& v, const auto& y) { return log_incomplete_gamma(v, y, upper); });
  if (upper) return upper_at_zero(p, 1, m, k);
  return m < 2 ? log_slope_at_zero(k) : nan;
}

Real log_beta_tail(const Arguments& a, bool upper) {
  const Real p = a.at[0], q = a.at[1], x = a.at[2];
  const int m = a.orders[0] + a.orders[1], k = a.orders[2];
  if (!(p > 0 && q > 0 && x >= 0 && x <= 1) || std::isinf(p) || std::isinf(q)) return nan;
  if (x == 1) {  // I_x(a, b) = 1 - I_(1-x)(b, a)
    const int swapped[] = {a.orders[1], a.orders[0], k};
    return alternating(k) * log_beta_tail({{q, p, 0}, swapped}, !upper);
  }
  if (x > 0 && m + k == 0) return log_incomplete_beta(p, q, x, upper);
  if (x > 0)
    return by_arguments<3>(
        a, [=](const auto& v, const auto& w, const auto& y) { return log_incomplete_beta(v, w, y, upper); });
  if (upper) return upper_at_zero(p, q, m, k);
  return m == 0 || (m == 1 && a.orders[0] == 1) ? log_slope_at_zero(k) : nan;
}

Real evaluate(DistributionFunction f, const Arguments& a) {
  for (std::size_t k = 0; k < arguments_of(f); ++k)
    if (std::isnan(a.at[k])) return nan;
  switch (f) {
    case DistributionFunction::log_gammainc:
      return log_gamma_tail(a, false);
    case DistributionFunction::log_gammaincc:
      return log_gamma_tail(a, true);
    case DistributionFunction::log_betainc:
      return log_beta_tail(a, false);
    default:
      return log_beta_tail(a, true);
  }
}

template <class T>
void evaluate_all(DistributionFunction f, const int* orders, const void* const* in, T* out, std::ptrdiff_t n) {
  Arguments a{{}, orders};
  for (std::ptrdiff_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < arguments_of(f); ++k) a.at[k] = static_cast<const T*>(in[k])[i];
    out[i] = static_cast<T>(evaluate(f, a));
  }
}

}  // namespace

void evaluate(DistributionFunction f, const int* orders, const void* const* in, void* out, std::ptrdiff_t n, DType d) {
  if (d == DType::float32)
    evaluate_all(f, orders, in, static_cast<float*>(out), n);
  else
    evaluate_all(f, orders, in, static_cast<double*>(out), n);
}

}  // namespace reel::kernels::special
