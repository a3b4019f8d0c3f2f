// Shared by reductions: the reduced axes, and shapes with and without them. Attribute 0 of a reduction is the mask of
// its axes, bit d for axis d; attribute 1 tells whether they remain with extent 1.
#pragma once
#include <reel/ops/reduce.hpp>

#include "ops/apply/apply.hpp"
#include "ops/engine.hpp"

namespace reel::ops {

/// The axes as a mask. IndexError and ValueError as normalize().
std::int64_t axes_mask(const char* op, const Axes& axes, const Tensor& x);
/// The axes of a mask, ascending.
Shape axes_of(std::int64_t mask);
/// The number of elements that are combined into one.
std::int64_t reduced_count(std::span<const std::int64_t> full, std::int64_t mask);
/// The shape of the result.
Shape reduced_shape(std::span<const std::int64_t> full, std::int64_t mask, bool keepdims);

/// ValueError if there are no elements to reduce for a result that has elements.
void require_elements(const char* op, const Shape& full, std::int64_t mask);

/// The primitives of sum and mean. A mean is the sum divided by the number of terms.
const Primitive& sum_of_axes() noexcept;
const Primitive& mean_of_axes() noexcept;

/// Announces the result of reducing input 0, in dtype d.
void infer_reduced(const Call& call, DType d, Metas& out);

/// TypeError: the op has no kernel for d.
[[noreturn]] void fail_no_kernel(const char* op, DType d);

/// g, in the result's shape with or without the reduced axes, in a shape that broadcasts to `full`: with the reduced
/// axes, unless they come first, where broadcasting adds them. Recorded.
Tensor with_axes(const Tensor& g, const Shape& full, std::int64_t mask);
/// x as [..., n], with the reduced axes merged and moved to the end; and back to the shape `full`. Recorded.
Tensor to_rows(const Tensor& x, std::int64_t mask);
Tensor from_rows(const Tensor& rows, const Shape& full, std::int64_t mask);

}  // namespace reel::ops
