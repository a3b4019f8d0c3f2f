// Statistics of float32 and float64 tensors over axes, counted from the front, ascending. x has any strides; `out` is
// contiguous, of its dtype, with one element per index of the other axes.
#pragma once
#include <reel/tensor.hpp>

namespace reel::loops {

/// out = the mean; NaN of no elements. Also for complex tensors.
void mean(const Tensor& x, const Shape& axes, const Tensor& out);

/// out = x less the means of its rows along the last axis, and less those of the result, since the first means are
/// rounded. Also for complex tensors. `out` has x's shape.
void centre_rows(const Tensor& x, const Tensor& out);

/// out = the sum of the squared differences from the mean, divided by `freedom`.
void variance(const Tensor& x, const Shape& axes, double freedom, const Tensor& out);
/// out = its square root, where squares would overflow or underflow too.
void deviation(const Tensor& x, const Shape& axes, double freedom, const Tensor& out);

/// out = (the sum of |x|^p)^(1/p), without overflow or underflow on the way. p is finite and not 0; there is at least
/// one element to reduce.
void norm(const Tensor& x, double p, const Shape& axes, const Tensor& out);

}  // namespace reel::loops
