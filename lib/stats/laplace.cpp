// The Laplace distribution.
#include <numbers>
#include <reel/stats/laplace.hpp>

#include "stats/distribution.hpp"

namespace reel::ops {
namespace {

using std::numbers::ln2;

// exp(z) / 2 below 0, otherwise 1 - exp(-z) / 2.
Lane laplace_cdf_of(const Lane& z) {
  const Lane half = 0.5 * exp(where(z < 0, z, -z));
  return where(z < 0, half, 1 - half);
}
Lane laplace_logcdf_of(const Lane& z) {
  const LaneMask lower = z < 0;
  return where(lower, z - ln2, log1p(-0.5 * exp(where(lower, 0, -z))));
}

Lane laplace_quantile_of_log(const Lane& y) {
  const LaneMask lower = y < -ln2;
  return where(lower, y + ln2, -ln2 - log_complement(where(lower, -ln2, y)));
}

// clang-format off
constexpr Distribution laplace_distribution = {-infinity, infinity, false, 0,
    {[](P p) { return -abs(p.z) - ln2; }, [](P p) { return 0.5 * exp(-abs(p.z)); }, [](P p) { return laplace_cdf_of(p.z); },
     [](P p) { return laplace_cdf_of(-p.z); }, [](P p) { return laplace_logcdf_of(p.z); }, [](P p) { return laplace_logcdf_of(-p.z); }},
    {[](L p, L) { return where(p < 0.5, log(2 * p), -log(2 * (1 - p))); }, [](L p, L) { return where(p < 0.5, -log(2 * p), log(2 * (1 - p))); },
     [](L y, L) { return laplace_quantile_of_log(y); }, [](L y, L) { return 0. - laplace_quantile_of_log(y); }}};
// clang-format on

}  // namespace
}  // namespace reel::ops

REEL_DISTRIBUTION_0(laplace)
