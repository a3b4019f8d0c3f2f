// Two-dimensional convolution and both its gradients, over planes laid out with their padding a few rows at a time: no
// matrix of patches is ever made. Blocks depend on shapes alone, and what they add is added in their order, so that a
// result has the same bits for every number of threads. Shapes have been checked by the caller.
#pragma once
#include <reel/tensor.hpp>

namespace reel::loops {

/// One axis of a convolution: result i is made of elements i * stride + tap * dilation - before, where they exist.
struct ConvolvedAxis {
  std::int64_t extent, taps, results, stride, dilation, before;
};
struct Convolved {
  std::int64_t groups;
  ConvolvedAxis rows, columns;
};

// Operands have any strides, results are contiguous; float32 or float64.

/// y [batch, filters, out rows, out columns] of x [batch, channels, rows, columns] and w [filters, channels / groups,
/// row taps, column taps].
void convolve(const Convolved& c, const Tensor& x, const Tensor& w, const Tensor& y);
/// x of y and w: each element is the sum of what it has been multiplied with above, times y.
void convolve_back(const Convolved& c, const Tensor& y, const Tensor& w, const Tensor& x);
/// w of x and y, likewise.
void convolve_filters(const Convolved& c, const Tensor& x, const Tensor& y, const Tensor& w);

}  // namespace reel::loops
