// Terms at positions: the primitives that all ops which set, add, multiply or compare by index are made of.
#pragma once
#include "loops/index/scatter.hpp"
#include "ops/index/indices.hpp"

namespace reel::ops {

/// What is done at positions along one axis: x [outer, extent, inner] with terms [outer, count, inner], in x's dtype,
/// and positions [count]. Recorded.
Tensor scatter_add_at(const Tensor& x, const Tensor& terms, const Tensor& positions, int axis);
Tensor scatter_set_at(const Tensor& x, const Tensor& terms, const Tensor& positions, int axis);
Tensor scatter_multiply_at(const Tensor& x, const Tensor& terms, const Tensor& positions, int axis);
/// max or min. `member`: x is one of those that are compared also where terms go.
Tensor scatter_extreme_at(loops::ScatterFunction f, const Tensor& x, const Tensor& terms, const Tensor& positions,
                          int axis, bool member = true);
/// Any of them; x is a member of all but of extremes without `member`.
Tensor scatter_at(loops::ScatterFunction f, const Tensor& x, const Tensor& terms, const Tensor& positions, int axis,
                  bool member);

}  // namespace reel::ops
