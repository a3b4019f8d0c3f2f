// Bounds of what special functions take.
#pragma once
#include <cstddef>

namespace reel::kernels::special {

inline constexpr std::size_t arguments_max = 4;

/// The product of (order + 1) over the arguments of a derivative is below this bound.
inline constexpr int coefficients_max = 64;

}  // namespace reel::kernels::special
