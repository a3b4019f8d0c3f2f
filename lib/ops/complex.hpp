// Complex ops that other ops use.
#pragma once
#include <reel/tensor.hpp>

namespace reel::ops {

/// |z| of a complex tensor, recorded as "abs".
Tensor magnitude(const Tensor& z);

/// The complex form of the pointwise op with this name, whose definition is for real numbers. Recorded. An empty handle
/// if there is none.
Tensor complex_form(const char* name, const Tensor& z);

}  // namespace reel::ops
