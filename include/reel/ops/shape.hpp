// Ops that move elements: reshape, transpose, join, split, pad. All are linear; each gradient is the op's transpose.
#pragma once
#include <reel/tensor.hpp>

namespace [[gnu::visibility("default")]] reel {

/// x in another shape, row-major order; one extent may be -1 and is worked out. Shares the data where the layout
/// allows. ShapeError unless the sizes agree. Gradient: the cotangent in x's shape.
Tensor reshape(const Operand& x, const Shape& shape);
/// Axes in the order given (reversed by default). A view. ValueError unless it is a permutation.
Tensor transpose(const Operand& x, const Axes& permutation = {});
/// One axis moved to another place. A view.
Tensor moveaxis(const Operand& x, std::int64_t source, std::int64_t destination);
/// Without axes of extent 1: the given ones (ShapeError if one is longer), or all. A view.
Tensor squeeze(const Operand& x, const Axes& axes = {});
/// With a new axis of extent 1 at `axis`. A view.
Tensor expand_dims(const Operand& x, std::int64_t axis);
/// x repeated along new and extent-1 axes. A view with stride 0. ShapeError unless it broadcasts. Gradient: summed.
Tensor broadcast_to(const Operand& x, const Shape& shape);
/// Reversed along the axes. A view.
Tensor flip(const Operand& x, const Axes& axes = {});
/// Shifted along `axis` by `shift`, wrapped around.
Tensor roll(const Operand& x, std::int64_t shift, std::int64_t axis);
/// x laid `repeats[i]` times along axis i; missing leading repeats are 1 (NumPy's tile).
Tensor tile(const Operand& x, const Shape& repeats);
/// Each element along `axis` repeated `count` times in place (NumPy's repeat).
Tensor repeat(const Operand& x, std::int64_t count, std::int64_t axis);
/// Joined along an axis they have. Dtypes promote; other extents must agree (ShapeError).
Tensor concatenate(std::span<const Tensor> parts, std::int64_t axis = 0);
Tensor concatenate(std::initializer_list<Tensor> parts, std::int64_t axis = 0);
/// Joined along a new axis; shapes must be equal.
Tensor stack(std::span<const Tensor> parts, std::int64_t axis = 0);
Tensor stack(std::initializer_list<Tensor> parts, std::int64_t axis = 0);
/// Cut along `axis` into `parts` equal pieces, or into pieces of the given extents. Views.
std::vector<Tensor> split(const Operand& x, std::int64_t parts, std::int64_t axis = 0);
std::vector<Tensor> split_sizes(const Operand& x, const Shape& extents, std::int64_t axis = 0);
/// The slices along `axis`, with that axis gone. Views.
std::vector<Tensor> unstack(const Operand& x, std::int64_t axis = 0);
/// Surrounded by `value`: before[i] and after[i] elements along axis i. Beside booleans 0 and 1 are booleans.
Tensor pad(const Operand& x, const Shape& before, const Shape& after, const Operand& value = 0);
/// The same elements in row-major order without gaps: x itself if they are.
Tensor contiguous(const Operand& x);

/// x in another dtype. From floating to integer truncates (ValueError for NaN or out of range); complex to real takes
/// the real part. Gradient: cast back; none to or from an integer or boolean.
Tensor cast(const Operand& x, DType dtype);
/// The same value as a new tensor. Gradient: the cotangent.
Tensor identity(const Operand& x);
/// The same value, a constant to every tape.
Tensor stop_gradient(const Operand& x);

}  // namespace reel
