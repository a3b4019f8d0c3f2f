// ba: bundle adjustment, the errors of points projected by cameras and their sparse Jacobian. Each observation has its
// own copy of a camera and a point, so that all are projected at once. Two reverse sweeps, one per coordinate of the
// image, then give all blocks of the Jacobian.
#pragma once
#include <algorithm>
#include <array>
#include <reel/elementwise.hpp>
#include <span>

#include "../eval.hpp"

namespace gradbench::ba {

using reel::Tensor;

// Rotation (3), centre (3), focal length, principal point (2), radii (2)
inline constexpr std::int64_t camera_size = 11;
inline constexpr std::int64_t block_size = camera_size + 3 + 1;  // camera, point, weight

struct Input {
  std::int64_t cameras = 0, points = 0, observations = 0;
  Tensor camera = {};                                       // [camera_size, cameras]
  Tensor point = {};                                        // [3, points]
  Tensor weight = {};                                       // [observations]
  Tensor feature = {};                                      // [2, observations]
  std::vector<std::int64_t> camera_of = {}, point_of = {};  // of each observation
};

struct Errors {
  Tensor projection;  // [2, observations]
  Tensor weight;      // [observations]
};

/// A sparse matrix: row i has the elements rows[i] to rows[i + 1] of columns and values.
struct SparseMatrix {
  std::vector<std::int32_t> rows, columns;
  Tensor values;
};

/// The input gives one camera, point, weight and feature, to be repeated.
inline Input read(const Field& input) {
  // The parameters have numbers of 32 bits.
  const std::int64_t most = Field::largest / (camera_size + 3 + 1);
  Input x{.cameras = input.at("n").integer(1, most),
          .points = input.at("m").integer(1, most),
          .observations = input.at("p").integer(1, most)};
  const auto repeated = [](const Tensor& column, std::int64_t count) {
    return contiguous(broadcast_to(expand_dims(column, 1), {column.size(), count}));
  };
  x.camera = repeated(input.at("cam").tensor({camera_size}), x.cameras);
  x.point = repeated(input.at("x").tensor({3}), x.points);
  x.weight = reel::full({x.observations}, input.at("w").number());
  x.feature = repeated(input.at("feat").tensor({2}), x.observations);
  for (std::int64_t i = 0; i < x.observations; ++i) {
    x.camera_of.push_back(i % x.cameras);
    x.point_of.push_back(i % x.points);
  }
  return x;
}

/// The parameters of each observation, block_size vectors.
inline std::vector<Tensor> gather_parameters(const Input& x) {
  std::vector<Tensor> parameters = unstack(gather(x.camera, reel::from_data(x.camera_of), 1));
  for (Tensor& coordinate : unstack(gather(x.point, reel::from_data(x.point_of), 1))) parameters.push_back(coordinate);
  parameters.push_back(x.weight);
  return parameters;
}

/// Weight times (projection - feature), the two coordinates. Rotation by Rodrigues' formula, or, for no rotation at
/// all, by its derivative.
inline std::array<Tensor, 2> project(std::span<const Tensor> p, const Tensor& feature) {
  const auto weighted_error = [](auto r0, auto r1, auto r2, auto c0, auto c1, auto c2, auto focal, auto u, auto v,
                                 auto k1, auto k2, auto x0, auto x1, auto x2, auto weight, auto f0, auto f1) {
    const auto d0 = x0 - c0, d1 = x1 - c1, d2 = x2 - c2;
    const auto square_angle = r0 * r0 + r1 * r1 + r2 * r2;
    const auto turns = square_angle > 0;
    const auto angle = sqrt(where(turns, square_angle, 1));
    const auto inverse = where(turns, 1 / angle, 1), cosine = where(turns, cos(angle), 1),
               sine = where(turns, sin(angle), 1);
    const auto w0 = r0 * inverse, w1 = r1 * inverse, w2 = r2 * inverse;
    const auto along = (w0 * d0 + w1 * d1 + w2 * d2) * (1 - cosine);
    const auto y0 = d0 * cosine + (w1 * d2 - w2 * d1) * sine + w0 * along;
    const auto y1 = d1 * cosine + (w2 * d0 - w0 * d2) * sine + w1 * along;
    const auto y2 = d2 * cosine + (w0 * d1 - w1 * d0) * sine + w2 * along;
    const auto image0 = y0 / y2, image1 = y1 / y2;
    const auto radius = image0 * image0 + image1 * image1;
    const auto distortion = 1 + k1 * radius + k2 * radius * radius;
    return std::array{weight * (image0 * distortion * focal + u - f0), weight * (image1 * distortion * focal + v - f1)};
  };
  return reel::elementwise(weighted_error, p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7], p[8], p[9], p[10], p[11],
                           p[12], p[13], p[14], feature[0], feature[1]);
}

