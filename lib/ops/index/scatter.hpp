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
/// max or min.
enum class Member : std::uint8_t {
  no,       // terms replace the element of x at their position
  yes,      // it is compared with them
  neutral,  // they replace it, and it is at most (for min: at least) any number
};
Tensor scatter_extreme_at(loops::ScatterFunction f, const Tensor& x, const Tensor& terms, const Tensor& positions,
                          int axis, Member member);
/// Any of them; x is a member, except for extremes without `member`.
Tensor scatter_at(loops::ScatterFunction f, const Tensor& x, const Tensor& terms, const Tensor& positions, int axis,
                  bool member);

}  // namespace reel::ops
