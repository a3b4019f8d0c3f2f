// What ops of sorted rows share.
#pragma once
#include <reel/ops/sorting.hpp>

#include "ops/index/indices.hpp"

namespace reel::ops {

/// The operand, whose dtype has an order. TypeError for complex numbers.
Tensor ordered(const char* op, const Operand& x, const char* operand = "x");
/// The positions of the ranks [first, last) along the last axis of x, not recorded.
Tensor select_last(const Tensor& x, std::int64_t first, std::int64_t last, bool descending = false);
/// TraceError while a function is traced: the extents of the op's results depend on elements of x. `instead` names what
/// has a fixed size.
void require_extents(const char* op, const Tensor& x, const char* instead);

}  // namespace reel::ops
