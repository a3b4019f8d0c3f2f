// The exponential distribution.
#include <reel/stats/expon.hpp>

#include "stats/distribution.hpp"

namespace reel::ops {
namespace {

// clang-format off
constexpr Distribution expon_distribution = {0, infinity, true, 0,
    {[](P p) { return -p.z; }, [](P p) { return exp(-p.z); }, [](P p) { return -expm1(-p.z); }, [](P p) { return exp(-p.z); },
     [](P p) { return log1mexp_of(p.z, log_quotient(p.d, p.scale)); }, [](P p) { return -p.z; }},
    {[](L p, L) { return -log1p(-p); }, [](L p, L) { return 0. - log(p); }, [](L y, L) { return 0. - log_complement(y); },
     [](L y, L) { return 0. - y; }}};
// clang-format on

}  // namespace
}  // namespace reel::ops

REEL_DISTRIBUTION_0(expon)
