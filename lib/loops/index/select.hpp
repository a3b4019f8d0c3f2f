// Choice between two values, positions of true elements, and positions by counts.
#pragma once
#include <reel/tensor.hpp>

namespace reel::loops {

/// out = condition ? x : y, elementwise, in any dtype. The operands broadcast to the shape of `out`, with any strides;
/// the condition is boolean, x and y have the dtype of `out`, which is contiguous.
void select(const Tensor& condition, const Tensor& x, const Tensor& y, const Tensor& out);

/// The number of true elements of a boolean tensor.
std::int64_t count_true(const Tensor& mask);
/// Their positions in row-major order, followed by -1, as many as `positions`, int64 [n] and contiguous, can hold.
void find_true(const Tensor& mask, const Tensor& positions);

/// places = 0, counts[0] times; then 1, counts[1] times; ...; followed by 0. Both are int64 vectors, contiguous,
/// without shared memory. What exceeds the extent is left out; negative counts are 0.
void repeat_places(const Tensor& counts, const Tensor& places);

}  // namespace reel::loops
