// Running extremes and logarithms of sums along an axis. With `reverse` they run from the last index to the first.
// Operands and results are contiguous, of one shape, and share no memory.
#pragma once
#include <reel/tensor.hpp>

namespace reel::loops {

/// values = the largest (or smallest) element of x so far, the latest one on ties; NaN from the first NaN on.
/// positions: its index along the axis, int64. Complex numbers have no order: nothing is written.
void running_extreme(const Tensor& x, int axis, bool largest, bool reverse, const Tensor& values,
                     const Tensor& positions);

/// z[i] = log(exp(x[0]) + ... + exp(x[i])), float32 or float64. It is kept as the largest element so far and the sum of
/// exponentials relative to it, a float64.
void log_running_sum(const Tensor& x, int axis, bool reverse, const Tensor& z);
/// The shares in z: weights[i] = exp(x[i] - z[i]) is that of x[i], carries[i] = exp(z[i-1] - z[i]) that of all elements
/// before it, 0 for the first. They are quotients of the sums, so that they add up to 1 however z is rounded. Where z
/// is infinite, the elements that equal it have equal shares.
void log_running_shares(const Tensor& x, const Tensor& z, int axis, bool reverse, const Tensor& weights,
                        const Tensor& carries);

}  // namespace reel::loops
