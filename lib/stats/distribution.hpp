// A distribution in standard form, for loc 0 and scale 1, and the lane functions that add both.
#pragma once
#include <cmath>

#include "ops/elementwise/composed.hpp"

namespace reel::ops {

// z = d / scale inside the support; a and b are shape parameters, if the distribution has them.
struct DistributionPoint {
  Lane z, d, scale, a, b;
};

enum DistributionFunction : std::size_t {
  logpdf,
  pdf,
  cdf,
  logcdf,
  sf,
  logsf,
  placed_functions,
  ppf = placed_functions,
  isf,
  ilogcdf,
  ilogsf,
  functions_of_distribution
};

struct Distribution {
  double lower, upper;
  bool has_lower;  // whether the support contains its lower end
  std::size_t shapes;
  Lane (*functions[placed_functions])(const DistributionPoint& p);
  // By p: the probability of at most z, of more than z, or the logarithm of either.
  Lane (*quantiles[functions_of_distribution - ppf])(const Lane& p, const Lane& a) = {};
  // The density is 0 at the lower end for a above the first of these, at the upper end for b above the second.
  double vanishes_below = HUGE_VAL, vanishes_above = HUGE_VAL;
  bool pdf_by_scale = false;  // whether pdf is the density of d, not of z
};

/// Operands: x, the parameters of shape, loc, scale. Outside the support and at infinite x a constant with gradient 0;
/// a density also at ends where it is 0. NaN where the scale or a parameter of shape is not above 0.
Lane place(const Distribution& distribution, DistributionFunction kind, const Lane* x);

/// x with log_ndtr(x) = l.
Lane log_ndtr_inverse(const Lane& l);

template <const Distribution& distribution, DistributionFunction kind>
Lane placed(const Lane* x) {
  return place(distribution, kind, x);
}

}  // namespace reel::ops
