// What other ops need of the complex ones.
#pragma once
#include <reel/tensor.hpp>

namespace reel::ops {

/// |z| of a complex tensor, recorded as "abs".
Tensor magnitude(const Operand& z);

}  // namespace reel::ops
