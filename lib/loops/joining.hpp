// Parts joined in the order of the result, where one part after the other takes more time.
#pragma once
#include <reel/tensor.hpp>
#include <span>

namespace reel::loops {

/// to[..., k] = the elements of part k, in order, of to's dtype. Returns false and does nothing unless there are few
/// parts and all of them are contiguous.
bool interleave(std::span<const Tensor* const> parts, const Tensor& to);

/// to = the parts behind one another along `axis`, of to's dtype, written in order. Returns false and does nothing
/// unless all of them are contiguous and have long runs.
bool concatenate(std::span<const Tensor* const> parts, int axis, const Tensor& to);

}  // namespace reel::loops
