// What ops with index tensors share: checked indices, and sums at indexed places in a fixed order.
#pragma once
#include <reel/gradient.hpp>
#include <reel/ops/index.hpp>

#include "ops/shape/view.hpp"

namespace reel::ops {

/// The indices as contiguous int64, negative ones counted from the front. TypeError unless they are integers,
/// IndexError for one outside [-extent, extent).
Tensor checked_indices(const char* op, const Operand& indices, int axis, std::int64_t extent);

/// ValueError for slices with empty handles or no dense_shape, ShapeError unless indices are [n] and values [n, rest].
/// Does not look at the indices themselves.
void check_slices(const char* op, const IndexedSlices& slices);

/// g, of shape [before, count, behind] with count indices, added up in zeros of [before, extent, behind], both given in
/// their own shapes; duplicates add, in the order of the indices. Recorded; the transpose of gather.
Tensor scatter_rows(const Tensor& g, const Tensor& indices, const Shape& shape, int axis);

}  // namespace reel::ops
