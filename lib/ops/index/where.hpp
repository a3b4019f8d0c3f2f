// Selections in programs, for passes.
#pragma once
#include "ops/apply/primitive.hpp"

namespace reel::ops {

/// The inputs are x, y and the condition.
const Primitive& where_of_tensors() noexcept;

}  // namespace reel::ops
