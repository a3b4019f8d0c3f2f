// Functions of the system's mathematical library that no standard names.
#pragma once

namespace reel::os {

/// log |gamma(x)|, without a write to the global signgam; of double with the digits of long double.
double log_gamma(double x) noexcept;
float log_gamma(float x) noexcept;

}  // namespace reel::os
