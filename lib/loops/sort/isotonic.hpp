// Isotonic regression.
#pragma once
#include <reel/tensor.hpp>

namespace reel::loops {

/// y [rows, n] = the nearest nondecreasing (or nonincreasing) rows in the least-squares sense: means of blocks of x.
/// starts, int64: for each element where its block begins in the row. float32 or float64, contiguous, without shared
/// memory.
void isotonic_rows(const Tensor& x, bool increasing, const Tensor& y, const Tensor& starts);

}  // namespace reel::loops
