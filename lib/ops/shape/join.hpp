// Joins in programs, for passes.
#pragma once
#include "ops/apply/primitive.hpp"

namespace reel::ops {

const Primitive& concatenate_of_parts() noexcept;
const Primitive& stack_of_parts() noexcept;

}  // namespace reel::ops
