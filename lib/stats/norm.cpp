// The normal distribution.
#include "stats/norm.hpp"

#include <numbers>

#include "stats/distribution.hpp"

namespace reel::ops {

// Above log(1 / 2) by 1 - exp(y).
Lane normal_quantile_of_log(L y) {
  using std::numbers::ln2;
  const LaneMask upper = y > -ln2, zero = equal(y, -infinity);
  const Lane lower = log_ndtr_inverse(where(upper || zero, -1, y)), above = ndtri(0. - expm1(where(upper, y, -1)));
  return where(zero, -infinity, where(upper, 0. - above, lower));
}

namespace {

// clang-format off
constexpr Distribution norm_distribution = {-infinity, infinity, false, 0,
    {[](P p) { return log_normal_density(p.z); }, [](P p) { return normal_density(p.z); }, [](P p) { return ndtr(p.z); },
     [](P p) { return ndtr(-p.z); }, [](P p) { return log_ndtr(p.z); }, [](P p) { return log_ndtr(-p.z); }},
    {[](L p, L) { return ndtri(p); }, [](L p, L) { return 0. - ndtri(p); }, [](L y, L) { return normal_quantile_of_log(y); },
     [](L y, L) { return 0. - normal_quantile_of_log(y); }}};
// clang-format on

}  // namespace
}  // namespace reel::ops

REEL_DISTRIBUTION_0(norm)
