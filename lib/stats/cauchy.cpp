// The Cauchy distribution.
#include <numbers>
#include <reel/stats/cauchy.hpp>

#include "stats/distribution.hpp"

namespace reel::ops {
namespace {

using std::numbers::pi;

// tan(pi (p - 1/2)) near the median, where p - 1/2 is exact; by the cotangent toward both ends. q is 1 - p.
Lane cauchy_quantile_of(const Lane& p, const Lane& q) {
  const LaneMask low = p<0.25, high = p> 0.75, end = low || high;
  const Lane t = tan(pi * where(low, p, where(high, q, p - 0.5)));
  const Lane cotangent = 1 / where(end, t, 1);
  return where(low, -cotangent, where(high, cotangent, t));
}

Lane cauchy_ppf_of(const Lane& p) { return cauchy_quantile_of(p, 1 - p); }
// Where p is small, tan(pi p) rounds to pi p.
Lane cauchy_ilogcdf_of(const Lane& y) {
  constexpr double far_max = -30;
  const LaneMask far = y < far_max;
  const Lane near = where(far, -1, y);
  return where(far, -exp(where(far, -y, 0)) / pi, cauchy_quantile_of(exp(near), 0. - expm1(near)));
}
// Where |z| > 1, by w = scale / d: derivatives of formulas in z by the scale cancel there.
struct CauchyTail {
  LaneMask far;
  Lane near, d, w;
  explicit CauchyTail(P p) : far(abs(p.z) > 1), near(where(far, 0, p.z)), d(where(far, p.d, p.scale)), w(p.scale / d) {}
};
Lane cauchy_logpdf_of(P p) {
  const CauchyTail t(p);
  return where(t.far, -2 * log_quotient(abs(t.d), p.scale) - log1p(t.w * t.w), -log1p(t.near * t.near)) - log_pi;
}
Lane cauchy_pdf_of(P p) {
  const CauchyTail t(p);
  return where(t.far, t.w / (1 + t.w * t.w) / t.d, 1 / (1 + t.near * t.near) / p.scale) / pi;
}
Lane cauchy_cdf_of(P p) { return arctan2(p.scale, -p.d) / pi; }
DistributionPoint mirror(P p) { return {-p.z, -p.d, p.scale, p.a, p.b}; }
// log(arctan(w) / pi) for small w = -scale / d by the series of log(arctan(w) / w).
Lane cauchy_logcdf_of(P p) {
  constexpr double far_min = 64;  // of -z: the next term, w^10 / 21, is below 5e-20
  const LaneMask lower = p.z < 0, far = p.z < -far_min;
  const Lane d = where(far, p.d, -p.scale), w = p.scale / d, u = w * w;
  const Lane series = u * (-1. / 3 + u * (13. / 90 - u * (251. / 2835 - u * (3551. / 56700))));
  const Lane tail = series - log_quotient(-d, p.scale) - log_pi;
  const DistributionPoint below = {p.z, where(lower, p.d, -p.scale), p.scale, p.a, p.b};
  const DistributionPoint above = {p.z, where(lower, -p.scale, -p.d), p.scale, p.a, p.b};
  return where(far, tail, where(lower, log(cauchy_cdf_of(below)), log1p(-cauchy_cdf_of(above))));
}

// clang-format off
constexpr Distribution cauchy_distribution = {-infinity, infinity, false, 0,
    {cauchy_logpdf_of, cauchy_pdf_of, cauchy_cdf_of, [](P p) { return cauchy_cdf_of(mirror(p)); }, cauchy_logcdf_of, [](P p) { return cauchy_logcdf_of(mirror(p)); }},
    {[](L p, L) { return cauchy_ppf_of(p); }, [](L p, L) { return 0. - cauchy_ppf_of(p); }, [](L y, L) { return cauchy_ilogcdf_of(y); },
     [](L y, L) { return 0. - cauchy_ilogcdf_of(y); }},
    infinity, infinity, true};
// clang-format on

}  // namespace
}  // namespace reel::ops

REEL_DISTRIBUTION_0(cauchy)
