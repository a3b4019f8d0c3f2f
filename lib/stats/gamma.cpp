// The gamma distribution of shape a.
#include "stats/gamma_density.hpp"

namespace reel::ops {
namespace {

Lane gamma_logpdf_of(P p) { return log_gamma_density(p.a, p.z); }
Lane gamma_exponent(P p) { return p.a - 1; }
constexpr Distribution gamma_distribution = of_density(
    0, infinity, 1, gamma_logpdf_of,
    [](P p) { return density_of(p, gamma_logpdf_of, gamma_exponent, [](L z, P) { return -z; }); }, 1);

}  // namespace
}  // namespace reel::ops

REEL_DENSITIES_1(gamma)
