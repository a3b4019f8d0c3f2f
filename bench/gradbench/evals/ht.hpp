// ht: hand tracking, the distances of measured points from the surface of a hand model in a pose. The Jacobian by the
// pose is forward mode with all directions at once: a batch of copies of the pose, one per parameter, whose tangents
// are the identity. The surface coordinates of a point move only that point, so two directions serve all points.
#pragma once
#include <algorithm>
#include <array>

#include "../eval.hpp"

namespace gradbench::ht {

using reel::all;
using reel::range;
using reel::range_from;
using reel::range_to;
using reel::Tensor;

inline constexpr std::int64_t pose_size = 26;  // global rotation (3) and translation (3), 4 angles of each finger

/// Bones at one distance from the roots.
struct Level {
  std::int64_t first = 0, count = 0;
  Tensor parents = {};  // places in the level before
};

/// Matrices are 4 x 4, of homogeneous coordinates.
struct Model {
  std::vector<Level> levels = {};      // bones are in the order of the levels, all of them
  Tensor x_angle = {}, z_angle = {};   // [bones], which number of the pose it is; pose_size for none
  Tensor relative = {}, inverse = {};  // [bones, 4, 4], to the parent at rest; of the place in the hand at rest
  Tensor vertices = {}, weights = {};  // [vertices, 4], [vertices, bones]
  bool mirrored = false;
};

struct Input {
  Model model;
  Tensor pose;                       // [pose_size]
  Tensor points;                     // [points, 3]
  std::vector<Tensor> corners = {};  // [points] each: the vertex of each point, or the three of its triangle
  Tensor surface = {};               // [points, 2] in the second case
};

/// The bones level by level, by their old numbers.
inline std::vector<std::int64_t> sort_bones(const std::vector<std::int64_t>& parents, std::vector<Level>& levels) {
  std::vector<std::int64_t> order;
  std::vector<std::int64_t> before = {-1}, places;
  while (order.size() < parents.size()) {
    std::vector<std::int64_t> found;
    places.clear();
    for (std::size_t place = 0; place < before.size(); ++place)
      for (std::size_t bone = 0; bone < parents.size(); ++bone)
        if (parents[bone] == before[place]) {
          found.push_back(static_cast<std::int64_t>(bone));
          places.push_back(static_cast<std::int64_t>(place));
        }
    if (found.empty()) throw reel::ValueError("input: the parents of the bones go round in a circle");
    levels.push_back({std::ssize(order), std::ssize(found), reel::from_data(places)});
    order.insert(order.end(), found.begin(), found.end());
    before = std::move(found);
  }
  return order;
}

inline Model read_model(const Field& input) {
  Model model{.mirrored = input.at("is_mirrored").boolean()};
  const std::int64_t count = input.at("parents").size();
  if (count == 0) input.at("parents").fail("an empty list", "that of all bones");
  const auto order = sort_bones(input.at("parents").integers(-1, count - 1), model.levels);
  // Bone 0 is the wrist; of the four bones of each finger the first does not turn, the second turns about x and z, the
  // others about x.
  std::vector<std::int64_t> x_angle(order.size(), pose_size), z_angle(order.size(), pose_size);
  for (std::size_t k = 0; k < order.size(); ++k) {
    const std::int64_t finger = (order[k] - 1) / 4, joint = (order[k] - 1) % 4, first = 6 + 4 * finger;
    if (order[k] == 0 || finger >= 5 || joint == 0) continue;
    x_angle[k] = first + (joint == 1 ? 0 : joint);
    if (joint == 1) z_angle[k] = first + 1;
  }
  model.x_angle = reel::from_data(x_angle);
  model.z_angle = reel::from_data(z_angle);
  const Tensor bones = reel::from_data(order);
  model.relative = gather(input.at("base_relatives").tensor({count, 4, 4}), bones);
  model.inverse = gather(input.at("inverse_base_absolutes").tensor({count, 4, 4}), bones);
  model.vertices = input.at("base_positions").tensor({any_extent, 4});
  model.weights = gather(input.at("weights").tensor({model.vertices.shape()[0], count}), bones, 1);
  return model;
}

inline Input read(const Field& input) {
  const Field data = input.at("data"), correspondences = data.at("correspondences");
  Input x{.model = read_model(data.at("model")),
          .pose = input.at("theta").tensor({pose_size}),
          .points = data.at("points").tensor({any_extent, 3})};
  const std::int64_t points = x.points.shape()[0], last_vertex = x.model.vertices.shape()[0] - 1;
  if (correspondences.size() != points)
    correspondences.fail("a list of " + std::to_string(correspondences.size()),
                         "one number for each of " + std::to_string(points) + " points");
  if (input.at("us").is_empty_list()) {
    x.corners = {reel::from_data(correspondences.integers(0, last_vertex))};
    return x;
  }
  x.surface = input.at("us").tensor({points, 2});
  const Field triangles = data.at("model").at("triangles");
  std::vector<std::vector<std::int64_t>> vertices(3);
  for (const std::int64_t number : correspondences.integers(0, triangles.size() - 1)) {
    const Field triangle = triangles.at(number);
    const std::vector<std::int64_t> corners = triangle.integers(0, last_vertex);
    if (corners.size() != 3) triangle.fail("a list of " + std::to_string(corners.size()), "three vertices");
    for (std::size_t corner = 0; corner < 3; ++corner) vertices[corner].push_back(corners[corner]);
  }
  for (const std::vector<std::int64_t>& corner : vertices) x.corners.push_back(reel::from_data(corner));
  return x;
}

// Poses are a batch [b, pose_size].

/// The rotation of each bone, Rz Rx, [b, bones, 4, 4].
inline Tensor turns(const Model& model, const Tensor& poses) {
  const Tensor angles = reel::pad(poses, {0, 0}, {0, 1});  // a zero for the bones that do not turn
  const Tensor x = gather(angles, model.x_angle, 1), z = gather(angles, model.z_angle, 1);
  const Tensor cx = cos(x), sx = sin(x), cz = cos(z), sz = sin(z), zero = zeros_like(x), one = ones_like(x);
  const Tensor rows = reel::stack({cz, -sz * cx, sz * sx, zero,  //
                                   sz, cz * cx, -cz * sx, zero,  //
                                   zero, sx, cx, zero,           //
                                   zero, zero, zero, one});
  return reshape(moveaxis(rows, 0, 2), {x.shape()[0], x.shape()[1], 4, 4});
}

/// The motion of each bone from rest, rotation and translation, [b, 3, bones, 4].
inline Tensor movements(const Model& model, const Tensor& poses) {
  const Tensor relative = matmul(model.relative, turns(model, poses));
  std::vector<Tensor> absolute;
  for (const Level& level : model.levels) {
    const Tensor own = slice(relative, {all, range(level.first, level.first + level.count)});
    absolute.push_back(absolute.empty() ? own : matmul(gather(absolute.back(), level.parents, 1), own));
  }
  const Tensor moved = matmul(reel::concatenate(absolute, 1), model.inverse);
  return transpose(slice(moved, {all, all, range_to(3)}), {0, 2, 1, 3});
}

/// The matrix of a rotation by the length of a vector about it, [b, 3] to [b, 3, 3]; the identity below 1e-4.
inline Tensor rotation(const Tensor& axes) {
  const Tensor angle = reshape(norm(axes, 2, 1), {-1, 1, 1});
  if (angle.to_vector()[0] < 1e-4) return broadcast_to(reel::eye(3), {axes.shape()[0], 3, 3});
  const Tensor x = reshape(axes, {-1, 3, 1}) / angle, cosine = cos(angle);
  const Tensor generators =
      reel::tensor({{0, 0, 0, 0, 0, -1, 0, 1, 0}, {0, 0, 1, 0, 0, 0, -1, 0, 0}, {0, -1, 0, 1, 0, 0, 0, 0, 0}});
  const Tensor cross = reshape(matmul(reshape(x, {-1, 3}), generators), {-1, 3, 3});
  return cosine * reel::eye(3) + (1 - cosine) * x * reshape(x, {-1, 1, 3}) + sin(angle) * cross;
}

/// The vertices that each list names, [points, 3, b] for each list: weighted sums of the motions of all bones.
inline std::vector<Tensor> positions(const Model& model, const Tensor& poses, std::span<const Tensor> lists) {
  const std::int64_t batch = poses.shape()[0], columns = 4 * model.weights.shape()[1];
  Tensor moved = reshape(movements(model, poses), {batch, 3, columns});
  if (model.mirrored) moved = moved * reel::tensor({{-1.}, {1.}, {1.}});
  moved = matmul(rotation(slice(poses, {all, range_to(3)})), moved);
  const Tensor by_bone = reshape(transpose(moved), {columns, 3 * batch});
  const Tensor translation = transpose(slice(poses, {all, range(3, 6)}));
  const auto place = [&](const Tensor& weights, const Tensor& vertices) {
    const Tensor weighted = reshape(expand_dims(weights, 2) * expand_dims(vertices, 1), {-1, columns});
    return reshape(matmul(weighted, by_bone), {-1, 3, batch}) + translation;
  };
  std::vector<Tensor> result;
  const std::int64_t wanted = std::ssize(lists) * lists[0].size();
  if (wanted < model.vertices.shape()[0]) {  // no need for all vertices
    for (const Tensor& list : lists) result.push_back(place(gather(model.weights, list), gather(model.vertices, list)));
  } else {
    const Tensor vertices = place(model.weights, model.vertices);
    for (const Tensor& list : lists) result.push_back(gather(vertices, list));
  }
  return result;
}

/// The points of the surface, given by two of the three weights of their corners, or the corner itself.
inline Tensor blend(std::span<const Tensor> corners, const Tensor& surface) {
  if (corners.size() == 1) return corners[0];
  const Tensor u = slice(surface, {all, 0, reel::newaxis, reel::newaxis});
  const Tensor v = slice(surface, {all, 1, reel::newaxis, reel::newaxis});
  return u * corners[0] + v * corners[1] + (1 - u - v) * corners[2];
}

/// Measured minus modelled, [points, 3, b].
inline Tensor errors(const Input& x, const Tensor& poses) {
  return expand_dims(x.points, 2) - blend(positions(x.model, poses, x.corners), x.surface);
}

inline Tensor objective(const Input& x) { return reshape(errors(x, expand_dims(x.pose, 0)), {-1}); }

/// [3 points, 26], or with two columns more in front, by the surface coordinates of the row's point.
inline Tensor jacobian(const Input& x) {
  std::vector<Tensor> columns;
  if (x.corners.size() == 3) {
    const std::vector<Tensor> corners = positions(x.model, expand_dims(x.pose, 0), x.corners);
    const auto by_surface = [&](const Tensor& surface) { return expand_dims(x.points, 2) - blend(corners, surface); };
    for (const Tensor& direction : unstack(reel::eye(2)))
      columns.push_back(jvp(by_surface, x.surface, broadcast_to(direction, x.surface.shape())).second);
  }
  const Tensor poses = contiguous(broadcast_to(x.pose, {pose_size, pose_size}));
  columns.push_back(jvp([&](const Tensor& p) { return errors(x, p); }, poses, reel::eye(pose_size)).second);
  return reshape(reel::concatenate(columns, 2), {x.points.size(), -1});
}

inline Module functions() { return {{"objective", timed(read, objective)}, {"jacobian", timed(read, jacobian)}}; }

}  // namespace gradbench::ht
