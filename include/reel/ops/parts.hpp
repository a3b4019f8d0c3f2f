// Parts of numbers: the bits of integers, mantissa and exponent of floating-point numbers, magnitude and angle of
// complex ones, and their parts as an axis; and the two halves of a gated linear unit. Operands broadcast as in NumPy.
#pragma once
#include <reel/tensor.hpp>

namespace [[gnu::visibility("default")]] reel {

// Bits of integers in two's complement, in the dtype that the operands promote to; of booleans, their logic. TypeError
// for floating dtypes. No gradient.
Tensor bitwise_and(const Operand& x, const Operand& y);
Tensor bitwise_or(const Operand& x, const Operand& y);
Tensor bitwise_xor(const Operand& x, const Operand& y);
Tensor bitwise_not(const Operand& x);
/// x 2^n modulo 2^bits; and the floor of x / 2^n, which keeps the sign. Counts that are negative, or that many as x has
/// bits or more, shift all bits out: 0, and -1 of a negative x to the right (NumPy). TypeError for booleans alone too.
/// No gradient.
Tensor left_shift(const Operand& x, const Operand& n);
Tensor right_shift(const Operand& x, const Operand& n);

/// x = mantissa 2^exponent. The mantissa is in (-1, -0.5] or [0.5, 1), or x itself where that is 0, infinite or NaN;
/// the exponent int32, and 0 there. Floating; integers as float64. Gradient: g 2^-exponent to x; none of the exponent.
struct Frexp {
  Tensor mantissa, exponent;
};
Frexp frexp(const Operand& x);
/// x 2^n of integers n, rounded once, also where 2^n is no number; halves as in float32. Floating; integers x as
/// float64. Gradient: g 2^n to x, none to n. TypeError for other n.
Tensor ldexp(const Operand& x, const Operand& n);

/// magnitude (cos(angle) + i sin(angle)): complex64 of float32 or less, complex128 of float64 and integers. TypeError
/// for a complex operand. Gradient: that of real and imaginary part; the angle's is 0 where the magnitude is.
Tensor polar(const Operand& magnitude, const Operand& angle);
/// Complex x [...] as real numbers [..., 2], real and imaginary part; and back: complex64 of float32 or less,
/// complex128 of float64 and integers. Copies, in the order that the elements have in memory. TypeError for a real x,
/// back for a complex one; ShapeError unless the last axis then has extent 2. Gradient: each is the other's transpose.
Tensor as_real(const Operand& x);
Tensor as_complex(const Operand& x);

/// The first half of x along `axis`, times the sigmoid of the second (Dauphin et al. 2017). ShapeError unless the axis
/// has an even extent.
Tensor glu(const Operand& x, std::int64_t axis = -1);

}  // namespace reel
