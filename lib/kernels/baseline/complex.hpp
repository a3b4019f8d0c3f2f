// Complex numbers: the holomorphic ops of the pointwise table, and conversions to and from parts.
#pragma once
#include <cstdint>

#include "kernels/pointwise.hpp"

namespace reel::kernels {

// Functions between complex numbers of dtype d and the real numbers that are their parts. in: z; of join: re, im.
enum class ComplexFunction : std::uint8_t { real, imag, abs, angle, conj, join };
Loop complex_function(ComplexFunction f, DType d);
// Sets the loops of the holomorphic ops for the complex types.
void enter_complex(PointwiseKernels& all);

}  // namespace reel::kernels
