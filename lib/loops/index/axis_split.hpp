// A tensor seen as [outer, extent, inner] around one of its axes, or around a group of adjacent axes.
#pragma once
#include "core/block.hpp"

namespace reel::loops {

/// The products of the extents before the axes [first, last), of these axes, and behind them.
struct AxisSplit {
  std::int64_t outer = 1, extent = 1, inner = 1;
  AxisSplit(const Shape& shape, int first, int last) {
    for (int d = 0; d < shape.rank(); ++d) (d < first ? outer : d < last ? extent : inner) *= shape.begin()[d];
  }
  AxisSplit(const Shape& shape, int axis) : AxisSplit(shape, axis, axis + 1) {}
};

/// The stride of the axes [first, last) of x as one axis. False if they cannot be seen as one.
inline bool merged_stride(const detail::Block* x, int first, int last, std::int64_t& stride) {
  stride = 0;
  std::int64_t count = 1;
  for (int d = last - 1; d >= first; --d) {
    const std::int64_t extent = x->extents()[d];
    if (extent == 1) continue;
    if (count == 1)
      stride = x->strides()[d];
    else if (x->strides()[d] != stride * count)
      return false;
    count *= extent;
  }
  return true;
}

/// The strides of x as [outer, extent, inner], if all three exist.
struct SplitStrides {
  std::int64_t outer = 0, extent = 0, inner = 0;
  bool exist;
  SplitStrides(const detail::Block* x, int first, int last)
      : exist(merged_stride(x, 0, first, outer) && merged_stride(x, first, last, extent) &&
              merged_stride(x, last, x->rank, inner)) {}
};

}  // namespace reel::loops
