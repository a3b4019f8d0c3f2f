// What reductions share: which axes go, and the shapes with and without them. Attribute 0 of a reduction is the mask of
// its axes, bit d for axis d, attribute 1 whether they stay with an extent of 1.
#pragma once
#include <reel/ops/reduce.hpp>

#include "ops/apply/apply.hpp"
#include "ops/engine.hpp"

namespace reel::ops {

/// The axes as a mask. IndexError and ValueError as normalize().
std::int64_t axes_mask(const char* op, const Axes& axes, int rank);
/// The axes of a mask, ascending.
Shape axes_of(std::int64_t mask);
/// How many elements become one.
std::int64_t reduced_count(std::span<const std::int64_t> full, std::int64_t mask);
/// The shape of the result.
Shape reduced_shape(std::span<const std::int64_t> full, std::int64_t mask, bool keepdims);

/// ValueError unless something is reduced, or there is no result.
void require_elements(const char* op, const Shape& full, std::int64_t mask);

/// The primitives of sum and mean. A mean is the sum divided by the number of terms.
const Primitive& sum_of_axes() noexcept;
const Primitive& mean_of_axes() noexcept;

/// Announces the result of reducing input 0, in dtype d.
void infer_reduced(const Call& call, DType d, Metas& out);

/// TypeError: the op has no kernel for d.
[[noreturn]] void fail_no_kernel(const char* op, DType d);

/// g, in a result's shape with or without the reduced axes, in a shape that broadcasts to `full`: with them unless they
/// are the first ones, which broadcasting adds. Recorded.
Tensor with_axes(const Tensor& g, const Shape& full, std::int64_t mask);
/// x as [..., n], the reduced axes made one and last; and back from there to the shape `full`. Recorded.
Tensor to_rows(const Tensor& x, std::int64_t mask);
Tensor from_rows(const Tensor& rows, const Shape& full, std::int64_t mask);

}  // namespace reel::ops
