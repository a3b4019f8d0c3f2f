// Ops that build matrices from diagonals, blocks and vectors, reorder axes, and stack, split and repeat as in NumPy.
// All but vander are linear, and the gradient of each linear op is its transpose.
#pragma once
#include <initializer_list>
#include <reel/api.hpp>
#include <reel/tensor.hpp>
#include <span>
#include <vector>

namespace REEL_API reel {

/// x with two of its axes exchanged. A view.
Tensor swapaxes(const Operand& x, std::int64_t first, std::int64_t second);
/// x with its last two axes exchanged. A view. ShapeError for a rank below 2.
Tensor matrix_transpose(const Operand& x);
/// x with axis source[k] moved to destination[k], for each k. The other axes keep their order (NumPy's moveaxis). A
/// view. ValueError for lists of different lengths, and for an axis that occurs twice in one list.
Tensor moveaxis(const Operand& x, const Axes& source, const Axes& destination);
/// The elements of x in row-major order, with one axis.
Tensor flatten(const Operand& x);
/// x with one axis replaced by several, whose extents multiply to its extent. One extent may be -1; it is computed from
/// the others (PyTorch's unflatten). ShapeError if the product differs.
Tensor unflatten(const Operand& x, std::int64_t axis, const Shape& extents);
/// x rotated k times by 90 degrees, from axis `first` towards axis `second` (NumPy's rot90). A view. ValueError for
/// equal axes.
Tensor rot90(const Operand& x, std::int64_t k = 1, std::int64_t first = 0, std::int64_t second = 1);

/// Square matrices that have the last axis of x on the diagonal `offset` above the main one, and zeros elsewhere.
Tensor diag_embed(const Operand& x, std::int64_t offset = 0);
/// x with the diagonal `offset` of its last two axes replaced by `values`, which broadcast to the shape of diagonal(x,
/// offset) and are cast to the dtype of x.
Tensor set_diagonal(const Operand& x, const Operand& values, std::int64_t offset = 0);
/// x, with zeros outside a band of its last two axes: `lower` diagonals below the main one and `upper` above it are
/// kept. A negative number keeps all on that side (TensorFlow's band_part).
Tensor band_part(const Operand& x, std::int64_t lower, std::int64_t upper);
/// A block diagonal matrix of the given matrices, of rank 2. Dtypes promote.
Tensor block_diag(std::span<const Tensor> blocks, const detail::CallLine& at = {});
Tensor block_diag(std::initializer_list<Tensor> blocks, const detail::CallLine& at = {});
/// Coordinates of a grid: vector k varies along axis k, and all are broadcast to their common shape. Unless `ij` is
/// set, the first two axes are exchanged, as NumPy does by default. Views.
std::vector<Tensor> meshgrid(std::span<const Tensor> vectors, bool ij = false, const detail::CallLine& at = {});
std::vector<Tensor> meshgrid(std::initializer_list<Tensor> vectors, bool ij = false, const detail::CallLine& at = {});

/// toeplitz: the matrix that is constant along diagonals, with this first column and first row; row[0] is not read.
/// hankel: constant along antidiagonals, with this first column and last row; row[0] is not read. circulant: column j
/// is the vector rotated down by j. As in SciPy. Vectors have one axis.
Tensor toeplitz(const Operand& column, const Operand& row);
Tensor hankel(const Operand& column, const Operand& row);
Tensor circulant(const Operand& column);

/// [..., n]: the powers 0 to n - 1 of each element of x [...], the highest first unless `increasing` (NumPy's
/// vander). n = -1 stands for the extent of the last axis of x; ShapeError for a scalar then. The gradient is exact
/// at 0.
Tensor vander(const Operand& x, std::int64_t n = -1, bool increasing = false);
/// `count` evenly spaced values from start to stop, along a new first axis. start and stop broadcast, and both are
/// included; for count = 1 the value is start. Floating or complex; integers give float64. Differentiable by start and
/// stop. ValueError for a negative count.
Tensor linspace(const Operand& start, const Operand& stop, std::int64_t count);

/// x with at least 1, 2 or 3 axes. New axes have extent 1 and are put in front; the third goes to the end, as in NumPy.
/// Views.
Tensor atleast_1d(const Operand& x);
Tensor atleast_2d(const Operand& x);
Tensor atleast_3d(const Operand& x);
/// As NumPy's. hstack joins along axis 1, vectors along axis 0. vstack joins along axis 0, vectors as rows. dstack
/// joins along axis 2. column_stack joins matrices along axis 1 and takes vectors as columns. Errors are those of
/// concatenate.
Tensor hstack(std::span<const Tensor> parts, const detail::CallLine& at = {});
Tensor hstack(std::initializer_list<Tensor> parts, const detail::CallLine& at = {});
Tensor vstack(std::span<const Tensor> parts, const detail::CallLine& at = {});
Tensor vstack(std::initializer_list<Tensor> parts, const detail::CallLine& at = {});
Tensor dstack(std::span<const Tensor> parts, const detail::CallLine& at = {});
Tensor dstack(std::initializer_list<Tensor> parts, const detail::CallLine& at = {});
Tensor column_stack(std::span<const Tensor> parts, const detail::CallLine& at = {});
Tensor column_stack(std::initializer_list<Tensor> parts, const detail::CallLine& at = {});
/// The elements of x, then those of `values`, in row-major order, with one axis. Given an axis, both are joined along
/// it (NumPy's append). Dtypes promote.
Tensor append(const Operand& x, const Operand& values);
Tensor append(const Operand& x, const Operand& values, std::int64_t axis);
/// A matrix of blocks, given by rows: the blocks of a row are joined along the last axis, then the rows along the axis
/// before it (NumPy's block of a list of lists). Scalars and vectors count as rows.
using BlockRow = std::initializer_list<Tensor>;
Tensor block(std::initializer_list<BlockRow> rows, const detail::CallLine& at = {});
Tensor block(std::span<const std::vector<Tensor>> rows, const detail::CallLine& at = {});
/// x cut into `parts` parts along an axis. If the extent does not divide, the first parts are longer by one. Views.
/// ValueError unless parts is positive.
std::vector<Tensor> array_split(const Operand& x, std::int64_t parts, std::int64_t axis = 0);
/// x cut into equal parts: hsplit along axis 1 (a vector along axis 0), vsplit along axis 0, dsplit along axis 2.
/// Views. ShapeError if the extent does not divide, or x lacks the axis.
std::vector<Tensor> hsplit(const Operand& x, std::int64_t parts);
std::vector<Tensor> vsplit(const Operand& x, std::int64_t parts);
std::vector<Tensor> dsplit(const Operand& x, std::int64_t parts);
/// All tensors broadcast to their common shape. Views. ShapeError if they do not broadcast.
std::vector<Tensor> broadcast_arrays(std::span<const Tensor> x, const detail::CallLine& at = {});
std::vector<Tensor> broadcast_arrays(std::initializer_list<Tensor> x, const detail::CallLine& at = {});

/// x with slice i along `axis` repeated counts[i] times. counts is an integer vector with an element per slice, or with
/// one element for all (ShapeError otherwise). ValueError for negative counts. TraceError in a traced function, because
/// the values of counts decide on the extent. Gradient: summed over the repetitions.
Tensor repeat(const Operand& x, const Tensor& counts, std::int64_t axis);
/// x with its first lengths[b] elements along `axis` reversed, for each index b of the batch axis (TensorFlow's
/// reverse_sequence). IndexError for a length outside [0, extent]. ShapeError unless there is one length per index of
/// the batch axis. ValueError if both axes are the same.
Tensor reverse_sequence(const Operand& x, const Operand& lengths, std::int64_t axis, std::int64_t batch_axis = 0);

}  // namespace reel
