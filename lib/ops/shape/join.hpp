// Joins, rolls and borders in programs, for passes.
#pragma once
#include "ops/apply/primitive.hpp"

namespace reel::ops {

const Primitive& concatenate_of_parts() noexcept;
const Primitive& stack_of_parts() noexcept;
const Primitive& roll_of_axis() noexcept;
const Primitive& pad_of_borders() noexcept;

}  // namespace reel::ops
