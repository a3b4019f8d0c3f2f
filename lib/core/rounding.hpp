// Rounding errors of the floating dtypes.
#pragma once
#include <reel/dtype.hpp>

namespace reel::detail {

/// Half the distance from 1 to the next number of a floating dtype, or of the parts of a complex one.
constexpr double unit_roundoff(DType d) noexcept {
  return d == DType::float16                            ? 0x1p-11
         : d == DType::bfloat16                         ? 0x1p-8
         : d == DType::float32 || d == DType::complex64 ? 0x1p-24
                                                        : 0x1p-53;
}
/// The distance itself: LAPACK's and NumPy's eps.
constexpr double epsilon(DType d) noexcept { return 2 * unit_roundoff(d); }

}  // namespace reel::detail
