// kmeans: the sum of squared distances of points to their nearest centroids, and the direction of Newton's method.
#pragma once
#include <algorithm>

#include "../eval.hpp"

namespace gradbench::kmeans {

using reel::Tensor;

struct Input {
  Tensor points;     // [n, d]
  Tensor centroids;  // [k, d]
};

struct Direction {
  Tensor value;  // [k, d]
};

// The index of each point's nearest centroid, [n]: by |p - c|^2 less |p|^2, which all centroids share, in blocks of
// points whose distances stay in the cache.
inline Tensor nearest(const Tensor& points, const Tensor& centroids) {
  const std::int64_t n = points.shape()[0], k = centroids.shape()[0], block = 1 + 65536 / (k + 1);
  const Tensor doubled = -2 * centroids, squares = reel::expand_dims(sum(square(centroids), 1), 1);
  std::vector<Tensor> indices;
  for (std::int64_t first = 0; first < n; first += block) {
    const Tensor some = slice(points, {reel::range(first, first + block)});
    indices.push_back(argmin(matmul(doubled, some, {.transpose_b = true}) + squares, 0));
  }
  return concatenate(indices);
}

// The nearest centroids are constant around every point where the cost has a derivative. The points of a cluster enter
// by their number and sum: sum |p - c|^2 = sum |p|^2 - 2 c (sum of a cluster's p) + |c|^2 (its size).
inline Tensor cost(const Tensor& points, const Tensor& centroids) {
  const std::int64_t k = centroids.shape()[0];
  const Tensor cluster = nearest(points, stop_gradient(centroids));
  const Tensor sizes = scatter_add(reel::zeros({k}), cluster, reel::ones({points.shape()[0]}));
  const Tensor sums = scatter_add(zeros_like(centroids), cluster, points);
  const Tensor flat = reshape(points, {points.size()});
  return dot(flat, flat) + dot(sizes, sum(square(centroids), 1)) - 2 * sum(centroids * sums);
}

// The gradient over the diagonal of the Hessian, element by element. The Hessian is diagonal: its product with ones, a
// forward derivative of the gradient, is the diagonal.
inline Direction direction(const Tensor& points, const Tensor& centroids) {
  reel::ForwardAccumulator accumulator(centroids, ones_like(centroids));
  reel::GradientTape tape;
  tape.watch(centroids);
  const reel::Gradient gradient = tape.gradient(cost(points, centroids), centroids);
  return {*gradient / *accumulator.jvp(gradient)};
}

/// The cost does not depend on a centroid without points. As published, its direction is then 0 / 0, so the answer is
/// an error.
inline Json to_json(const Direction& direction) {
  const std::vector<double> values = direction.value.to_vector();
  const auto columns = static_cast<std::size_t>(direction.value.shape()[1]);
  for (std::size_t i = 0; i < values.size(); i += columns)
    if (std::isnan(values[i]))
      throw reel::ValueError("no point is nearest to centroid " + std::to_string(i / columns) +
                             ": Newton's direction is 0 / 0 there; leave the centroid out");
  return gradbench::to_json(direction.value);
}

inline Module functions() {
  const auto read = [](const Field& input) {
    const Tensor points = input.at("points").tensor({any_extent, any_extent});
    return Input{points, input.at("centroids").tensor({any_extent, points.shape()[1]})};
  };
  return {{"cost", timed(read, [](const Input& input) { return cost(input.points, input.centroids); })},
          {"dir", timed(read, [](const Input& input) { return direction(input.points, input.centroids); })}};
}

}  // namespace gradbench::kmeans
