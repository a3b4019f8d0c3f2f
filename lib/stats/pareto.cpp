// The Pareto distribution of shape b.
#include <reel/stats/pareto.hpp>

#include "stats/distribution.hpp"

namespace reel::ops {
namespace {

Lane pareto_logcdf_of(P p) {
  const Lane l = log(p.z);
  return log1mexp_of(p.a * l, log(p.a) + log(l));
}

// clang-format off
constexpr Distribution pareto_distribution = {1, infinity, true, 1,
    {[](P p) { return log(p.a) - (p.a + 1) * log(p.z); }, [](P p) { return p.a / p.d * power(p.scale / p.d, p.a); },
     [](P p) { return -expm1(-p.a * log(p.z)); }, [](P p) { return power(p.scale / p.d, p.a); }, pareto_logcdf_of,
     [](P p) { return -p.a * log(p.z); }},
    {[](L p, L b) { return exp(-log1p(-p) / b); }, [](L p, L b) { return exp(-log(p) / b); }, [](L y, L b) { return exp(-log_complement(y) / b); },
     [](L y, L b) { return exp(-y / b); }},
    infinity, infinity, true};
// clang-format on

}  // namespace
}  // namespace reel::ops

REEL_DISTRIBUTION_1(pareto)
