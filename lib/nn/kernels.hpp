// Kernels of convolution and pooling, on packed planes.
#pragma once
#include "kernels/loop.hpp"
#include "kernels/set.hpp"

namespace reel::kernels {

// Packs a strided plane into a contiguous one of rows x columns. Rows and columns [first, last) are copied from the
// strided plane, whose first element `from` goes to (first_row, first_column). The others are set to `fill`. Up to one
// vector past the end of the plane is overwritten.
struct PlaneLayout {
  const void* from;
  std::ptrdiff_t row_stride, column_stride;
  void* to;
  std::ptrdiff_t rows, columns, first_row, last_row, first_column, last_column;
  double fill;
};
// out[f * out_stride + k] += the sum over u < count and i < n, a multiple of `lanes`, of
// g[u * g_step + f * g_stride + i] * x[u * x_step + offset[k] + i].
struct PlaneProducts {
  const void *g, *x;
  std::ptrdiff_t count, g_step, x_step, g_stride, filters;
  const std::ptrdiff_t* offset;
  std::ptrdiff_t taps, n;
  void* out;
  std::ptrdiff_t out_stride;
};
// Convolution and pooling over packed planes. Ranges of n elements are read and written in whole vectors: n is rounded
// up.
struct Convolution {
  std::ptrdiff_t bytes;  // of an element
  std::ptrdiff_t lanes;  // of a vector
  std::ptrdiff_t block;  // the most filters of one call of correlate, which also takes each lower power of two
  // out[f * out_stride + i] = the sum over k < taps of w[k * filters + f] * x[offset[k] + i], i < n.
  void (*correlate)(const void* x, const std::ptrdiff_t* offset, std::ptrdiff_t taps, const void* w,
                    std::ptrdiff_t filters, void* out, std::ptrdiff_t out_stride, std::ptrdiff_t n);
  void (*products)(const PlaneProducts& p);
  void (*pack)(const PlaneLayout& p);
  // The inverse of pack: to[r * row_stride + c * column_stride] = from[r * width + c]; with `add`, += instead of =.
  void (*unpack)(const void* from, std::ptrdiff_t width, void* to, std::ptrdiff_t row_stride,
                 std::ptrdiff_t column_stride, std::ptrdiff_t rows, std::ptrdiff_t columns, bool add);
  // out[i] = the greatest x[offset[k] + i], place[i] = the first such k; first[i] where all are -inf. A NaN wins.
  void (*greatest)(const void* x, const std::ptrdiff_t* offset, std::ptrdiff_t taps, const void* first, void* out,
                   void* place, std::ptrdiff_t n);
};

/// float32, float64.
struct ConvolutionKernels : ByDType<Convolution> {
  static constexpr KernelFamily family = KernelFamily::convolution;
};

}  // namespace reel::kernels
