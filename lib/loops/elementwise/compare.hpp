// Comparisons, logic and tests of floating-point numbers. Operands have any strides and broadcast to the shape of
// `out`, which is boolean, contiguous and shares no memory with them.
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

}  // namespace reel::loops
