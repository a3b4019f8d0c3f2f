// What ops with index tensors share: checked indices, and sums at their positions in a fixed order.
#pragma once
#include <reel/gradient.hpp>
#include <reel/ops/index.hpp>

#include "ops/shape/view.hpp"

namespace reel::ops {

/// The positions that indices name: contiguous int64, negative indices counted from the end. TypeError unless they are
/// integers, IndexError for one outside [-extent, extent). `op` is a literal.
Tensor checked_indices(const char* op, const Operand& indices, int axis, std::int64_t extent);

/// x at the positions, which are checked: gather, and take_along_axis, whose other axes are those of x. Recorded.
Tensor gather_at(const Tensor& x, const Tensor& positions, int axis);
Tensor take_along(const Tensor& x, const Tensor& positions, int axis);
/// Zeros of a shape, to which g, of the positions' shape, is added at its positions along the axis. Recorded; the
/// transpose of take_along.
Tensor put_along(const Tensor& g, const Tensor& positions, const Shape& shape, int axis);

/// ValueError for slices with empty handles or no dense_shape, ShapeError unless indices are [n] and values [n, rest].
/// Does not look at the indices themselves.
void check_slices(const char* op, const IndexedSlices& slices);

/// Zeros of a shape, to which g [outer, count, inner] is added at `count` positions on an axis, in their order; g may
/// have other axes as long as its elements have that order. Recorded; the transpose of gather.
Tensor scatter_rows(const Tensor& g, const Tensor& positions, const Shape& shape, int axis);

}  // namespace reel::ops
