// Sums over taps of planes times weights: both convolve() and convolve_back() are such correlations.
#pragma once

#include "nn/planes.hpp"

namespace reel::loops {

/// Results at every (row_step, column_step)-th element of an image, rows x columns of them, and the taps of each sum.
struct ResultGrid {
  detail::List<Tap> taps;
  std::int64_t rows, columns, first_row, first_column, row_step, column_step;
};

/// Strides of a kernel in bytes: between groups, between channels of results, between channels of operands.
struct KernelStrides {
  std::int64_t group, result, operand;
};

/// Each result is the sum, over the channels of its group and the taps of its grid, of an element of `from` times an
/// element of `kernel`.
struct Correlation {
  Tensor from, kernel, to;  // [batch, channels, rows, columns], the kernel [filters, ..., row taps, column taps]
  std::int64_t groups;
  KernelStrides strides;
  std::int64_t kernel_columns;  // taps in a row of the kernel
  PlaneSet set;                 // the planes of `from`
  detail::List<ResultGrid> grids;
};

/// Computes all results. No tensor of the correlation may be empty.
void correlate(Correlation correlation);

}  // namespace reel::loops
