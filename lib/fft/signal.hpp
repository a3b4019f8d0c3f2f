// Operands of signals.
#pragma once
#include "ops/promote.hpp"

namespace reel::ops {

/// The elements [begin, end) of an axis.
Tensor part_of(const Tensor& x, int axis, std::int64_t begin, std::int64_t end);
/// x with zeros before and after an axis.
Tensor with_zeros(const Tensor& x, int axis, std::int64_t before, std::int64_t after);

/// A window and the distance of the segments that it selects. ShapeError unless it is a vector of at least one number,
/// ValueError unless the distance is from 1 to its length.
struct Frames {
  Tensor window;  // in the dtype of the signal
  std::int64_t n;
  Frames(const char* op, const Operand& operand, DType d, std::int64_t hop);
};

}  // namespace reel::ops
