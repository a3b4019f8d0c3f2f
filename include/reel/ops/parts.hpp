// Parts of numbers: the bits of integers, mantissa and exponent of floating-point numbers, magnitude and angle of
// complex numbers, real and imaginary parts along an axis; and glu. Operands broadcast as in NumPy.
#pragma once
#include <reel/api.hpp>
#include <reel/tensor.hpp>

namespace REEL_API reel {

/// Bitwise operations on integers in two's complement, in the dtype that the operands promote to. Of booleans, the
/// logical operation. TypeError for floating dtypes. No gradient.
Tensor bitwise_and(const Operand& x, const Operand& y);
Tensor bitwise_or(const Operand& x, const Operand& y);
Tensor bitwise_xor(const Operand& x, const Operand& y);
Tensor bitwise_not(const Operand& x);
/// left_shift: x 2^n modulo 2^bits. right_shift: the floor of x / 2^n, which keeps the sign. A count that is negative,
/// or at least the number of bits of x, shifts all bits out: the result is 0, or -1 for a right shift of a negative x
/// (NumPy). TypeError for floating dtypes, and if both are booleans. No gradient.
Tensor left_shift(const Operand& x, const Operand& n);
Tensor right_shift(const Operand& x, const Operand& n);

/// x = mantissa 2^exponent. The mantissa is in (-1, -0.5] or [0.5, 1). Where x is 0, infinite or NaN, it is x, and the
/// exponent is 0. The exponent is int32. Floating; integers compute as float64. Gradient to x: that of the mantissa, g
/// 2^-exponent; the exponent has none.
struct Frexp {
  Tensor mantissa, exponent;
};
Frexp frexp(const Operand& x);
/// x 2^n for integers n (TypeError otherwise), rounded once even where 2^n overflows or underflows. float16 and
/// bfloat16 compute in float32, integers x in float64. Gradient: g 2^n to x, none to n.
Tensor ldexp(const Operand& x, const Operand& n);

/// magnitude (cos(angle) + i sin(angle)): complex64 for float32 and narrower, complex128 for float64 and integers.
/// TypeError for a complex operand. Gradient: that of real and imaginary part. To the angle it is 0 where the magnitude
/// is 0.
Tensor polar(const Operand& magnitude, const Operand& angle);
/// as_real: complex x [...] as real numbers [..., 2], the real and the imaginary part; TypeError for a real x.
/// as_complex: the inverse, complex64 for float32 and narrower, complex128 for float64 and integers; TypeError for a
/// complex x, ShapeError unless the last axis has extent 2. Both copy, in the memory order of the elements. Gradient:
/// each is the transpose of the other.
Tensor as_real(const Operand& x);
Tensor as_complex(const Operand& x);

/// The first half a of x along `axis`, times s = sigmoid(b) of the second half b (Dauphin et al. 2017). ShapeError
/// unless the axis has an even extent. Gradient: g s for a, g a s (1 - s) for b.
Tensor glu(const Operand& x, std::int64_t axis = -1);

}  // namespace reel
