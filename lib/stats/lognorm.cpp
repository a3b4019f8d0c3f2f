// The lognormal distribution of shape s: the logarithm is normal.
#include <reel/stats/lognorm.hpp>

#include "stats/distribution.hpp"
#include "stats/norm.hpp"

namespace reel::ops {
namespace {

// The normal distribution of log(z) / s.
Lane log_by_s(P p) { return log_quotient(p.d, p.scale) / p.a; }
Lane lognorm_ppf_of(const Lane& p, const Lane& s) {
  const LaneMask zero = equal(p, 0);
  return where(zero, 0, exp(s * ndtri(where(zero, 0.5, p))));
}

Lane lognorm_isf_of(const Lane& p, const Lane& s) {
  const LaneMask one = equal(p, 1);
  return where(one, 0, exp(-s * ndtri(where(one, 0.5, p))));
}
Lane lognorm_ilogcdf_of(const Lane& y, const Lane& s) {
  const LaneMask zero = equal(y, -infinity);
  return where(zero, 0, exp(s * normal_quantile_of_log(where(zero, -1, y))));
}

Lane lognorm_ilogsf_of(const Lane& y, const Lane& s) {
  const LaneMask zero = equal(y, 0);
  return where(zero, 0, exp(-s * normal_quantile_of_log(where(zero, -1, y))));
}

// clang-format off
constexpr Distribution lognorm_distribution = {0, infinity, false, 1,
    {[](P p) { return log_normal_density(log_by_s(p)) - log(p.a) - log_quotient(p.d, p.scale); },
     [](P p) { return normal_density(log_by_s(p)) / (p.a * p.z); }, [](P p) { return ndtr(log_by_s(p)); },
     [](P p) { return ndtr(-log_by_s(p)); }, [](P p) { return log_ndtr(log_by_s(p)); }, [](P p) { return log_ndtr(-log_by_s(p)); }},
    {lognorm_ppf_of, lognorm_isf_of, lognorm_ilogcdf_of, lognorm_ilogsf_of}};
// clang-format on

}  // namespace
}  // namespace reel::ops

REEL_DISTRIBUTION_1(lognorm)
