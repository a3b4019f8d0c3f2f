// Weighted sums of the values at grid points around positions, which all ops on grids are.
#pragma once
#include <span>

#include "interpolate/interpolate.hpp"

namespace reel::ops {

/// Along one axis of a grid: the points that take part for each position.
struct AxisTaps {
  Quantity indices;  ///< [positions, taps], int64, of points of the grid
  Quantity weights;  ///< [positions, taps]; not defined: 1, of a single tap
  Quantity outside;  ///< boolean [positions, taps]: the tap is beyond the grid. Not defined: none is
  std::int64_t extent = 0;
};

/// For values [batch, grid points], row-major along the axes: [batch, positions]. Taps outside have the value `fill`.
Quantity tap_sums(const char* op, const Tensor& values, std::span<const AxisTaps> axes, double fill = 0);
/// The weight of a single tap at positions [positions]: 1, and NaN at NaN.
Quantity single_weight(const Tensor& x);
/// Weights along a last axis.
Quantity as_weights(std::initializer_list<Quantity> w);

}  // namespace reel::ops
