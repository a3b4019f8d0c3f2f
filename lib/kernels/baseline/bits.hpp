// Bits of integers, and exponents of floating-point numbers.
#pragma once
#include "kernels/kernels.hpp"

namespace reel::kernels {

enum class BitFunction : std::uint8_t { conjunction, disjunction, exclusive, complement, left, right };

/// in: x, and y except for the complement; integers or, except for shifts, booleans. A shift by a negative count, or by
/// at least the number of bits, gives 0; a right shift of a negative number gives -1.
Loop bitwise(BitFunction f, DType d);
/// in: float32 or float64; out: int32. The exponent of frexp, 0 where the number is not finite.
Loop exponent(DType d);
/// in: x, float32 or float64, and n, int32; out: x 2^n.
Loop scale_by_power(DType d);

}  // namespace reel::kernels
