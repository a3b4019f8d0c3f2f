#include "linalg/directions.hpp"

namespace reel::ops {

std::vector<Tensor> other_directions(const Tensor& directions, std::int64_t i) {
  std::vector<Tensor> parts;
  const std::int64_t k = count_of(directions);
  const auto add = [&](std::int64_t first, std::int64_t last) {
    if (first < last) parts.push_back(slice(directions, {ellipsis, range(first, last), range_from(0), range_from(0)}));
  };
  add(0, i);
  add(i + 1, k);
  return parts;
}

Tensor join_directions(std::vector<Tensor> parts) {
  if (parts.size() == 1) return parts[0];
  const auto batch = [](const Tensor& x) {
    Shape shape = x.shape();
    for (int d = 0; d < 3; ++d) shape.pop_back();
    return shape;
  };
  Shape common;
  for (const Tensor& x : parts) common = broadcast_shapes("directions", common, batch(x));
  for (Tensor& x : parts) {
    Shape shape = common;
    for (int d = -3; d < 0; ++d) shape.push_back(x.shape()[d]);
    if (x.shape() != shape) x = broadcast_to(x, shape);
  }
  return concatenate(parts, -3);
}
Tensor with_direction(const Tensor& directions, const Tensor& h) {
  if (count_of(directions) == 0) return as_direction(h);
  return join_directions({directions, as_direction(h)});
}
Tensor with_direction(std::vector<Tensor> parts, const Tensor& h) {
  parts.push_back(as_direction(h));
  return join_directions(std::move(parts));
}

}  // namespace reel::ops
