// Comparisons and logic in programs, for passes.
#pragma once
#include "loops/program/graph.hpp"
#include "ops/apply/primitive.hpp"

namespace reel::ops {

/// Whether the primitive is a comparison, a test of floating-point numbers or logic. Sets opcode and function of the
/// node that computes it.
bool gives_booleans(const Primitive& primitive, loops::Node& node) noexcept;

}  // namespace reel::ops
