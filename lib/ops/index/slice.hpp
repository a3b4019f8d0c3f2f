// Parts of tensors, for passes over programs.
#pragma once
#include "ops/apply/primitive.hpp"

namespace reel::ops {

/// Zeros with parts at their places, the transpose of slice: inputs are the parts, attributes of each follow one
/// another. The first is written, the others are added in their order.
const Primitive& place_of_parts() noexcept;

}  // namespace reel::ops
