// The uniform distribution.
#include <reel/stats/uniform.hpp>

#include "stats/distribution.hpp"

namespace reel::ops {
namespace {

Lane uniform_logcdf_of(P p) {
  const LaneMask lower = p.z < 0.5;
  return where(lower, log_quotient(where(lower, p.d, p.scale), p.scale), log(where(lower, 1, p.z)));
}
// 1 - z; scale - d is exact toward the upper end.
Lane uniform_sf_of(P p) { return where(p.z < 0.5, 1 - p.z, (p.scale - p.d) / p.scale); }
Lane uniform_logsf_of(P p) {
  const LaneMask lower = p.z < 0.5;
  return where(lower, log1p(-where(lower, p.z, 0)), log(where(lower, 1, (p.scale - p.d) / p.scale)));
}

// clang-format off
constexpr Distribution uniform_distribution = {0, 1, true, 0,
    {[](P p) { return 0 * p.z; }, [](P p) { return 0 * p.z + 1; }, [](P p) { return p.z; }, uniform_sf_of, uniform_logcdf_of, uniform_logsf_of},
    {[](L p, L) { return p; }, [](L p, L) { return 1 - p; }, [](L y, L) { return exp(y); }, [](L y, L) { return 0. - expm1(y); }}};
// clang-format on

}  // namespace
}  // namespace reel::ops

REEL_DISTRIBUTION_0(uniform)
