// Statistics of float32 and float64 tensors over axes, from the front and ascending. x has any strides; `out` is
// contiguous, of its dtype, with one element per index of the other axes.
#pragma once
#include <reel/tensor.hpp>

namespace reel::loops {

/// out = the mean; NaN where there is nothing to reduce. Of complex tensors, too.
void mean(const Tensor& x, const Shape& axes, const Tensor& out);

/// out = the sum of the squared differences from the mean, over `freedom`.
void variance(const Tensor& x, const Shape& axes, double freedom, const Tensor& out);

/// out = (the sum of |x|^p)^(1/p), without overflow or underflow on the way. p is finite and not 0; at least one
/// element is reduced.
void norm(const Tensor& x, double p, const Shape& axes, const Tensor& out);

}  // namespace reel::loops
