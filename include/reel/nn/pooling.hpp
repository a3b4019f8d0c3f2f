// Pooling beyond windows of one size: adaptive, by powers, with indices, at pseudo-random places; dilation and erosion.
// Conventions of windows, padding and dtypes are those of <reel/nn/convolution.hpp>. Derivatives exist to every order,
// in both modes.
#pragma once
#include <reel/api.hpp>
#include <reel/nn/volumes.hpp>
#include <reel/ops/make.hpp>
#include <tuple>

namespace REEL_API reel {

// Adaptive pooling
//
// As many windows as asked for: of n elements along an axis, window i of m has those from floor(i n / m) to below
// ceil((i + 1) n / m), so that windows overlap if m does not divide n; m may exceed n. (torch.nn.functional.)
// ShapeError for a size below 1 or above 2^29, and for an axis to be pooled without elements. To any order.

/// The mean of each window: [batch, channels, length] to [batch, channels, size], and so on. float16 and bfloat16
/// compute in float32. Gradient: g over the number of elements, added at each of them.
Tensor adaptive_avg_pool1d(const Operand& x, std::int64_t size);
Tensor adaptive_avg_pool2d(const Operand& x, const Size2d& size);
Tensor adaptive_avg_pool3d(const Operand& x, const Size3d& size);
/// The greatest element of each window, NaN if one is. Gradient: to the first greatest element in row-major order, or
/// to the first NaN; summed over windows that overlap.
Tensor adaptive_max_pool1d(const Operand& x, std::int64_t size);
Tensor adaptive_max_pool2d(const Operand& x, const Size2d& size);
Tensor adaptive_max_pool3d(const Operand& x, const Size3d& size);

/// (sum |x|^p)^(1/p) of each window, by norm: without overflow, with gradient 0 where all elements are 0. stride 0: the
/// window. (torch.nn.functional.lp_pool1d, whose odd p keep signs and which is NaN for a negative sum.) Windows that
/// overlap are copied. ShapeError, ValueError for windows and strides as in max_pool1d; ValueError unless p is finite
/// and at least 1. Gradient: sign(x) (|x| / y)^(p - 1) g, summed over windows that overlap.
Tensor lp_pool1d(const Operand& x, double p, std::int64_t window, std::int64_t stride = 0);
Tensor lp_pool2d(const Operand& x, double p, const Size2d& window, const Size2d& stride = {0, 0});
Tensor lp_pool3d(const Operand& x, double p, const Size3d& window, const Size3d& stride = {0, 0, 0});

/// The results of max_pool1d_with_indices and its like. indices, int64, of the shape of y: of each element of y the
/// position in its sequence, image or volume of x, row-major: in an image row times width plus column. They have no
/// gradient.
struct MaxPool1dIndices {
  Tensor y, indices;
  auto leaves() { return std::tie(y, indices); }
};
struct MaxPool2dIndices {
  Tensor y, indices;
  auto leaves() { return std::tie(y, indices); }
};
struct MaxPool3dIndices {
  Tensor y, indices;
  auto leaves() { return std::tie(y, indices); }
};
/// max_pool1d, max_pool2d and max_pool3d, and where their elements come from: the first greatest element in row-major
/// order, or the first NaN. Windows that overlap are copied. (torch.nn.functional.max_pool2d_with_indices.) Errors and
/// gradients: those of the pooling.
MaxPool1dIndices max_pool1d_with_indices(const Operand& x, std::int64_t window, const MaxPool1dOptions& options = {});
MaxPool2dIndices max_pool2d_with_indices(const Operand& x, const Size2d& window, const MaxPool2dOptions& options = {});
MaxPool3dIndices max_pool3d_with_indices(const Operand& x, const Size3d& window, const MaxPool3dOptions& options = {});
/// Zeros [batch, channels, size...] with the elements of x at the positions in its sequence, image or volume that
/// `indices` name, of the shape of x. Of equal positions the last counts. (torch.nn.functional.max_unpool2d.)
/// ShapeError for indices of another shape; TypeError unless they are integers; IndexError for one that is no position;
/// negative ones count from the end. Gradient: that of the element at the position; 0 for an x that does not count.
Tensor max_unpool1d(const Operand& x, const Operand& indices, std::int64_t size);
Tensor max_unpool2d(const Operand& x, const Operand& indices, const Size2d& size);
Tensor max_unpool3d(const Operand& x, const Operand& indices, const Size3d& size);

// Pooling by windows {k_h, k_w} at pseudo-random places (Graham 2014, arXiv:1412.6071; PyTorch's
// fractional_max_pool2d). x is [batch, channels, height, width], the result [batch, channels, size]. Along an axis of n
// elements, window i of m begins at floor((i + u) a) - floor(u a) with a = (n - k) / (m - 1), the last one at n - k.
// Windows may overlap or leave elements out; they are copied. The number u is drawn uniformly from [0, 1), or given for
// each image, channel and axis: samples [batch, channels, 2] of a floating dtype, u for columns at [..., 0] and for
// rows at [..., 1]. Of a number outside [0, 1) the fractional part x - floor(x) is taken.
//
// ShapeError if window + size - 1 exceeds the image, if a window or size is not positive, and for samples of another
// shape; TypeError for samples that are not floating; ValueError for one that is NaN. Derivatives exist to any order.
// Samples have no gradient.

/// The greatest element of each window, NaN if one is. Gradient: to the first greatest element, or to the first NaN.
Tensor fractional_max_pool2d(const Operand& x, const Size2d& window, const Size2d& size, const Operand& samples);
Tensor fractional_max_pool2d(const Operand& x, const Size2d& window, const Size2d& size, Generator& generator);
/// The mean of each window. Gradient: g over the number of the window's elements, added at each of them.
Tensor fractional_avg_pool2d(const Operand& x, const Size2d& window, const Size2d& size, const Operand& samples);
Tensor fractional_avg_pool2d(const Operand& x, const Size2d& window, const Size2d& size, Generator& generator);

/// Options of dilation2d() and erosion2d().
struct Morphology2dOptions {
  Size2d stride = {1, 1};
  Padding padding = {};
  Size2d dilation = {1, 1};
};
/// Grayscale dilation, channel by channel: the greatest of x + w over each window, for w [channels, height, width]
/// (ShapeError otherwise); NaN if one is. Padding takes no part; ValueError if a window has nothing else. Windows are
/// copied. (tf.nn.dilation2d, of images [batch, height, width, channels].) Gradient: to x and w at the first greatest
/// sum, or at the first NaN. To any order.
Tensor dilation2d(const Operand& x, const Operand& w, const Morphology2dOptions& options = {});
/// Grayscale erosion: -dilation2d(-x, w rotated by 180 degrees), the least of x minus that. (tf.nn.erosion2d.)
Tensor erosion2d(const Operand& x, const Operand& w, const Morphology2dOptions& options = {});

}  // namespace reel
