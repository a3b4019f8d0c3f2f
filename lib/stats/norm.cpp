// The normal distribution.
#include "stats/norm.hpp"

#include <numbers>
#include <reel/stats/norm.hpp>

#include "stats/distribution.hpp"

namespace reel::ops {

// In the far tail by Newton's steps from the first terms of its expansion at -inf.
Lane log_ndtr_inverse(const Lane& l) {
  constexpr double root_of_half_pi = 1.25331413731550025121;
  constexpr double tail = -80;     // of l: exp(-80) is normal in float32 as well, and ndtri finds its quantile
  constexpr double inside = -100;  // replaces l above the tail
  constexpr int steps = 5;         // each squares the error, of less than 0.01; one more makes second derivatives right
  const LaneMask far = l < tail;
  const Lane target = where(far, l, inside), twice = -2 * target;
  Lane x = -sqrt(twice - log_2pi - log(twice - log_2pi - log(twice)));
  for (int i = 0; i < steps; ++i) x = x - (log_ndtr(x) - target) * root_of_half_pi * erfcx(-root_of_half * x);
  return where(far, x, ndtri(exp(where(far, -1, l))));
}

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
