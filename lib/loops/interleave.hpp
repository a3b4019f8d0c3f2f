#pragma once
#include <reel/tensor.hpp>
#include <span>

namespace reel::loops {

/// to[..., k] = the elements of part k in order, of to's dtype. False, and nothing is done, unless there are few parts,
/// all of them contiguous.
bool interleave(std::span<const Tensor* const> parts, const Tensor& to);

}  // namespace reel::loops
