// The Gumbel distribution of maxima.
#include <reel/stats/gumbel_r.hpp>

#include "stats/distribution.hpp"

namespace reel::ops {
namespace {

// -z - exp(-z): about its maximum at 0 by -1 - z^2 / 2 + z^3 / 6 - ..., whose derivatives do not cancel.
Lane gumbel_logpdf_of(const Lane& z) {
  constexpr double series_max = 0.5;  // of |z|
  constexpr int last_power = 17;      // the next term, z^18 / 18!, is below 1e-21
  const LaneMask near = abs(z) < series_max;
  const Lane inside = where(near, z, 0), outside = where(near, 1, z);
  Lane series = 0 * inside + 1;
  for (int k = last_power; k > 2; --k) series = 1 - inside / k * series;
  return where(near, -1 - 0.5 * inside * inside * series, -outside - exp(-outside));
}
// The z below which exp(-exp(-z)) is 0 in every dtype: exp(20) is above 4e8.
constexpr double gumbel_zero_max = -20;
Lane gumbel_exp_of(const Lane& z) { return exp(where(z < gumbel_zero_max, -gumbel_zero_max, -z)); }
Lane gumbel_pdf_of(const Lane& z) { return exp(gumbel_logpdf_of(where(z < gumbel_zero_max, gumbel_zero_max, z))); }
Lane gumbel_logsf_of(const Lane& z) {
  constexpr double tail_only = 40;  // of z: log(1 - exp(-u)), u = exp(-z) below 5e-18, rounds to -z
  const LaneMask far = z > tail_only;
  return where(far, -z, log1mexp(gumbel_exp_of(where(far, 0, z))));
}

// -log(-log(1 - exp(y))). Far out 1 - exp(y) rounds to 1: -log(1 - p) = p (1 + p / 2).
Lane gumbel_ilogsf_of(const Lane& y, const Lane&) {
  constexpr double far_max = -40;
  const LaneMask far = y < far_max;
  return where(far, -y, -log(0. - log_complement(where(far, -1, y))));
}

// clang-format off
constexpr Distribution gumbel_r_distribution = {-infinity, infinity, false, 0,
    {[](P p) { return gumbel_logpdf_of(p.z); }, [](P p) { return gumbel_pdf_of(p.z); }, [](P p) { return exp(-gumbel_exp_of(p.z)); },
     [](P p) { return -expm1(-gumbel_exp_of(p.z)); }, [](P p) { return -exp(-p.z); }, [](P p) { return gumbel_logsf_of(p.z); }},
    {[](L p, L) { return -log(0. - log(p)); }, [](L p, L) { return -log(0. - log1p(-p)); }, [](L y, L) { return -log(0. - y); },
     gumbel_ilogsf_of}};
// clang-format on

}  // namespace
}  // namespace reel::ops

REEL_DISTRIBUTION_0(gumbel_r)
