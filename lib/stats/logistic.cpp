// The logistic distribution.
#include <numbers>
#include <reel/stats/logistic.hpp>

#include "stats/distribution.hpp"

namespace reel::ops {
namespace {

using std::numbers::ln2;

// -2 log(2 cosh(z / 2)): for small |z| by sinh(z / 4)^2, which does not cancel.
Lane logistic_logpdf_of(const Lane& z) {
  const LaneMask near = abs(z) < 4;
  const Lane s = sinh(0.25 * where(near, z, 0)), a = abs(where(near, 4, z));
  return where(near, -2 * log1p(2 * s * s) - 2 * ln2, -a - 2 * softplus(-a));
}

// By the sigmoid of -|z|, whose derivatives do not cancel.
Lane logistic_cdf_of(const Lane& z) {
  const LaneMask upper = z > 0;
  const Lane s = sigmoid(where(upper, -z, z));
  return where(upper, 1 - s, s);
}

// log of the sigmoid, by softplus of -|z| for the same reason.
Lane logistic_logcdf_of(const Lane& z) {
  const LaneMask lower = z < 0;
  return where(lower, z, 0) - softplus(where(lower, z, -z));
}

// clang-format off
constexpr Distribution logistic_distribution = {-infinity, infinity, false, 0,
    {[](P p) { return logistic_logpdf_of(p.z); }, [](P p) { return exp(logistic_logpdf_of(p.z)); }, [](P p) { return logistic_cdf_of(p.z); },
     [](P p) { return logistic_cdf_of(-p.z); }, [](P p) { return logistic_logcdf_of(p.z); }, [](P p) { return logistic_logcdf_of(-p.z); }},
    {[](L p, L) { return logit(p); }, [](L p, L) { return 0. - logit(p); }, [](L y, L) { return y - log_complement(y); },
     [](L y, L) { return log_complement(y) - y; }}};
// clang-format on

}  // namespace
}  // namespace reel::ops

REEL_DISTRIBUTION_0(logistic)
