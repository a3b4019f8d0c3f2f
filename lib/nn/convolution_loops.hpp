// Two-dimensional convolution and both gradients, on planes packed with their padding, a few rows at a time, without a
// matrix of patches (im2col). Ranges depend on shapes alone, and partial sums are added in order, so that results have
// the same bits for every number of threads. The caller has checked shapes.
#pragma once
#include <reel/tensor.hpp>

namespace reel::loops {

/// Windows along an axis: window i has the elements i * stride + tap * dilation - before, as far as they exist.
struct WindowAxis {
  std::int64_t extent, taps, results, stride, dilation, before;
};
struct WindowGeometry {
  std::int64_t groups;
  WindowAxis rows, columns;
};

// Operands have any strides; results are contiguous; float32 or float64.

/// y [batch, filters, out rows, out columns] of x [batch, channels, rows, columns] and w [filters, channels / groups,
/// row taps, column taps].
void convolve(const WindowGeometry& c, const Tensor& x, const Tensor& w, const Tensor& y);
/// x from y and w: the transpose of convolve() as a linear function of x.
void convolve_back(const WindowGeometry& c, const Tensor& y, const Tensor& w, const Tensor& x);
/// w from x and y: the transpose of convolve() as a linear function of w.
void convolve_filters(const WindowGeometry& c, const Tensor& x, const Tensor& y, const Tensor& w);

}  // namespace reel::loops
