// What other ops need of the complex ones.
#pragma once
#include <reel/tensor.hpp>

namespace reel::ops {

/// |z| of a complex tensor, recorded as "abs".
Tensor magnitude(const Operand& z);

/// What the pointwise op of this name, whose definition is of real numbers, is of complex ones. Recorded. An empty
/// handle: nothing.
Tensor complex_form(const char* name, const Tensor& z);

}  // namespace reel::ops
