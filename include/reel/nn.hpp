// Networks on sequences [batch, channels, length] and volumes [batch, channels, depth, height, width]: convolution and
// pooling, and normalisation of channels; bags of embeddings, dropout and first weights. Conventions of windows,
// padding and dtypes are those of <reel/ops/neural.hpp>. Derivatives exist to every order, in both modes.
#pragma once
#include <optional>
#include <reel/ops/make.hpp>
#include <reel/ops/neural.hpp>

namespace [[gnu::visibility("default")]] reel {

// Sequences
//
// Each op is that of images [batch, channels, 1, length], on views, without copies. Errors, gradients and orders are
// those of the op of images.

/// How a sequence is padded: by a rule of Padding, or with {before, after} elements.
class Padding1d {
 public:
  constexpr Padding1d(Padding::Rule by = Padding::valid) : rule(by) {}
  constexpr Padding1d(std::int64_t before, std::int64_t after) : rule(Padding::given), sides{before, after} {}
  Padding::Rule rule;
  Size2d sides{};
};

/// Options of conv1d().
struct Conv1dOptions {
  std::int64_t stride = 1;
  Padding1d padding = {};
  std::int64_t dilation = 1;
  std::int64_t groups = 1;
};
/// Sums of products of the kernel w [filters, channels / groups, taps] with windows of x: conv2d along one axis.
/// (torch.nn.functional.conv1d.)
Tensor conv1d(const Operand& x, const Operand& w, const Conv1dOptions& options = {});

/// Options of conv1d_transpose().
struct Conv1dTransposeOptions {
  std::int64_t stride = 1;
  Padding1d padding = {};
  std::int64_t dilation = 1;
  std::int64_t groups = 1;
  /// Length of the result; default, 0: the smallest, of Padding::same the length times the stride.
  std::int64_t size = 0;
};
/// The transpose of conv1d, with the same arguments: x [batch, filters, ...] and w [filters, channels / groups, taps]
/// to [batch, channels, length]. (torch.nn.functional.conv_transpose1d.)
Tensor conv1d_transpose(const Operand& x, const Operand& w, const Conv1dTransposeOptions& options = {});

/// Options of max_pool1d() and max_pool1d_with_indices().
struct MaxPool1dOptions {
  /// Default, 0: the window.
  std::int64_t stride = 0;
  Padding1d padding = {};
  std::int64_t dilation = 1;
};
/// The greatest element of each window, NaN if one is. Gradient: to the first greatest element, or to the first NaN.
Tensor max_pool1d(const Operand& x, std::int64_t window, const MaxPool1dOptions& options = {});

/// Options of avg_pool1d().
struct AvgPool1dOptions {
  /// Default, 0: the window.
  std::int64_t stride = 0;
  Padding1d padding = {};
  /// Whether sums are divided by the size of the window even where it reaches into the padding.
  bool count_include_padding = false;
};
/// The mean of each window, 0 of one with nothing but padding. Gradient: g over the number of elements, added at each.
Tensor avg_pool1d(const Operand& x, std::int64_t window, const AvgPool1dOptions& options = {});

// Volumes
//
// Convolution of volumes is a sum of convolutions of images, one for each tap along the depth: the depth joins the
// batch axis. Of each tap, a tape keeps a copy of the planes that it reads, so the memory is `kernel depth / stride`
// times x. Padding is never multiplied with, as in conv2d.

/// Along depth, rows and columns.
using Size3d = std::array<std::int64_t, 3>;

/// How a volume is padded: by a rule of Padding, or with so many planes, rows and columns {before, after}.
class Padding3d {
 public:
  constexpr Padding3d(Padding::Rule by = Padding::valid) : rule(by) {}
  constexpr Padding3d(Size2d of_depth, Size2d of_rows, Size2d of_columns)
      : rule(Padding::given), sides{of_depth, of_rows, of_columns} {}
  Padding::Rule rule;
  std::array<Size2d, 3> sides{};
};

/// Options of conv3d().
struct Conv3dOptions {
  Size3d stride = {1, 1, 1};
  Padding3d padding = {};
  Size3d dilation = {1, 1, 1};
  std::int64_t groups = 1;
};
/// Sums of products of the kernel w [filters, channels / groups, kernel depth, kernel height, kernel width] with
/// windows of x. (torch.nn.functional.conv3d.) Gradient: as conv2d's. To any order.
Tensor conv3d(const Operand& x, const Operand& w, const Conv3dOptions& options = {});

/// Options of conv3d_transpose().
struct Conv3dTransposeOptions {
  Size3d stride = {1, 1, 1};
  Padding3d padding = {};
  Size3d dilation = {1, 1, 1};
  std::int64_t groups = 1;
  /// Depth, height and width of the result; default, {0, 0, 0}: the smallest, of Padding::same the size times the
  /// stride.
  Size3d size = {0, 0, 0};
};
/// The transpose of conv3d, with the same arguments: x [batch, filters, ...] and w [filters, channels / groups, ...] to
/// [batch, channels, depth, height, width]. ShapeError unless conv3d of a volume of that size has x's.
/// (torch.nn.functional.conv_transpose3d.) Gradients: conv3d of g for x, that of conv3d with x and g exchanged for w.
Tensor conv3d_transpose(const Operand& x, const Operand& w, const Conv3dTransposeOptions& options = {});

/// Options of max_pool3d() and max_pool3d_with_indices().
struct MaxPool3dOptions {
  /// Default, {0, 0, 0}: the window.
  Size3d stride = {0, 0, 0};
  Padding3d padding = {};
  Size3d dilation = {1, 1, 1};
};
/// The greatest element of each window, NaN if one is: pooled in planes, then along the depth. ValueError if a window
/// has nothing but padding. Gradient: to the first greatest element in row-major order, or to the first NaN.
Tensor max_pool3d(const Operand& x, const Size3d& window, const MaxPool3dOptions& options = {});

/// Options of avg_pool3d().
struct AvgPool3dOptions {
  /// Default, {0, 0, 0}: the window.
  Size3d stride = {0, 0, 0};
  Padding3d padding = {};
  /// Whether sums are divided by the size of the window even where it reaches into the padding.
  bool count_include_padding = false;
};
/// The mean of each window, 0 of one with nothing but padding: a mean in planes, then along the depth. Gradient: g over
/// the number of elements, added at each of them.
Tensor avg_pool3d(const Operand& x, const Size3d& window, const AvgPool3dOptions& options = {});

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

// Normalisation of channels, axis 1 of x [batch, channels, ...]

/// layer_norm of the elements of each group of channels of each example: channels fall into `groups` parts of
/// neighbours. (Wu, He 2018; torch.nn.functional.group_norm.) ShapeError if `groups` does not divide them; ValueError
/// for groups below 1 and epsilon below 0. Gradient: layer_norm's.
Tensor group_norm(const Operand& x, std::int64_t groups, double epsilon = 1e-5);
/// The same times `scale` plus `offset`, [channels] each (ShapeError otherwise).
Tensor group_norm(const Operand& x, const Operand& scale, const Operand& offset, std::int64_t groups,
                  double epsilon = 1e-5);
/// layer_norm of each channel of each example over all axes behind axis 1, of which there is at least one (ShapeError
/// otherwise). (Ulyanov, Vedaldi, Lempitsky 2016; torch.nn.functional.instance_norm.) Gradient: that of layer_norm.
Tensor instance_norm(const Operand& x, double epsilon = 1e-5);
/// The same times `scale` plus `offset`, [channels] each (ShapeError otherwise).
Tensor instance_norm(const Operand& x, const Operand& scale, const Operand& offset, double epsilon = 1e-5);

/// Options of local_response_norm().
struct LocalResponseNormOptions {
  std::int64_t size = 5;  ///< channels in a window; ValueError below 1
  double alpha = 1e-4;    ///< ValueError unless it is finite and at least 0
  double beta = 0.75;     ///< ValueError unless it is finite
  double k = 1;           ///< ValueError unless it is finite and above 0
};
/// x / (k + alpha / size sum(x^2))^beta, where the sum is over the channels from c - size / 2 to c + (size - 1) / 2
/// that exist. (Krizhevsky, Sutskever, Hinton 2012; torch.nn.functional.local_response_norm, defaults too but `size`,
/// which has none there. TensorFlow's is alpha sum(x^2) over a radius.) Gradient: that of the expression.
Tensor local_response_norm(const Operand& x, const LocalResponseNormOptions& options = {});

/// Options of l2_normalize().
struct L2NormalizeOptions {
  Axes axes = -1;          ///< what is normalised together
  double epsilon = 1e-12;  ///< a lower bound for sum(x^2); ValueError below 0
};
/// x / sqrt(max(sum(x^2), epsilon)) over `axes`. (tf.math.l2_normalize.) Squares do not overflow or underflow. Of a
/// vector of zeros: 0, with gradient 0 (TensorFlow's is g / sqrt(epsilon)). Gradient with y the result and n the
/// root: (g - y sum(g y)) / n, or g / n where epsilon decides.
Tensor l2_normalize(const Operand& x, const L2NormalizeOptions& options = {});
/// The same over one axis.
template <detail::Integer T>
Tensor l2_normalize(const Operand& x, T axis, double epsilon = 1e-12) {
  return l2_normalize(x, L2NormalizeOptions{.axes = axis, .epsilon = epsilon});
}

// Bags of embeddings

/// What becomes of the rows of a bag.
enum class BagMode : std::uint8_t { sum, mean, max };
/// Options of embedding_bag().
struct EmbeddingBagOptions {
  BagMode mode = BagMode::mean;
  /// Factors of the rows, of the shape of ids, computed with in the table's dtype, differentiable. ValueError unless
  /// the mode is sum, ShapeError for another shape, TypeError if complex. Empty: none.
  Tensor weights = {};
  /// Rows with this id take no part; a negative one counts from the end. IndexError unless it is a row.
  std::optional<std::int64_t> padding_id = {};
};
/// The sum, mean or greatest elements of rows of a table [n, ...]: row b of the result is that of the rows ids[b, :],
/// for ids [bags, length]. 0 for a bag without rows. (torch.nn.functional.embedding_bag.) Negative ids count from the
/// end. ShapeError for other ranks, TypeError unless ids are integers and the table floating, IndexError for an id out
/// of range. Gradient: IndexedSlices; of max, shared equally among ties.
Tensor embedding_bag(const Operand& table, const Operand& ids, const EmbeddingBagOptions& options = {});
/// The same with bags of different lengths: element k of ids [m] belongs to bag c - 1 for the number c of `offsets`
/// [bags] that are at most k, or to none. Offsets that ascend from 0 give consecutive bags; others are counted all the
/// same. IndexError for one outside [0, m].
Tensor embedding_bag(const Operand& table, const Operand& ids, const Operand& offsets,
                     const EmbeddingBagOptions& options = {});

// Dropout and first weights, drawn from a generator

/// Each element is 0 with probability p, otherwise x / (1 - p), whose mean is x. (Srivastava and others 2014;
/// torch.nn.functional.dropout, but a dropped inf or NaN is 0.) The mask is random_bernoulli(generator, shape, 1 - p);
/// it is drawn again, the same, where derivatives compute again (checkpoint). p = 0: x; p = 1: zeros; the generator
/// advances for neither. ValueError unless 0 <= p <= 1; TypeError unless x is floating and real. Gradient: g / (1 - p)
/// where x is kept, 0 elsewhere.
Tensor dropout(const Operand& x, double p, Generator& generator);

// First weights of a layer, by what it has as inputs and outputs: of a dense layer, [inputs, outputs], these two; of
// convolution in this library's layout, [filters, channels / groups, kernel...], the second and the first extent, each
// times the elements of the kernel; of a vector both are its extent, of a scalar 1. Counts below 1 are taken as 1.
// (TensorFlow's VarianceScaling, whose kernels are [kernel..., channels, filters].) TypeError unless the dtype is
// floating.

/// Uniform in [-a, a) with a = sqrt(6 / (inputs + outputs)). (Glorot, Bengio 2010.)
Tensor glorot_uniform(Generator& generator, const Shape& shape, DType dtype = DType::float64);
/// Normal of variance 2 / (inputs + outputs): random_truncated_normal with a stddev such that this is the variance
/// after truncation, as TensorFlow's. (torch's are not truncated.)
Tensor glorot_normal(Generator& generator, const Shape& shape, DType dtype = DType::float64);
/// Uniform in [-a, a) with a = sqrt(6 / inputs). (He and others 2015.)
Tensor he_uniform(Generator& generator, const Shape& shape, DType dtype = DType::float64);
/// Truncated as glorot_normal, of variance 2 / inputs.
Tensor he_normal(Generator& generator, const Shape& shape, DType dtype = DType::float64);
/// An orthogonal matrix times `gain`, uniform among all (Haar's measure): q of qr of normal numbers, with columns times
/// the sign of the diagonal of r. As a matrix, the shape is [first extent, product of the others]; its rows are
/// orthonormal, or its columns if there are fewer. (Saxe, McClelland, Ganguli 2014; torch.nn.init.orthogonal_.)
/// ShapeError for rank below 2; ValueError for a gain that is not finite.
Tensor orthogonal(Generator& generator, const Shape& shape, double gain = 1, DType dtype = DType::float64);

}  // namespace reel
