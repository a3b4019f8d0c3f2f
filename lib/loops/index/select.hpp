// One of two values by a condition, where a condition holds, and places by counts.
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

/// places = 0, counts[0] times, 1, counts[1] times, ...; 0 behind them. Both int64 of one axis, contiguous, without
/// shared memory. What finds no room is left out; negative counts are 0.
void repeat_places(const Tensor& counts, const Tensor& places);

}  // namespace reel::loops
