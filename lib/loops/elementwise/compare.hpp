// Comparisons, logic and tests of floating-point numbers; bits and exponents. Operands have any strides and broadcast
// to the shape of `out`, which is contiguous, shares no memory with them, and is boolean unless stated otherwise.
#pragma once
#include <reel/tensor.hpp>
#include <span>

namespace reel::loops {

/// Two operands of one dtype.
enum class Relation : std::uint8_t { equal, not_equal, less, less_equal, greater, greater_equal };
/// Boolean operands: one for the negation, otherwise two.
enum class Connective : std::uint8_t { conjunction, disjunction, exclusive, negation };
/// One operand.
enum class FloatClass : std::uint8_t { nan, infinite, finite };

/// Whether there is a kernel. float16 and bfloat16 have none; complex numbers have no order; only floating-point
/// numbers have classes.
bool has_kernel(Relation f, DType d);
bool has_kernel(FloatClass f, DType d);

/// out = f(in...), elementwise.
void pointwise(Relation f, std::span<const Tensor* const> in, const Tensor& out);
void pointwise(Connective f, std::span<const Tensor* const> in, const Tensor& out);
void pointwise(FloatClass f, std::span<const Tensor* const> in, const Tensor& out);

/// Functions of the bits of integers, and of booleans except for shifts. complement has one operand. The others have
/// two of one dtype, which is also that of `out`. Shifts by a negative count, or by at least the number of bits, shift
/// all bits out.
enum class BitFunction : std::uint8_t { conjunction, disjunction, exclusive, complement, left, right };
void bitwise(BitFunction f, std::span<const Tensor* const> in, const Tensor& out);

/// x = mantissa 2^exponent as of frexp, for float32 or float64 x; the exponents are int32, 0 where x is not finite.
void split_numbers(const Tensor& x, const Tensor& mantissa, const Tensor& exponent);
/// out = x 2^n, rounded once; n is int32.
void scale_by_powers(const Tensor& x, const Tensor& n, const Tensor& out);

}  // namespace reel::loops
