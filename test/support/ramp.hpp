// Tensors for tests whose values do not matter.
#pragma once
#include <reel/ops/make.hpp>
#include <reel/ops/shape.hpp>

namespace support {

/// float64 elements that rise from `from` by 1.7 in equal steps, row-major.
inline reel::Tensor ramp(const reel::Shape& shape, double from = -1) {
  return reel::reshape(reel::linspace(from, from + 1.7, shape.elements()), shape);
}

}  // namespace support
