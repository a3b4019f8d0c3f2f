// Padding by reflection and repetition, sliding windows, and blocks of axes. All are linear, and each gradient is the
// op's transpose. Every dtype.
#pragma once
#include <reel/api.hpp>
#include <reel/tensor.hpp>

namespace REEL_API reel {

/// What the padding of an axis contains: the elements mirrored without the edge (NumPy's reflect) or with it
/// (symmetric), the edge element (edge), or the elements of the other end (wrap). Padding wider than the axis continues
/// periodically. reflect of an axis of one element repeats it.
enum class PadMode : std::uint8_t { reflect, symmetric, edge, wrap };
/// x padded with before[i] and after[i] elements along axis i. ShapeError unless both have an entry per axis.
/// ValueError for negative entries, and for padding of an axis without elements. Gradient: the cotangents of the
/// padding are added to the elements that it repeats.
Tensor pad(const Operand& x, const Shape& before, const Shape& after, PadMode mode);

/// Windows along an axis, as a new last axis: result[..., i, ..., k] = x[..., i * stride + k * dilation, ...], for as
/// many i as fit. A view. ShapeError if no window fits. ValueError unless window, stride and dilation are positive.
/// Gradient: overlap_add.
Tensor sliding_window(const Operand& x, std::int64_t window, std::int64_t axis = -1, std::int64_t stride = 1,
                      std::int64_t dilation = 1);
/// The transpose of sliding_window: the windows, which are the last axis of x, are added up where they overlap. `axis`
/// is the axis of the result, and `extent` its extent: at least what the windows cover (ShapeError); -1 stands for
/// exactly that. float16 and bfloat16 are added in float32. Gradient: sliding_window.
Tensor overlap_add(const Operand& x, std::int64_t axis = -1, std::int64_t stride = 1, std::int64_t dilation = 1,
                   std::int64_t extent = -1);

/// pixel_shuffle: [..., c r^2, h, w] to [..., c, h r, w r], where each r^2 channels become an r by r block of pixels,
/// in row-major order (PyTorch's pixel_shuffle). pixel_unshuffle is the inverse. ShapeError unless the extents divide.
/// ValueError unless r is positive.
Tensor pixel_shuffle(const Operand& x, std::int64_t r);
Tensor pixel_unshuffle(const Operand& x, std::int64_t r);
/// [..., c, h, w] with the channels of `groups` equal groups interleaved: the first of each group, then the second of
/// each (PyTorch's channel_shuffle). ShapeError unless the groups divide the channels. ValueError unless groups is
/// positive.
Tensor channel_shuffle(const Operand& x, std::int64_t groups);
/// Pads the block.rank() axes after the first with zeros, cuts them into blocks, and moves the positions within a block
/// to the batch, axis 0 (TensorFlow's space_to_batch_nd). Extents become (before + n + after) / block, and the extent
/// of axis 0 is multiplied by the product of `block`. ShapeError unless they divide.
Tensor space_to_batch(const Operand& x, const Shape& block, const Shape& before, const Shape& after);
/// The inverse: the elements that were padding are cut off.
Tensor batch_to_space(const Operand& x, const Shape& block, const Shape& before, const Shape& after);

}  // namespace reel
