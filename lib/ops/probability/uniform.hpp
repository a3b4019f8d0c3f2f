// The uniform numbers of which samples are quantiles.
#pragma once
#include <initializer_list>
#include <reel/ops/make.hpp>

namespace reel::ops {

/// Checks all arguments; then uniform numbers above 0 and below 1, of at least 32 bits. Parameters broadcast to the
/// shape.
Tensor uniform_numbers(const char* op, Generator& generator, const Shape& shape, DType dtype,
                       std::initializer_list<const Operand*> parameters);

}  // namespace reel::ops
