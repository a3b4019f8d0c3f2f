// Bits of integers, and exponents of floating-point numbers.
#pragma once
#include "kernels/kernels.hpp"

namespace reel::kernels {

enum class BitFunction : std::uint8_t { conjunction, disjunction, exclusive, complement, left, right };

/// in: x, and y but for the complement, of integers or, but for shifts, booleans. A shift by less than 0, or by as many
/// bits as there are, gives 0, or -1 of a negative number to the right.
Loop bitwise(BitFunction f, DType d);
/// in: float32 or float64; out: int32. The exponent of frexp, 0 where the number is not finite.
Loop exponent(DType d);
/// in: x, float32 or float64, and n, int32; out: x 2^n.
Loop scale_by_power(DType d);

}  // namespace reel::kernels
