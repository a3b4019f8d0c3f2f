// Isotonic regression.
#pragma once
#include <reel/tensor.hpp>

namespace reel::loops {

/// y [rows, n] = the nearest nondecreasing, or nonincreasing, rows by squares: means of blocks of x; starts, int64:
/// where in its row the block of each element begins. float32 or float64, contiguous, without shared memory.
void isotonic_rows(const Tensor& x, bool increasing, const Tensor& y, const Tensor& starts);

}  // namespace reel::loops
