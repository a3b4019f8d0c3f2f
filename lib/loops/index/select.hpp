// One of two values by a condition, and where a condition holds.
#pragma once
#include <reel/tensor.hpp>

namespace reel::loops {

/// out = condition ? x : y, elementwise, in any dtype. The operands broadcast to the shape of `out`, with any strides;
/// the condition is boolean, x and y have the dtype of `out`, which is contiguous.
void select(const Tensor& condition, const Tensor& x, const Tensor& y, const Tensor& out);

/// How many elements of a boolean tensor are true.
std::int64_t count_true(const Tensor& mask);
/// Their places in row-major order, as far as `positions`, int64 [n] and contiguous, has room; -1 behind them.
void find_true(const Tensor& mask, const Tensor& positions);

}  // namespace reel::loops
