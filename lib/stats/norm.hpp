// The standard normal distribution in lanes, for distributions made of it.
#pragma once
#include "ops/elementwise/composed.hpp"
#include "stats/constants.hpp"

namespace reel::ops {

inline Lane normal_density(const Lane& z) { return 0.39894228040143267794 * exp(-0.5 * z * z); }  // 1 / sqrt(2 pi)
inline Lane log_normal_density(const Lane& z) { return -0.5 * z * z - log_root_2pi; }
/// x with log_ndtr(x) = l.
Lane log_ndtr_inverse(const Lane& l);
/// The quantile of exp(y).
Lane normal_quantile_of_log(const Lane& y);

}  // namespace reel::ops
