// Slices in programs, for passes.
#pragma once
#include "ops/apply/primitive.hpp"

namespace reel::ops {

/// The primitive that places parts into zeros, the transpose of slice. The inputs are the parts; the attributes of each
/// follow one another. The first part is written, the others are added in order.
const Primitive& place_of_parts() noexcept;

}  // namespace reel::ops
