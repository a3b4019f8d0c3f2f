// What ops with index tensors share: checked indices, and sums at indexed places in a fixed order.
#pragma once
#include <reel/ops/index.hpp>

#include "ops/shape/view.hpp"

namespace reel::ops {

/// The indices as contiguous int64, negative ones counted from the front. TypeError unless they are integers,
/// IndexError for one outside [-extent, extent).
Tensor checked_indices(const char* op, const Operand& indices, int axis, std::int64_t extent);

/// g, of shape [before, count, behind] with count indices, added up in zeros of [before, extent, behind], both given in
/// their own shapes; duplicates add, in the order of the indices. Recorded; the transpose of gather.
Tensor scatter_rows(const Tensor& g, const Tensor& indices, const Shape& shape, int axis);

}  // namespace reel::ops
