// The beta distribution of shapes a and b.
#include "stats/gamma_density.hpp"

namespace reel::ops {
namespace {

Lane beta_logpdf_of(P p) {
  const Lane n = p.a + p.b, rest = where(p.z < 0.5, 1 - p.z, (p.scale - p.d) / p.scale);
  return log_gamma_density(p.a, n * p.z) + log_gamma_density(p.b, n * rest) - log_poisson_at_mean(n) + log(n);
}
Lane beta_exponent(P p) { return p.a - 1; }
constexpr Distribution beta_distribution = of_density(
    0, 1, 2, beta_logpdf_of,
    [](P p) { return density_of(p, beta_logpdf_of, beta_exponent, [](L z, P q) { return (q.b - 1) * log1p(-z); }); }, 1,
    1);

}  // namespace
}  // namespace reel::ops

REEL_DENSITIES_2(beta)
