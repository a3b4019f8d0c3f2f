// The conversions of float16 and bfloat16 that <reel/dtype.hpp> declares.
#include "kernels/half.hpp"

#include <reel/dtype.hpp>

namespace reel {

float16::float16(float value) noexcept : bits(kernels::float16_of_float(value)) {}
float16::operator float() const noexcept { return kernels::float_of_float16(bits); }

bfloat16::bfloat16(float value) noexcept : bits(kernels::bfloat16_of_float(value)) {}
bfloat16::operator float() const noexcept { return kernels::float_of_bfloat16(bits); }

}  // namespace reel
