// kmeans: the sum of squared distances of points to their nearest centroids, and the direction of Newton's method.
#pragma once
#include "../eval.hpp"

namespace gradbench::kmeans {

using reel::Tensor;

struct Input {
  Tensor points;     // [n, d]
  Tensor centroids;  // [k, d]
};

// The index of each point's nearest centroid, [n]. |p - c|^2 less |p|^2, which all centroids share.
inline Tensor nearest(const Tensor& points, const Tensor& centroids) {
  const Tensor distances =
      reel::expand_dims(sum(square(centroids), 1), 1) + matmul(-2 * centroids, points, {.transpose_b = true});
  return argmin(distances, 0);
}

// Which centroid is nearest is constant around every place where the cost has a derivative. The points enter by their
// number and sum in each cluster: sum |p - c|^2 = sum |p|^2 - 2 c (sum of a cluster's p) + |c|^2 (its size).
inline Tensor cost(const Tensor& points, const Tensor& centroids) {
  const std::int64_t k = centroids.shape()[0];
  const Tensor cluster = nearest(points, stop_gradient(centroids));
  const Tensor sizes = scatter_add(reel::zeros({k}), cluster, reel::ones({points.shape()[0]}));
  const Tensor sums = scatter_add(zeros_like(centroids), cluster, points);
  const Tensor all = reshape(points, {points.size()});
  return dot(all, all) + dot(sizes, sum(square(centroids), 1)) - 2 * sum(centroids * sums);
}

// The gradient over the diagonal of the Hessian, element by element. The Hessian is diagonal: its product with ones, a
// forward derivative of the gradient, is the diagonal.
inline Tensor direction(const Tensor& points, const Tensor& centroids) {
  reel::ForwardAccumulator accumulator(centroids, ones_like(centroids));
  reel::GradientTape tape;
  tape.watch(centroids);
  const reel::Gradient gradient = tape.gradient(cost(points, centroids), centroids);
  return *gradient / *accumulator.jvp(gradient);
}

inline Module functions() {
  const auto read = [](const Json& input) { return Input{tensor_at(input, "points"), tensor_at(input, "centroids")}; };
  return {{"cost", timed(read, [](const Input& input) { return cost(input.points, input.centroids); })},
          {"dir", timed(read, [](const Input& input) { return direction(input.points, input.centroids); })}};
}

}  // namespace gradbench::kmeans
