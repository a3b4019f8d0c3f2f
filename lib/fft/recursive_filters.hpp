// Recursive filters.
#pragma once
#include <reel/tensor.hpp>

namespace reel::loops {

/// out[i] = x[i] - the sum over k < the size of a of a[k] out[i - 1 - k], along the last axis. All are float32 or
/// float64. `out` is contiguous, has the shape of x, and shares no memory with it.
void recursion(const Tensor& a, const Tensor& x, const Tensor& out);

}  // namespace reel::loops
