// A distribution in standard form, for loc 0 and scale 1. place() and quantile_of() apply loc and scale and handle the
// ends of the support; macros define the public functions. where() replaces the operands of a branch that is not taken
// before a formula reads them: in the gradient 0 times infinity would be NaN.
#pragma once
#include <cmath>
#include <reel/stats/distribution.hpp>

#include "ops/elementwise/composed.hpp"
#include "stats/constants.hpp"
#include "stats/samplers.hpp"
#include "tape/observe/observe.hpp"

namespace reel::ops {

// z = d / scale inside the support; a and b are shape parameters, if the distribution has them.
struct DistributionPoint {
  Lane z, d, scale, a, b;
};
using P = const DistributionPoint&;
using L = const Lane&;

enum DistributionFunction : std::size_t { logpdf, pdf, cdf, sf, logcdf, logsf, ppf, isf, ilogcdf, ilogsf };

struct Distribution {
  double lower, upper;
  bool has_lower;  // whether the support contains its lower end
  std::size_t shapes;
  Lane (*functions[ppf])(P p);  // logpdf, pdf, cdf, sf, logcdf, logsf
  // ppf, isf, ilogcdf, ilogsf by the probability or its logarithm, and a.
  Lane (*quantiles[ilogsf + 1 - ppf])(L p, L a) = {};
  // The density is 0 at the lower end for a above the first of these, at the upper end for b above the second; for
  // -infinity always, also of distributions without parameters of shape.
  double vanishes_below = HUGE_VAL, vanishes_above = HUGE_VAL;
  bool pdf_by_scale = false;  // whether pdf is the density of d, not of z
};

/// Operands: x, the parameters of shape, loc, scale. Outside the support and at infinite x a constant with gradient 0;
/// a density also at ends where it is 0. NaN where the scale or a parameter of shape is not above 0.
Lane place(const Distribution& distribution, DistributionFunction kind, const Lane* x);
/// The same operands, p or its logarithm for x. NaN also where p is no probability.
Lane quantile_of(const Distribution& distribution, DistributionFunction kind, const Lane* x);

template <const Distribution& distribution, DistributionFunction kind>
Lane distribution_lane(const Lane* x) {
  return kind < ppf ? place(distribution, kind, x) : quantile_of(distribution, kind, x);
}

// What formulas of several distributions share.

/// log(d / scale), without mixed derivatives that cancel or overflow.
Lane log_quotient(L d, L scale);
/// log(1 - exp(-u)), log_u = log(u): its mixed derivatives keep their digits for small u.
Lane log1mexp_of(L u, L log_u);
/// log(1 - exp(y)).
inline Lane log_complement(L y) { return log1mexp(0. - y); }

}  // namespace reel::ops

// clang-format off
// The public functions of the distribution NAME, given by the constant ops::NAME_distribution in the same file.
// The number is that of parameters of shape. loc and scale are operands.
#define REEL_LANE_FUNCTION(name, kind, ...) {#name "_" #kind, distribution_lane<name##_distribution, kind> __VA_OPT__(,) __VA_ARGS__},
#define REEL_LANE_DENSITIES(name) REEL_LANE_FUNCTION(name, logpdf) REEL_LANE_FUNCTION(name, pdf)
#define REEL_LANE_FUNCTIONS(name) REEL_LANE_DENSITIES(name) \
  REEL_LANE_FUNCTION(name, cdf) REEL_LANE_FUNCTION(name, sf) REEL_LANE_FUNCTION(name, logcdf) REEL_LANE_FUNCTION(name, logsf) \
  REEL_LANE_FUNCTION(name, ppf) REEL_LANE_FUNCTION(name, isf) \
  REEL_LANE_FUNCTION(name, ilogcdf, DType::float64) REEL_LANE_FUNCTION(name, ilogsf, DType::float64)
#define REEL_LANE_OPS(name, functions) \
  namespace reel::ops { namespace { \
  constexpr Composed name##_functions[] = {functions(name)}; \
  constinit const ComposedOps name##_ops(name##_functions); \
  } }
#define REEL_BRACES(...) {__VA_ARGS__}
#define REEL_DEFINE_KIND(name, kind, parameters, arguments) \
  namespace reel { Tensor name##_##kind parameters { return ops::name##_ops.call(ops::kind, REEL_BRACES arguments); } }
#define REEL_DEFINE_DENSITIES(name, parameters, arguments) \
  REEL_DEFINE_KIND(name, logpdf, parameters, arguments) REEL_DEFINE_KIND(name, pdf, parameters, arguments)
#define REEL_DEFINE_ALL(name, parameters, arguments) \
  REEL_DEFINE_DENSITIES(name, parameters, arguments) \
  REEL_DEFINE_KIND(name, cdf, parameters, arguments) REEL_DEFINE_KIND(name, sf, parameters, arguments) \
  REEL_DEFINE_KIND(name, logcdf, parameters, arguments) REEL_DEFINE_KIND(name, logsf, parameters, arguments) \
  REEL_DEFINE_KIND(name, ppf, parameters, arguments) REEL_DEFINE_KIND(name, isf, parameters, arguments) \
  REEL_DEFINE_KIND(name, ilogcdf, parameters, arguments) REEL_DEFINE_KIND(name, ilogsf, parameters, arguments)
#define REEL_SAMPLES(name, parameters, addresses, precision, ...) \
  namespace reel { Tensor name##_rvs parameters { \
    return ops::draw_by_quantile(#name "_rvs", generator, shape, dtype, precision, REEL_BRACES addresses, [&](const Tensor& x) { return name##_ppf(__VA_ARGS__); }); \
  } }

#define REEL_DISTRIBUTION_0(name) \
  REEL_LANE_OPS(name, REEL_LANE_FUNCTIONS) \
  REEL_DEFINE_ALL(name, (const Operand& x, const Operand& loc, const Operand& scale), (&x, &loc, &scale)) \
  REEL_SAMPLES(name, (Generator& generator, const Shape& shape, const Operand& loc, const Operand& scale, DType dtype), (&loc, &scale), dtype, x, loc, scale)
#define REEL_DISTRIBUTION_1(name) \
  REEL_LANE_OPS(name, REEL_LANE_FUNCTIONS) \
  REEL_DEFINE_ALL(name, (const Operand& x, const Operand& a, const Operand& loc, const Operand& scale), (&x, &a, &loc, &scale)) \
  REEL_SAMPLES(name, (Generator& generator, const Shape& shape, const Operand& a, const Operand& loc, const Operand& scale, DType dtype), (&a, &loc, &scale), dtype, x, a, loc, scale)
// The densities alone.
#define REEL_DENSITIES_1(name) \
  REEL_LANE_OPS(name, REEL_LANE_DENSITIES) \
  REEL_DEFINE_DENSITIES(name, (const Operand& x, const Operand& a, const Operand& loc, const Operand& scale), (&x, &a, &loc, &scale))
#define REEL_DENSITIES_2(name) \
  REEL_LANE_OPS(name, REEL_LANE_DENSITIES) \
  REEL_DEFINE_DENSITIES(name, (const Operand& x, const Operand& a, const Operand& b, const Operand& loc, const Operand& scale), (&x, &a, &b, &loc, &scale))
// clang-format on
