// Running extremes and logarithms of sums along an axis. With `reverse` they run from the last index to the first.
// Operands and results are contiguous, of one shape, and share no memory.
#pragma once
#include <reel/tensor.hpp>

namespace reel::loops {

/// values = the largest (or smallest) element so far of x, of equal ones the latest; NaN from the first NaN on.
/// positions: where along the axis it stands, int64. Complex numbers have none: nothing is written.
void running_extreme(const Tensor& x, int axis, bool largest, bool reverse, const Tensor& values,
                     const Tensor& positions);

/// z[i] = log(exp(x[0]) + ... + exp(x[i])), float32 or float64: as the largest element so far and the sum of
/// exponentials relative to it, which is float64.
void log_running_sum(const Tensor& x, int axis, bool reverse, const Tensor& z);
/// The shares of z's elements: weights[i] = exp(x[i] - z[i]) is that of x[i], carries[i] = exp(z[i-1] - z[i]) that of
/// all elements before it, 0 for the first. Where z is infinite, equal shares for the elements that equal it.
void log_running_shares(const Tensor& x, const Tensor& z, int axis, bool reverse, const Tensor& weights,
                        const Tensor& carries);

}  // namespace reel::loops
