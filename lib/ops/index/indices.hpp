// Shared by ops with index tensors: checked indices, and sums at positions in a fixed order.
#pragma once
#include <reel/gradient.hpp>
#include <reel/ops/indexing.hpp>

#include "ops/shape/view.hpp"

namespace reel::ops {

/// The positions for some indices: contiguous int64, negative indices counted from the end. TypeError unless they are
/// integers, IndexError for one outside [-extent, extent). `op` is a literal.
Tensor check_indices(const char* op, const Operand& indices, int axis, std::int64_t extent);

/// The same for axis 0, where an index out of range is what the mode says.
Tensor positions_in(const char* op, const Tensor& indices, std::int64_t extent, IndexMode mode);

/// The same for one array per axis, which broadcast to the shape of the first: positions on the axis that these axes
/// make together. `axes_and_extents` alternates the axis, for messages, and its extent. The arrays are integers.
Tensor check_positions(const char* op, std::span<const Tensor* const> indices, Attributes axes_and_extents);
/// The error of an index, element `at` of its array, that is outside an axis of this extent.
[[noreturn]] void fail_index(const char* op, std::int64_t index, std::int64_t at, std::int64_t axis,
                             std::int64_t extent);
/// TypeError for a tensor that cannot index.
void require_integers(const char* op, const Tensor& indices);

/// The operand, which must be boolean. TypeError for another dtype.
Tensor to_mask(const char* op, const Operand& operand, const char* name);

/// Whole numbers x, floating, as int64. ValueError for NaN and what int64 does not hold. `op` and `name`, of the
/// operand that x is made of, are literals.
Tensor to_indices(const char* op, const char* name, const Tensor& x);

/// The number of occurrences of each of 0 ... n - 1 in x, integers. IndexError for other elements. `op` and `name`, of
/// x, are literals.
Tensor counts_of(const char* op, const char* name, const Tensor& x, std::int64_t n);

/// x at the positions, which are checked: gather, and take_along_axis, whose other axes are those of x. Recorded.
Tensor gather_at(const Tensor& x, const Tensor& positions, int axis);
Tensor take_along(const Tensor& x, const Tensor& positions, int axis);
/// Zeros of a shape, plus g, of the positions' shape, at its positions along the axis. Recorded; the transpose of
/// take_along.
Tensor put_along(const Tensor& g, const Tensor& positions, const Shape& shape, int axis);

/// Matrices of this shape with x [..., length] on the diagonal of this offset, and zeros elsewhere. Recorded; the
/// transpose of diagonal.
Tensor place_diagonal(const Tensor& x, std::int64_t offset, const Shape& shape);

/// slice(), recorded under another name.
Tensor slice_part(const char* op, const Tensor& x, std::span<const SliceItem> items);
/// Values in x's dtype. TypeError for a dtype of a higher category: floating values for an integer x.
Tensor in_dtype_of(const Tensor& x, const char* op, const Operand& values, const char* name);
/// The same for `count` elements of x. ShapeError unless the values broadcast to this shape.
Tensor values_for(const char* op, const Tensor& x, const Operand& values, const Shape& shape);
/// x with the part that the items choose replaced by `part`, of that shape and x's dtype. Recorded.
Tensor slice_update_part(const char* op, const Tensor& x, std::span<const SliceItem> items, const Tensor& part);

/// ValueError for slices with empty handles or no dense_shape, ShapeError unless indices are [n] and values [n, rest].
/// Does not look at the indices themselves.
void check_slices(const char* op, const IndexedSlices& slices);

/// Zeros of a shape, plus g [outer, count, inner] at `count` positions on an axis, added in order; g may have other
/// axes if its elements have that order. Recorded; the transpose of gather.
Tensor scatter_rows(const Tensor& g, const Tensor& positions, const Shape& shape, int axis);

}  // namespace reel::ops
