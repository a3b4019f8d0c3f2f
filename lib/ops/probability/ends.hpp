// Numbers that densities and distribution functions take at the ends of their domains.
#pragma once
#include <cmath>
#include <limits>

namespace reel::ops {

// The value where a parameter is out of range, and an end of supports.
inline constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN(), infinity = HUGE_VAL;

}  // namespace reel::ops
