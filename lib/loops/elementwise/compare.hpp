// Comparisons, logic and tests of floating-point numbers; bits and exponents. Operands have any strides and broadcast
// to the shape of `out`, which is contiguous, shares no memory with them, and is boolean unless stated otherwise.
#pragma once
#include <reel/tensor.hpp>
#include <span>

#include "kernels/functions.hpp"

namespace reel::loops {

using kernels::BitFunction, kernels::Comparison, kernels::Logical, kernels::Predicate;

/// Whether there is a kernel. float16 and bfloat16 have none; complex numbers have no order; only floating-point
/// and complex numbers have predicates.
bool has_kernel(Comparison f, DType d);
bool has_kernel(Predicate f, DType d);

/// out = f(in...), elementwise.
void pointwise(Comparison f, std::span<const Tensor* const> in, const Tensor& out);
void pointwise(Logical f, std::span<const Tensor* const> in, const Tensor& out);
void pointwise(Predicate f, std::span<const Tensor* const> in, const Tensor& out);

/// Operands have one dtype, which is also that of `out`. Shifts by a negative count, or by at least the number of bits,
/// shift all bits out.
void bitwise(BitFunction f, std::span<const Tensor* const> in, const Tensor& out);

/// x = mantissa 2^exponent as of frexp, for float32 or float64 x; the exponents are int32, 0 where x is not finite.
void split_numbers(const Tensor& x, const Tensor& mantissa, const Tensor& exponent);
/// out = x 2^n, rounded once; n is int32.
void scale_by_powers(const Tensor& x, const Tensor& n, const Tensor& out);

}  // namespace reel::loops
