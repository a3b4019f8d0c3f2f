// Comparisons, logic and tests of floating-point numbers; bits and exponents. Operands have any strides and broadcast
// to the shape of `out`, which is contiguous and shares no memory with them, and boolean unless it says otherwise.
#pragma once
#include <reel/tensor.hpp>
#include <span>

namespace reel::loops {

/// Of two operands of one dtype.
enum class Relation : std::uint8_t { equal, not_equal, less, less_equal, greater, greater_equal };
/// Of booleans: one for the negation, two for the others.
enum class Connective : std::uint8_t { conjunction, disjunction, exclusive, negation };
/// Of one operand.
enum class FloatClass : std::uint8_t { nan, infinite, finite };

/// Whether there is a kernel: halves have none, complex numbers no order, and only floating-point numbers a class.
bool has_kernel(Relation f, DType d);
bool has_kernel(FloatClass f, DType d);

/// out = f(in...), elementwise.
void pointwise(Relation f, std::span<const Tensor* const> in, const Tensor& out);
void pointwise(Connective f, std::span<const Tensor* const> in, const Tensor& out);
void pointwise(FloatClass f, std::span<const Tensor* const> in, const Tensor& out);

/// Of integers or, but for shifts, of booleans: of one for the complement, else of two of one dtype, which `out` has.
/// Shifts by less than 0, or by as many bits as there are, shift all bits out.
enum class BitFunction : std::uint8_t { conjunction, disjunction, exclusive, complement, left, right };
void bitwise(BitFunction f, std::span<const Tensor* const> in, const Tensor& out);

/// out, int32 = the exponents of x, float32 or float64, as frexp has them; 0 of what is not finite.
void exponents(const Tensor& x, const Tensor& out);
/// out = x 2^n, rounded once; n is int32.
void scale_by_powers(const Tensor& x, const Tensor& n, const Tensor& out);

}  // namespace reel::loops
