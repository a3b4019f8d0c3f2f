// A distribution in standard form, for loc 0 and scale 1, and the lane functions that add both.
#pragma once
#include <cmath>

#include "ops/elementwise/composed.hpp"

namespace reel::ops {

// z = d / scale inside the support; a and b are shape parameters, if the distribution has them.
struct LawPoint {
  Lane z, d, scale, a, b;
};

enum LawFunction : std::size_t { logpdf, pdf, cdf, logcdf, sf, logsf, placed_functions, ppf = placed_functions };

struct Law {
  double lower, upper;
  bool has_lower;  // whether the support contains its lower end
  std::size_t shapes;
  Lane (*functions[placed_functions])(const LawPoint& p);
  Lane (*quantile)(const Lane& p, const Lane& a) = nullptr;
  // The density is 0 at the lower end for a above the first of these, at the upper end for b above the second.
  double vanishes_below = HUGE_VAL, vanishes_above = HUGE_VAL;
  bool pdf_by_scale = false;  // whether pdf is the density of d, not of z
};

/// Operands: x, the parameters of shape, loc, scale. Outside the support and at infinite x a constant with gradient 0;
/// a density also at ends where it is 0. NaN where the scale or a parameter of shape is not above 0.
Lane place(const Law& law, LawFunction kind, const Lane* x);

template <const Law& law, LawFunction kind>
Lane placed(const Lane* x) {
  return place(law, kind, x);
}

}  // namespace reel::ops
