// What ops with index tensors share: checked indices, and sums at their positions in a fixed order.
#pragma once
#include <reel/gradient.hpp>
#include <reel/ops/index.hpp>

#include "ops/shape/view.hpp"

namespace reel::ops {

/// The positions that indices name: contiguous int64, negative indices counted from the end. TypeError unless they are
/// integers, IndexError for one outside [-extent, extent). `op` is a literal.
Tensor checked_indices(const char* op, const Operand& indices, int axis, std::int64_t extent);

/// The same of one array per axis of some, which broadcast to the shape of the first: positions on the axis that these
/// axes make together. Axis, in messages, and extent of each are given in turn. The arrays are integers.
Tensor checked_positions(const char* op, std::span<const Tensor* const> indices, Attributes axes_and_extents);
/// The error of an index, element `at` of its array, that is outside an axis of this extent.
[[noreturn]] void fail_index(const char* op, std::int64_t index, std::int64_t at, std::int64_t axis,
                             std::int64_t extent);
/// TypeError for what is no array of indices.
void require_integers(const char* op, const Tensor& indices);

/// x at the positions, which are checked: gather, and take_along_axis, whose other axes are those of x. Recorded.
Tensor gather_at(const Tensor& x, const Tensor& positions, int axis);
Tensor take_along(const Tensor& x, const Tensor& positions, int axis);
/// Zeros of a shape, to which g, of the positions' shape, is added at its positions along the axis. Recorded; the
/// transpose of take_along.
Tensor put_along(const Tensor& g, const Tensor& positions, const Shape& shape, int axis);

/// Matrices of this shape with x [..., length] on the diagonal of this offset, and zeros elsewhere. Recorded; the
/// transpose of diagonal.
Tensor place_diagonal(const Tensor& x, std::int64_t offset, const Shape& shape);

/// slice() by another name. Recorded.
Tensor slice_part(const char* op, const Tensor& x, std::span<const SliceItem> items);
/// Values in x's dtype. TypeError for those of a higher category: floating ones for integers.
Tensor in_dtype_of(const Tensor& x, const char* op, const Operand& values, const char* name);
/// The same for so many elements of x. ShapeError unless they broadcast to this shape.
Tensor values_for(const char* op, const Tensor& x, const Operand& values, const Shape& shape);
/// x with a part, of the shape that the items choose and x's dtype, in place of what is there. Recorded.
Tensor slice_update_part(const char* op, const Tensor& x, std::span<const SliceItem> items, const Tensor& part);

/// ValueError for slices with empty handles or no dense_shape, ShapeError unless indices are [n] and values [n, rest].
/// Does not look at the indices themselves.
void check_slices(const char* op, const IndexedSlices& slices);

/// Zeros of a shape, to which g [outer, count, inner] is added at `count` positions on an axis, in their order; g may
/// have other axes as long as its elements have that order. Recorded; the transpose of gather.
Tensor scatter_rows(const Tensor& g, const Tensor& positions, const Shape& shape, int axis);

}  // namespace reel::ops
