// Student's distribution of a degrees of freedom.
#include "stats/gamma_density.hpp"

namespace reel::ops {
namespace {

// lgamma(h + 1/2) - lgamma(h) - log(h) / 2: the difference of two Stirling series, of which only odd powers remain.
Lane half_step_of_lgamma(const Lane& h) {
  const LaneMask is_large = h >= stirling_min;
  const Lane a = 1 / where(is_large, h, stirling_min), s = a * a, b = where(is_large, 1, h);
  Lane sum = half_step_series[6] + half_step_series[7] * s;
  for (int k = 5; k >= 0; --k) sum = half_step_series[k] + sum * s;
  return where(is_large, sum * a, lgamma(b + 0.5) - lgamma(b) - 0.5 * log(b));
}
// log(1 + u^2), without overflow.
Lane log1p_of_square(const Lane& u) {
  const LaneMask far = abs(u) > square_dominates;
  const Lane near = where(far, 0, u);
  return where(far, 2 * log(abs(where(far, u, 1))), log1p(near * near));
}
// (a + 1) log(1 + z^2 / a). For small u^2 = z^2 / a it is z^2 times the series of log(1 + u^2) / u^2, of which the
// derivative by a does not cancel, and log(1 + u^2); the next term is below 1e-19.
Lane log_t_kernel(const Lane& z, const Lane& a) {
  const Lane u = z / sqrt(a);
  const LaneMask near = abs(u) < 0.125;
  const Lane v = where(near, u, 0), s = v * v, w = where(near, z, 0);
  Lane sum = 1. / 9 - s / 10;
  for (int k = 8; k >= 1; --k) sum = 1. / k - sum * s;
  return where(near, w * w * sum + log1p(s), (where(near, 1, a) + 1) * log1p_of_square(where(near, 1, u)));
}
Lane t_logpdf_of(P p) { return half_step_of_lgamma(0.5 * p.a) - log_root_2pi - 0.5 * log_t_kernel(p.z, p.a); }
constexpr Distribution t_distribution =
    of_density(-infinity, infinity, 1, t_logpdf_of, [](P p) { return exp(t_logpdf_of(p)); });

}  // namespace
}  // namespace reel::ops

REEL_DENSITIES_1(t)
