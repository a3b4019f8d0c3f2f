// The iteration that take_along and add_along share.
#pragma once
#include <algorithm>

#include "loops/index/axis_split.hpp"
#include "loops/loops.hpp"

namespace reel::loops {

/// Calls f(p, q) for each position: q is its place in row-major order, p that of the element it names, in a tensor of
/// the positions' shape but for an axis of `extent`. In order where p may repeat.
template <class F>
void for_each_along(const Tensor& strided, int axis, std::int64_t extent, const F& f) {
  if (strided.size() == 0) return;
  Tensor scratch;
  const Tensor& positions = contiguous(strided, scratch);
  const AxisSplit split(positions.shape(), axis);
  const auto* position = detail::mutable_data<std::int64_t>(positions);
  const auto run = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t b = begin; b < end; ++b)
      for (std::int64_t k = 0; k < split.extent; ++k)
        for (std::int64_t i = 0; i < split.inner; ++i) {
          const std::int64_t q = (b * split.extent + k) * split.inner + i;
          f((b * extent + position[q]) * split.inner + i, q);
        }
  };
  const std::int64_t elements = split.extent * split.inner;
  if (positions.size() < parallel_threshold)
    run(0, split.outer);
  else
    parallel_for(split.outer, std::max<std::int64_t>(1, parallel_threshold / elements), run);
}

}  // namespace reel::loops
