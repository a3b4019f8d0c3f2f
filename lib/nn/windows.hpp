// Shared by convolution and pooling: options, checked and converted to the geometry of the loops, and to attributes.
#pragma once
#include <reel/nn/volumes.hpp>

#include "nn/convolution_loops.hpp"
#include "ops/engine.hpp"

namespace reel::ops {

/// What a pooling op keeps of a window.
enum class Pooled { mean, max };

/// The axes of images of one to three dimensions, in errors.
inline constexpr const char* axes_text[] = {"[batch, channels, length]", "[batch, channels, height, width]",
                                            "[batch, channels, depth, height, width]"};

/// The options of an op; window: rows and columns of taps.
struct WindowOptions {
  Size2d window, stride, dilation;
  const Padding& padding;
  std::int64_t groups = 1;
};
/// Windows along one axis, and its name in errors.
struct AxisOptions {
  const char* name;
  std::int64_t window, stride, dilation;
  Padding::Rule rule;
  Size2d sides;  // of Padding::given
};
/// Windows along the axes of sequences, images and volumes.
AxisOptions sequence_options(std::int64_t window, std::int64_t stride, std::int64_t dilation = 1,
                             const Padding1d& padding = {});
std::array<AxisOptions, 2> image_options(const Size2d& window, const Size2d& stride, const Size2d& dilation = {1, 1},
                                         const Padding& padding = {});
std::array<AxisOptions, 3> volume_options(const Size3d& window, const Size3d& stride,
                                          const Size3d& dilation = {1, 1, 1}, const Padding3d& padding = {});
/// The stride of pooling, for which zeros stand for the window.
template <class Size>
Size stride_of(const Size& stride, const Size& window) {
  return stride == Size{} ? window : stride;
}
/// ShapeError, ValueError for options out of range.
void check_windows(const char* op, std::span<const AxisOptions> axes, std::int64_t groups);
/// Windows along the axes of x behind the first two. ShapeError where they do not fit.
void window_axes(const char* op, const Shape& image, std::span<const AxisOptions> options,
                 std::span<loops::WindowAxis> axes);
/// The same from the shape of results, for an image of that size, or of the smallest if all are 0.
void window_axes_from_results(const char* op, const Shape& results, std::span<const AxisOptions> options,
                              std::span<const std::int64_t> size, std::span<loops::WindowAxis> axes);
/// ShapeError unless channels, filters and groups of x and w match: in convolution, and in its transpose.
void check_kernel(const char* op, const Shape& image, const Shape& kernel, std::int64_t groups);
void check_transposed_kernel(const char* op, const Shape& results, const Shape& kernel, std::int64_t groups);
/// The same windows without taps that always meet padding. ValueError if a window meets nothing else.
loops::WindowAxis without_padding(const char* op, loops::WindowAxis axis, const char* name, const Shape& image);

/// The padding of images with these windows. By the rule `same` images without elements have no results.
Padding padding_of(Padding::Rule rule, const loops::WindowAxis& rows, const loops::WindowAxis& columns);

/// Windows over an image, checked.
loops::WindowGeometry window_geometry(const char* op, const Shape& image, const WindowOptions& options);
/// The same from results [batch, channels, ...], for the image of which conv2d makes them.
loops::WindowGeometry geometry_from_results(const char* op, const Shape& results, const WindowOptions& options,
                                            const Size2d& size);

/// The operand as a differentiable tensor of this rank. TypeError, ShapeError otherwise.
Tensor image_operand(const char* op, const Operand& x, const char* operand, const char* axes, int rank = 4);
struct ImageAndKernel {
  Tensor x, w;
};
/// An image and a kernel of these axes, in their common dtype.
ImageAndKernel image_and_kernel(const char* op, const Operand& x, const Operand& w, const char* x_axes,
                                const char* w_axes, int rank = 4);

/// The geometry as attributes of a primitive.
using WindowAttributes = std::array<std::int64_t, 13>;
WindowAttributes attributes_of(const loops::WindowGeometry& c);
loops::WindowGeometry geometry_of(std::span<const std::int64_t> attributes);

}  // namespace reel::ops
