// Numbers that densities, distribution functions and samples share.
#pragma once
#include <cmath>
#include <limits>

namespace reel::ops {

// The value where a parameter is out of range, and an end of supports.
inline constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN(), infinity = HUGE_VAL;

inline constexpr double log_2pi = 1.83787706640934548356, log_root_2pi = log_2pi / 2, log_pi = 1.14472988584940017414;

inline constexpr double root_of_half = 0.70710678118654752440;

/// lgamma(a) minus Stirling's approximation, in 1 / a, 1 / a^3, ... (DLMF 5.11.1). The first omitted term is below
/// 3e-17 for a from stirling_min on.
inline constexpr double stirling_series[] = {1. / 12,   -1. / 360,      1. / 1260, -1. / 1680,
                                             1. / 1188, -691. / 360360, 1. / 156};
inline constexpr double stirling_min = 10;
/// lgamma(a + 1/2) - lgamma(a) - log(a) / 2 in the same powers; the first omitted term is below 4e-18.
inline constexpr double half_step_series[] = {-1. / 8,      1. / 192,      -1. / 640,       17. / 14336,
                                              -31. / 18432, 691. / 180224, -5461. / 425984, 929569. / 15728640};

/// |u| from which on 1 + u^2 rounds to u^2 in every dtype: above 2^26.5.
inline constexpr double square_dominates = 1e8;

}  // namespace reel::ops
