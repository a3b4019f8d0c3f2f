// The chi-squared distribution: twice a gamma variate of half the degrees of freedom.
#include <numbers>

#include "stats/gamma_density.hpp"

namespace reel::ops {
namespace {

Lane chi2_logpdf_of(P p) { return log_gamma_density(0.5 * p.a, 0.5 * p.z) - std::numbers::ln2; }
Lane chi2_exponent(P p) { return 0.5 * p.a - 1; }
constexpr Distribution chi2_distribution = of_density(
    0, infinity, 1, chi2_logpdf_of,
    [](P p) { return density_of(p, chi2_logpdf_of, chi2_exponent, [](L z, P) { return -0.5 * z; }); }, 2);

}  // namespace
}  // namespace reel::ops

REEL_DENSITIES_1(chi2)
