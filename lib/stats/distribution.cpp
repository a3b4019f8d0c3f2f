#include "stats/distribution.hpp"

namespace reel::ops {

namespace {

using X = const Lane*;

// scale, or NaN if scale or a shape parameter is not positive.
Lane valid_scale(const Distribution& distribution, X x) {
  LaneMask valid = x[distribution.shapes + 2] > 0;
  for (std::size_t k = 1; k <= distribution.shapes; ++k) valid = valid && x[k] > 0;
  return where(valid, x[distribution.shapes + 2], not_a_number);
}
// power(NaN, 0) is 1: the shape is made NaN too.
Lane valid_shape(L a) { return where(a > 0, a, not_a_number); }

}  // namespace

// Where z is outside the support or infinite, it is replaced by a number inside; by 1 where that is inside, whose
// powers do not overflow.
Lane place(const Distribution& distribution, DistributionFunction kind, X x) {
  const Lane scale = valid_scale(distribution, x), d = x[0] - x[distribution.shapes + 1], z = d / scale;
  LaneMask below = distribution.has_lower ? z < distribution.lower : z <= distribution.lower,
           above = distribution.upper < infinity ? z > distribution.upper : z >= infinity;
  if (kind <= pdf && distribution.vanishes_below < infinity)
    below = below || (equal(z, distribution.lower) && x[1] > distribution.vanishes_below);
  if (kind <= pdf && distribution.vanishes_above < infinity)
    above = above || (equal(z, distribution.upper) && x[2] > distribution.vanishes_above);
  const LaneMask outside = below || above;
  const double replaced = distribution.upper < infinity ? 0.5 : distribution.lower > 0 ? 2 : 1;
  const Lane inside = where(outside, replaced * scale, d);
  const Lane y =
      distribution.functions[kind]({inside / scale, inside, scale, distribution.shapes > 0 ? valid_shape(x[1]) : scale,
                                    distribution.shapes > 1 ? valid_shape(x[2]) : scale});
  constexpr double at_below[] = {-infinity, 0, 0, 1, -infinity, 0}, at_above[] = {-infinity, 0, 1, 0, 0, -infinity};
  const Lane scaled = kind == logpdf ? y - log(scale) : kind == pdf && !distribution.pdf_by_scale ? y / scale : y;
  return where(below, at_below[kind], where(above, at_above[kind], scaled));
}

Lane quantile_of(const Distribution& distribution, DistributionFunction kind, X x) {
  const LaneMask valid = kind >= ilogcdf ? x[0] <= 0 : x[0] >= 0 && x[0] <= 1;
  const Lane p = where(valid, x[0] + 0., not_a_number);  // + 0.: the quantile of -0 is that of 0
  return x[distribution.shapes + 1] +
         valid_scale(distribution, x) *
             distribution.quantiles[kind - ppf](p, distribution.shapes > 0 ? valid_shape(x[1]) : p);
}

// Both numbers by a power of 2 near 1 / scale.
Lane log_quotient(L d, L scale) {
  constexpr double exponent_max = 1000;  // of 1023, with room for the products below
  const Lane unit = exp2(minimum(maximum(-round(log2(scale)), -exponent_max), exponent_max));
  return log(d * unit) - log(scale * unit);
}

// log(u) - u / 2 + u^2 / 24 - u^4 / 2880 + u^6 / 181440 - ... for small u.
Lane log1mexp_of(L u, L log_u) {
  constexpr double series_max = 1. / 64;  // of u: the next term, u^8 / 9676800, is below 4e-22
  const LaneMask small = u < series_max;
  const Lane v = where(small, u, 0), w = v * v;
  return where(small, log_u + w * (1. / 24 - w * (1. / 2880 - w * (1. / 181440))) - 0.5 * v,
               log1mexp(where(small, 1, u)));
}

}  // namespace reel::ops
