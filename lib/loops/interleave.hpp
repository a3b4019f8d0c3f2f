#pragma once
#include <reel/tensor.hpp>
#include <span>

namespace reel::loops {

/// to[..., k] = the elements of part k, in order, of to's dtype. Returns false and does nothing unless there are few
/// parts and all of them are contiguous.
bool interleave(std::span<const Tensor* const> parts, const Tensor& to);

}  // namespace reel::loops
