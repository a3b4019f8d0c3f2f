// The Weibull distribution of minima, of shape c.
#include <reel/stats/weibull_min.hpp>

#include "stats/distribution.hpp"

namespace reel::ops {
namespace {

// z^c, and c log(z), which predicts underflow of z^c and of exp(-z^c).
struct WeibullPower {
  static constexpr double underflow_min = 7;  // of c log(z): exp(-exp(7)) is 0 in every dtype
  LaneMask far;
  Lane z, logarithm, u;
  explicit WeibullPower(P p)
      : far(p.a * log(p.z) > underflow_min),
        z(where(far, 1, p.z)),
        logarithm(p.a * log_quotient(where(far, p.scale, p.d), p.scale)),
        u(power(z, p.a)) {}
};
Lane weibull_logpdf_of(P p) { return log(p.a) + xlogy(p.a - 1, p.z) - power(p.z, p.a); }
Lane weibull_pdf_of(P p) {
  const WeibullPower w(p);
  return where(w.far, 0, p.a * power(w.z, p.a - 1) * exp(-w.u));
}
Lane weibull_logcdf_of(P p) {
  const WeibullPower w(p);
  return where(w.far, 0, log1mexp_of(w.u, w.logarithm));
}

// clang-format off
constexpr Distribution weibull_min_distribution = {0, infinity, true, 1,
    {weibull_logpdf_of, weibull_pdf_of, [](P p) { const WeibullPower w(p); return where(w.far, 1, -expm1(-w.u)); },
     [](P p) { const WeibullPower w(p); return where(w.far, 0, exp(-w.u)); }, weibull_logcdf_of, [](P p) { return -power(p.z, p.a); }},
    {[](L p, L c) { return power(-log1p(-p), 1 / c); }, [](L p, L c) { return power(0. - log(p), 1 / c); },
     [](L y, L c) { return power(0. - log_complement(y), 1 / c); }, [](L y, L c) { return power(0. - y, 1 / c); }}, 1};
// clang-format on

}  // namespace
}  // namespace reel::ops

REEL_DISTRIBUTION_1(weibull_min)
