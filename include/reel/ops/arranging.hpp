// Matrices arranged from diagonals, blocks and vectors, axes in other orders, and NumPy's stacks, splits and
// repetitions. All but vander are linear; each gradient is the op's transpose.
#pragma once
#include <initializer_list>
#include <reel/tensor.hpp>
#include <span>
#include <vector>

namespace [[gnu::visibility("default")]] reel {

/// x with two of its axes exchanged. A view.
Tensor swapaxes(const Operand& x, std::int64_t first, std::int64_t second);
/// x with its last two axes exchanged. A view. ShapeError for fewer.
Tensor matrix_transpose(const Operand& x);
/// x with several axes moved, source[k] to destination[k], and the others around them in their order (NumPy's
/// moveaxis). A view. ValueError for lists of different lengths, and for an axis that occurs twice in one.
Tensor moveaxis(const Operand& x, const Axes& source, const Axes& destination);
/// The elements of x in row-major order, with one axis.
Tensor flatten(const Operand& x);
/// x with an axis replaced by several whose extents multiply to its own; -1 stands for the one that follows from the
/// others (PyTorch's unflatten). ShapeError where they do not.
Tensor unflatten(const Operand& x, std::int64_t axis, const Shape& extents);
/// x turned by k quarters from axis `first` towards axis `second` (NumPy's rot90). A view. ValueError for equal axes.
Tensor rot90(const Operand& x, std::int64_t k = 1, std::int64_t first = 0, std::int64_t second = 1);

/// Square matrices with the last axis of x as diagonal, `offset` above the main one, and zeros elsewhere.
Tensor diag_embed(const Operand& x, std::int64_t offset = 0);
/// x with the diagonals of its last two axes replaced by `values`, which broadcast to diagonal(x, offset), in x's
/// dtype.
Tensor set_diagonal(const Operand& x, const Operand& values, std::int64_t offset = 0);
/// Zero below the diagonal `lower` under the main one and above the diagonal `upper` over it, of the last two axes; a
/// negative number keeps all on that side (TensorFlow's band_part).
Tensor band_part(const Operand& x, std::int64_t lower, std::int64_t upper);
/// One matrix with the given ones, of rank 2, along its diagonal, and zeros elsewhere. Dtypes promote.
Tensor block_diag(std::span<const Tensor> blocks);
Tensor block_diag(std::initializer_list<Tensor> blocks);
/// The coordinates of a grid: each vector along an axis of its own, all broadcast to their common shape, the first two
/// axes exchanged as NumPy has it unless `ij`. Views.
std::vector<Tensor> meshgrid(std::span<const Tensor> vectors, bool ij = false);
std::vector<Tensor> meshgrid(std::initializer_list<Tensor> vectors, bool ij = false);

/// The matrix constant along diagonals, with this first column and first row, whose first element is not read; constant
/// along antidiagonals, with this first column and last row, whose first element is not read; and the one whose columns
/// are the vector rotated further and further down (SciPy's toeplitz, hankel, circulant). Vectors have one axis.
Tensor toeplitz(const Operand& column, const Operand& row);
Tensor hankel(const Operand& column, const Operand& row);
Tensor circulant(const Operand& column);

/// The matrix [..., n] of the powers 0 to n - 1 of each element of x [...], the highest first unless `increasing`; n is
/// the extent of the last axis of x if it is -1 (NumPy's vander). Gradient exact at 0. ShapeError for a scalar without
/// n.
Tensor vander(const Operand& x, std::int64_t n = -1, bool increasing = false);
/// `count` evenly spaced values from start to stop, which broadcast, along a new first axis: both included, of one
/// value the start. Floating or complex, of integers float64. Differentiable in both. ValueError for a negative count.
Tensor linspace(const Operand& start, const Operand& stop, std::int64_t count);

/// x with at least so many axes: new ones in front, the third behind (NumPy's atleast_3d). Views.
Tensor atleast_1d(const Operand& x);
Tensor atleast_2d(const Operand& x);
Tensor atleast_3d(const Operand& x);
/// Parts joined side by side along axis 1, vectors along axis 0; one below the other along axis 0, vectors as rows; in
/// depth along axis 2; and vectors as columns, beside matrices as they are. As concatenate, after atleast_1d, 2d, 3d.
Tensor hstack(std::span<const Tensor> parts);
Tensor hstack(std::initializer_list<Tensor> parts);
Tensor vstack(std::span<const Tensor> parts);
Tensor vstack(std::initializer_list<Tensor> parts);
Tensor dstack(std::span<const Tensor> parts);
Tensor dstack(std::initializer_list<Tensor> parts);
Tensor column_stack(std::span<const Tensor> parts);
Tensor column_stack(std::initializer_list<Tensor> parts);
/// The elements of x and those of `values` in row-major order, with one axis; or both joined along an axis (NumPy's
/// append). Dtypes promote.
Tensor append(const Operand& x, const Operand& values);
Tensor append(const Operand& x, const Operand& values, std::int64_t axis);
/// A matrix of blocks, given by rows: those of a row joined along the last axis, the rows along the one before (NumPy's
/// block of a list of lists). Scalars and vectors are rows.
using BlockRow = std::initializer_list<Tensor>;
Tensor block(std::initializer_list<BlockRow> rows);
Tensor block(std::span<const std::vector<Tensor>> rows);
/// x cut into parts along an axis, the first ones longer by one where it does not divide. Views. ValueError for no
/// parts.
std::vector<Tensor> array_split(const Operand& x, std::int64_t parts, std::int64_t axis = 0);
/// x cut into equal parts along axis 1, of a vector 0; along axis 0; along axis 2. Views. ShapeError unless they
/// divide, and for x without these axes.
std::vector<Tensor> hsplit(const Operand& x, std::int64_t parts);
std::vector<Tensor> vsplit(const Operand& x, std::int64_t parts);
std::vector<Tensor> dsplit(const Operand& x, std::int64_t parts);
/// All in the shape that they broadcast to. Views. ShapeError if they do not.
std::vector<Tensor> broadcast_arrays(std::span<const Tensor> x);
std::vector<Tensor> broadcast_arrays(std::initializer_list<Tensor> x);

/// Each slice of x along `axis` as often as the element of `counts`, an integer vector, says (ShapeError for others; of
/// one element it goes for all). ValueError for negative counts. The counts decide on the extent: TraceError in a
/// function that is traced. Gradient: summed over the repetitions.
Tensor repeat(const Operand& x, const Tensor& counts, std::int64_t axis);
/// x with the first lengths[b] elements along `axis` in reverse order, for each index b of the batch axis (TensorFlow's
/// reverse_sequence). IndexError for lengths beyond the extent. ShapeError unless there are as many as the batch axis
/// has indices; ValueError if both axes are the same.
Tensor reverse_sequence(const Operand& x, const Operand& lengths, std::int64_t axis, std::int64_t batch_axis = 0);

}  // namespace reel
