// Shared by convolution and pooling: options, checked and converted to the geometry of the loops, and to attributes.
#pragma once
#include <reel/ops/neural.hpp>

#include "loops/window/convolution.hpp"
#include "ops/engine.hpp"

namespace reel::ops {

/// The options of an op; window: rows and columns of taps.
struct WindowOptions {
  Size2d window, stride, dilation;
  const Padding& padding;
  std::int64_t groups = 1;
};
/// Windows over an image, checked.
loops::WindowGeometry window_geometry(const char* op, const Shape& image, const WindowOptions& options);
/// The same from results [batch, channels, ...], for the image of which conv2d makes them.
loops::WindowGeometry geometry_from_results(const char* op, const Shape& results, const WindowOptions& options,
                                            const Size2d& size);

/// The operand as a differentiable tensor of rank 4. TypeError, ShapeError otherwise.
Tensor image_operand(const char* op, const Operand& x, const char* operand, const char* axes);

/// The geometry as attributes of a primitive.
using WindowAttributes = std::array<std::int64_t, 13>;
WindowAttributes attributes_of(const loops::WindowGeometry& c);
loops::WindowGeometry geometry_of(std::span<const std::int64_t> attributes);

}  // namespace reel::ops
