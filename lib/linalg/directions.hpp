// Lists of directions of a mixed derivative: one tensor [..., k, n, n], so that one kept value holds all of them.
#pragma once
#include <reel/ops/index.hpp>
#include <reel/ops/shape.hpp>
#include <vector>

#include "ops/engine.hpp"

namespace reel::ops {

inline std::int64_t count_of(const Tensor& directions) { return directions.shape()[-3]; }
inline Tensor as_direction(const Tensor& h) { return expand_dims(h, -3); }
inline Tensor direction(const Tensor& directions, std::int64_t i) {
  return slice(directions, {ellipsis, i, range_from(0), range_from(0)});
}
/// All directions but number i.
std::vector<Tensor> other_directions(const Tensor& directions, std::int64_t i);
/// Concatenates along the axis of directions; the axes before it broadcast.
Tensor join_directions(std::vector<Tensor> parts);
Tensor with_direction(const Tensor& directions, const Tensor& h);
Tensor with_direction(std::vector<Tensor> parts, const Tensor& h);

/// The cotangent of the directions; cotangent(i) is that of direction i.
template <class F>
Tensor of_each_direction(const Tensor& directions, const F& cotangent) {
  std::vector<Tensor> parts;
  for (std::int64_t i = 0; i < count_of(directions); ++i) parts.push_back(as_direction(cotangent(i)));
  return join_directions(std::move(parts));
}

}  // namespace reel::ops
