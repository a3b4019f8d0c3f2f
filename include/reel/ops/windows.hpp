// Borders, sliding windows and blocks of axes. All are linear; each gradient is the op's transpose. Every dtype.
#pragma once
#include <reel/tensor.hpp>

namespace [[gnu::visibility("default")]] reel {

/// What stands beyond the ends of an axis: the elements in reverse without the last one (NumPy's reflect) or with it
/// (symmetric), the last one (edge), or those of the other end (wrap). Borders wider than the axis go on periodically;
/// reflect of an axis of one element repeats it.
enum class PadMode : std::uint8_t { reflect, symmetric, edge, wrap };
/// x with so many elements before and after each axis. ShapeError unless both have an entry per axis; ValueError for
/// negative ones, and for a border around an axis of no elements. Gradient: the border's cotangents, added to the
/// elements that they repeat.
Tensor pad(const Operand& x, const Shape& before, const Shape& after, PadMode mode);

/// Windows along an axis, as a new last axis: result[..., i, ..., k] = x[..., i * stride + k * dilation, ...]. There
/// are as many as fit. A view. ShapeError if none fits; ValueError unless all three numbers are positive. Gradient:
/// overlap_add.
Tensor sliding_window(const Operand& x, std::int64_t window, std::int64_t axis = -1, std::int64_t stride = 1,
                      std::int64_t dilation = 1);
/// The transpose of sliding_window: the windows, whose elements are the last axis of x, added up where they overlap.
/// `axis` is that of the result, `extent` how long it is: at least what the windows cover (ShapeError), or -1 for just
/// that. 16-bit floats are added in float32. Gradient: sliding_window.
Tensor overlap_add(const Operand& x, std::int64_t axis = -1, std::int64_t stride = 1, std::int64_t dilation = 1,
                   std::int64_t extent = -1);

/// [..., c r^2, h, w] to [..., c, h r, w r]: each r^2 channels are an r by r block of pixels, in row-major order
/// (PyTorch's pixel_shuffle); and back. ShapeError unless the extents divide; ValueError unless r is positive.
Tensor pixel_shuffle(const Operand& x, std::int64_t r);
Tensor pixel_unshuffle(const Operand& x, std::int64_t r);
/// [..., c, h, w] with the channels of `groups` equal groups taken in turn: the first of each, then the second of each
/// (PyTorch's channel_shuffle). ShapeError unless the groups divide the channels; ValueError unless positive.
Tensor channel_shuffle(const Operand& x, std::int64_t groups);
/// The axes behind the first one, as many as `block` has entries, padded with zeros and cut into blocks, whose places
/// are put in front of the batch, axis 0: extents become (before + n + after) / block, that of axis 0 is multiplied by
/// all of `block` (TensorFlow's space_to_batch_nd). ShapeError unless they divide.
Tensor space_to_batch(const Operand& x, const Shape& block, const Shape& before, const Shape& after);
/// The way back: elements cut off in place of the padding.
Tensor batch_to_space(const Operand& x, const Shape& block, const Shape& before, const Shape& after);

}  // namespace reel
