// What convolution and pooling share: options checked and made the geometry of the loops, and its way through a record.
#pragma once
#include <reel/ops/neural.hpp>

#include "loops/window/convolution.hpp"
#include "ops/engine.hpp"

namespace reel::ops {

/// What the options say of an op; window: rows and columns of taps.
struct WindowOptions {
  Size2d window, stride, dilation;
  const Padding& padding;
  std::int64_t groups = 1;
};
/// Windows over an image, checked.
loops::WindowGeometry window_geometry(const char* op, const Shape& image, const WindowOptions& options);
/// Likewise, from results [batch, channels, ...] to the image that conv2d makes them of.
loops::WindowGeometry geometry_from_results(const char* op, const Shape& results, const WindowOptions& options,
                                            const Size2d& size);

/// The operand as a tensor of rank 4 that has a derivative: else TypeError, ShapeError.
Tensor image_operand(const char* op, const Operand& x, const char* operand, const char* axes);

/// The geometry as attributes of a record.
using WindowAttributes = std::array<std::int64_t, 13>;
WindowAttributes attributes_of(const loops::WindowGeometry& c);
loops::WindowGeometry geometry_of(std::span<const std::int64_t> attributes);

}  // namespace reel::ops
