// One of two values by a condition.
#pragma once
#include <reel/tensor.hpp>

namespace reel::loops {

/// out = condition ? x : y, elementwise, in any dtype. The operands broadcast to the shape of `out`, with any strides;
/// the condition is boolean, x and y have the dtype of `out`, which is contiguous.
void select(const Tensor& condition, const Tensor& x, const Tensor& y, const Tensor& out);

}  // namespace reel::loops
