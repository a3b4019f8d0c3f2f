// Shared by ops on sorted rows.
#pragma once
#include <reel/ops/sorting.hpp>

#include "ops/index/indices.hpp"

namespace reel::ops {

/// The operand, whose dtype must have an order. TypeError for complex numbers.
Tensor ordered(const char* op, const Operand& x, const char* operand = "x");
/// The positions of the ranks [first, last) along the last axis of x, not recorded.
Tensor select_last(const Tensor& x, std::int64_t first, std::int64_t last, bool descending = false);
/// TraceError while a function is traced: the shape of the op's result depends on elements of x. `instead` names an
/// alternative with a fixed shape.
void require_extents(const char* op, const Tensor& x, const char* instead);

}  // namespace reel::ops
