// Bits of integers, and exponents of floating-point numbers.
#pragma once
#include "kernels/functions.hpp"
#include "kernels/loop.hpp"

namespace reel::kernels {

/// in: x, and y except for the complement; integers or, except for shifts, booleans. A shift by a negative count, or by
/// at least the number of bits, gives 0; a right shift of a negative number gives -1.
Loop bitwise(BitFunction f, DType d);
/// The mantissas and exponents of frexp of n numbers, float32 or float64; the exponent is 0 where the number is not
/// finite.
void split_numbers(DType d, const void* x, std::ptrdiff_t n, void* mantissa, std::int32_t* exponent);
/// in: x, float32 or float64, and n, int32; out: x 2^n.
Loop scale_by_power(DType d);

}  // namespace reel::kernels