inline Tensor weight_error(const Tensor& weight) { return 1 - square(weight); }

inline Errors objective(const Input& x) {
  return {.projection = reel::stack(project(gather_parameters(x), x.feature)), .weight = weight_error(x.weight)};
}

/// The positions of the elements, in the order of the values: two rows of block_size for each observation, then one
/// element for each weight.
inline SparseMatrix structure(const Input& x) {
  SparseMatrix matrix;
  matrix.rows.reserve(static_cast<std::size_t>(3 * x.observations + 1));
  matrix.columns.reserve(static_cast<std::size_t>((2 * block_size + 1) * x.observations));
  const auto add = [&](std::int64_t first, std::int64_t count) {
    for (std::int64_t j = 0; j < count; ++j) matrix.columns.push_back(static_cast<std::int32_t>(first + j));
  };
  const auto end_row = [&] { matrix.rows.push_back(static_cast<std::int32_t>(matrix.columns.size())); };
  const std::int64_t first_point = camera_size * x.cameras, first_weight = first_point + 3 * x.points;
  end_row();
  for (std::int64_t i = 0; i < x.observations; ++i)
    for (int coordinate = 0; coordinate < 2; ++coordinate) {
      add(camera_size * x.camera_of[static_cast<std::size_t>(i)], camera_size);
      add(first_point + 3 * x.point_of[static_cast<std::size_t>(i)], 3);
      add(first_weight + i, 1);
      end_row();
    }
  for (std::int64_t i = 0; i < x.observations; ++i) {
    add(first_weight + i, 1);
    end_row();
  }
  return matrix;
}

inline SparseMatrix jacobian(const Input& x) {
  const std::vector<Tensor> parameters = gather_parameters(x);
  reel::GradientTape tape({.persistent = true});
  tape.watch(parameters);
  const std::array<Tensor, 2> error = project(parameters, x.feature);
  const Tensor of_weight = weight_error(x.weight);
  tape.stop();
  std::vector<Tensor> columns;  // 2 * block_size, of one element for each observation
  const reel::GradientOptions zeros{.unconnected_gradients = reel::UnconnectedGradients::zero};
  for (const Tensor& coordinate : error)
    for (const reel::Gradient& column : tape.gradient(coordinate, parameters, zeros)) columns.push_back(column.dense());
  SparseMatrix matrix = structure(x);
  const Tensor blocks = reshape(transpose(reel::stack(columns)), {-1});
  matrix.values = reel::concatenate({blocks, tape.gradient(of_weight, x.weight).dense()});
  return matrix;
}

inline Json to_json(const Errors& errors) {
  const std::int64_t count = errors.weight.size();
  return {{"reproj_error",
           {{"elements", gradbench::to_json(slice(errors.projection, {reel::all, 0}))}, {"repeated", count}}},
          {"w_err", {{"element", errors.weight[0].item()}, {"repeated", count}}}};
}

/// All blocks are equal, because all inputs are repeated. So the first blocks and the last element stand for all.
inline Json to_json(const SparseMatrix& matrix) {
  const auto ends = [](const auto& list) {
    const auto head = std::min<std::ptrdiff_t>(2 * block_size, std::ssize(list));
    std::vector<typename std::remove_cvref_t<decltype(list)>::value_type> values(list.begin(), list.begin() + head);
    values.push_back(list.back());
    return values;
  };
  return {{"rows", ends(matrix.rows)}, {"cols", ends(matrix.columns)}, {"vals", ends(matrix.values.to_vector())}};
}

inline Module functions() { return {{"objective", timed(read, objective)}, {"jacobian", timed(read, jacobian)}}; }

}  // namespace gradbench::ba
