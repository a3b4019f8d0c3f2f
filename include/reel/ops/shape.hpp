// Ops that move elements: reshape, transpose, join, split, pad. All are linear; each gradient is the op's transpose.
#pragma once
#include <reel/api.hpp>
#include <reel/tensor.hpp>

namespace REEL_API reel {

/// x in another shape, in row-major order. One extent may be -1; it is computed from the others. Shares the memory of x
/// where the strides allow it. ShapeError unless the sizes agree. Gradient: g in the shape of x.
Tensor reshape(const Operand& x, const Shape& shape);
/// x with its axes permuted, reversed by default. A view. ValueError unless the argument is a permutation.
Tensor transpose(const Operand& x, const Axes& permutation = {});
/// x with axis `source` moved to `destination`. A view.
Tensor moveaxis(const Operand& x, std::int64_t source, std::int64_t destination);
/// x without axes of extent 1: the given ones (ShapeError if one is longer), or all. A view.
Tensor squeeze(const Operand& x, const Axes& axes = {});
/// x with a new axis of extent 1 at `axis`. A view.
Tensor expand_dims(const Operand& x, std::int64_t axis);
/// x repeated along new axes and axes of extent 1. A view with stride 0. ShapeError unless x broadcasts to the shape.
/// Gradient: summed.
Tensor broadcast_to(const Operand& x, const Shape& shape);
/// x reversed along the axes. A view.
Tensor flip(const Operand& x, const Axes& axes = {});
/// x shifted along `axis` by `shift`, wrapping around (NumPy's roll).
Tensor roll(const Operand& x, std::int64_t shift, std::int64_t axis);
/// x repeated repeats[i] times along axis i. Missing leading repeats are 1 (NumPy's tile).
Tensor tile(const Operand& x, const Shape& repeats);
/// x with each element along `axis` repeated `count` times in a row (NumPy's repeat).
Tensor repeat(const Operand& x, std::int64_t count, std::int64_t axis);
/// Parts joined along an existing axis. Dtypes promote. The other extents must agree (ShapeError).
Tensor concatenate(std::span<const Tensor> parts, std::int64_t axis = 0, const detail::CallLine& at = {});
Tensor concatenate(std::initializer_list<Tensor> parts, std::int64_t axis = 0, const detail::CallLine& at = {});
/// Parts joined along a new axis. Shapes must be equal (ShapeError).
Tensor stack(std::span<const Tensor> parts, std::int64_t axis = 0, const detail::CallLine& at = {});
Tensor stack(std::initializer_list<Tensor> parts, std::int64_t axis = 0, const detail::CallLine& at = {});
/// x cut along `axis` into `parts` equal parts, or into parts of the given extents. Views. ValueError for more than
/// 2^20 parts of an empty axis.
std::vector<Tensor> split(const Operand& x, std::int64_t parts, std::int64_t axis = 0);
std::vector<Tensor> split_sizes(const Operand& x, const Shape& extents, std::int64_t axis = 0);
/// The slices of x along `axis`, without that axis. Views.
std::vector<Tensor> unstack(const Operand& x, std::int64_t axis = 0);
/// x padded with `value`: before[i] and after[i] elements along axis i. If x is boolean, a value of 0 or 1 is boolean
/// too.
Tensor pad(const Operand& x, const Shape& before, const Shape& after, const Operand& value = 0);
/// x in row-major order without gaps. Returns x itself if it is that already.
Tensor contiguous(const Operand& x);

/// x in another dtype. From floating to integer truncates (ValueError for NaN or out of range); complex to real takes
/// the real part. Gradient: cast back; none to or from an integer or boolean.
Tensor cast(const Operand& x, DType dtype);
/// The same value as a new tensor. Gradient: the cotangent.
Tensor identity(const Operand& x);
/// The same value, a constant to every tape.
Tensor stop_gradient(const Operand& x);

}  // namespace reel
