// Shared by normalisations and losses: moving the axis of interest to the end.
#pragma once
#include "ops/promote.hpp"
#include "ops/reduce/reduction.hpp"

namespace reel::ops {

/// x [outer, channels, inner], with elements, normalised in rows of channels / groups times inner elements, times scale
/// plus offset, [channels] each. One entry.
Tensor group_norm_rows(const Tensor& x, const Tensor& scale, const Tensor& offset, std::int64_t groups, double epsilon);

/// x with `axis` moved to the end: recorded, and held in `scratch`.
inline const Tensor& last(const Tensor& x, int axis, Tensor& scratch) {
  if (axis == x.rank() - 1) return x;
  Shape order;
  for (int d = 0; d < x.rank(); ++d)
    if (d != axis) order.push_back(d);
  order.push_back(axis);
  return scratch = transpose(x, order);
}

}  // namespace reel::ops
