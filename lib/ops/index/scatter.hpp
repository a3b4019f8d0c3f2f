// Terms at positions: the primitives behind all ops that set, add, multiply or compare by index.
#pragma once
#include "loops/index/scatter.hpp"
#include "ops/index/indices.hpp"

namespace reel::ops {

/// Each combines x [outer, extent, inner] with terms [outer, count, inner], of x's dtype, at positions [count] on one
/// axis. Recorded.
Tensor scatter_add_at(const Tensor& x, const Tensor& terms, const Tensor& positions, int axis);
Tensor scatter_set_at(const Tensor& x, const Tensor& terms, const Tensor& positions, int axis);
Tensor scatter_multiply_at(const Tensor& x, const Tensor& terms, const Tensor& positions, int axis);
/// max or min. `member`: the element of x is compared too where terms go.
Tensor scatter_extreme_at(loops::ScatterFunction f, const Tensor& x, const Tensor& terms, const Tensor& positions,
                          int axis, bool member = true);
/// Any of them; x is a member, except for extremes without `member`.
Tensor scatter_at(loops::ScatterFunction f, const Tensor& x, const Tensor& terms, const Tensor& positions, int axis,
                  bool member);

}  // namespace reel::ops
