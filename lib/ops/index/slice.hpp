// Slices in programs, for passes.
#pragma once
#include "ops/apply/primitive.hpp"

namespace reel::ops {

/// The primitive that places parts into zeros, the transpose of slice. The inputs are the parts; the attributes of each
/// follow one another. The first part is written, the others are added in order.
const Primitive& place_of_parts() noexcept;
/// The primitive that places one part among zeros that a sum with an earlier term leaves as that is.
const Primitive& place_of_term() noexcept;

}  // namespace reel::ops
