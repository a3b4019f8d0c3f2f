// ht: hand tracking, the distances of measured points from the surface of a hand model in a pose. The surface
// coordinates of a point move only that point, so two directions serve all points.
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
  Tensor vertices = {}, weights = {};  // [4, vertices], [bones, vertices]
  bool mirrored = false;
};

struct Input {
  Model model;
  Tensor pose;                       // [pose_size]
  Tensor points;                     // [3, points]
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
  const Tensor vertices = input.at("base_positions").tensor({any_extent, 4});
  model.vertices = contiguous(transpose(vertices));
  model.weights = gather(transpose(input.at("weights").tensor({vertices.shape()[0], count})), bones);
  return model;
}

inline Input read(const Field& input) {
  const Field data = input.at("data"), correspondences = data.at("correspondences");
  Input x{.model = read_model(data.at("model")),
          .pose = input.at("theta").tensor({pose_size}),
          .points = contiguous(transpose(data.at("points").tensor({any_extent, 3})))};
  const std::int64_t points = x.points.shape()[1], last_vertex = x.model.vertices.shape()[1] - 1;
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

/// The rotation of each bone, Rz Rx, [bones, 4, 4].
inline Tensor turns(const Model& model, const Tensor& pose) {
  const Tensor angles = reel::pad(pose, {0}, {1});  // a zero for the bones that do not turn
  const Tensor x = gather(angles, model.x_angle), z = gather(angles, model.z_angle);
  const Tensor cx = cos(x), sx = sin(x), cz = cos(z), sz = sin(z), zero = zeros_like(x), one = ones_like(x);
  const Tensor rows = reel::stack({cz, -sz * cx, sz * sx, zero,  //
                                   sz, cz * cx, -cz * sx, zero,  //
                                   zero, sx, cx, zero,           //
                                   zero, zero, zero, one});
  return reshape(transpose(rows), {-1, 4, 4});
}

/// The matrix of a rotation by the length of a vector about it, [3] to [3, 3]; the identity below 1e-4.
inline Tensor rotation(const Tensor& axis) {
  const Tensor angle = norm(axis);
  if (angle.item<double>() < 1e-4) return reel::eye(3);
  const Tensor x = axis / angle, cosine = cos(angle);
  const Tensor generators =
      reel::tensor({{0, 0, 0, 0, 0, -1, 0, 1, 0}, {0, 0, 1, 0, 0, 0, -1, 0, 0}, {0, -1, 0, 1, 0, 0, 0, 0, 0}});
  const Tensor cross = reshape(matmul(x, generators), {3, 3});
  return cosine * reel::eye(3) + (1 - cosine) * expand_dims(x, 1) * x + sin(angle) * cross;
}

/// How a hand moves from rest. A vertex moves to matmul(bones, p) + translation, where p, [4 bones], is its place at
/// rest once for each bone, times the bone's weight.
struct Motion {
  Tensor bones;        // [3, 4 bones]
  Tensor translation;  // [3, 1]
};

inline Motion motion(const Model& model, const Tensor& pose) {
  const Tensor relative = matmul(model.relative, turns(model, pose));
  std::vector<Tensor> absolute;
  for (const Level& level : model.levels) {
    const Tensor own = slice(relative, {range(level.first, level.first + level.count)});
    absolute.push_back(absolute.empty() ? own : matmul(gather(absolute.back(), level.parents), own));
  }
  const Tensor moved = slice(matmul(reel::concatenate(absolute, 0), model.inverse), {all, range_to(3)});
  Tensor bones = reshape(transpose(moved, {1, 0, 2}), {3, -1});
  if (model.mirrored) bones = bones * reel::tensor({{-1.}, {1.}, {1.}});
  return {matmul(rotation(slice(pose, {range_to(3)})), bones), slice(pose, {range(3, 6), reel::newaxis})};
}

/// What the points of the surface have of what their corners have, [..., points]: that of the corner itself, or the
/// mean of three by their weights, of which the surface coordinates are two.
inline Tensor blend(std::span<const Tensor> corners, const Tensor& surface) {
  if (corners.size() == 1) return corners[0];
  const Tensor u = slice(surface, {all, 0}), v = slice(surface, {all, 1});
  return u * corners[0] + v * corners[1] + (1 - u - v) * corners[2];
}

/// Measured minus modelled, [3, points]. Motions are linear: where there are fewer corners than vertices, the places
/// are blended before they move; otherwise every vertex moves once.
inline Tensor errors(const Input& x, const Motion& hand, const Tensor& surface) {
  const Model& model = x.model;
  const auto places = [&](const Tensor& weights, const Tensor& vertices) {
    return reshape(expand_dims(weights, 1) * vertices, {hand.bones.shape()[1], -1});
  };
  const auto move = [&](const Tensor& at) { return matmul(hand.bones, at) + hand.translation; };
  std::vector<Tensor> corners;
  if (std::ssize(x.corners) * x.corners[0].size() < model.vertices.shape()[1]) {
    for (const Tensor& list : x.corners)
      corners.push_back(places(gather(model.weights, list, 1), gather(model.vertices, list, 1)));
    return x.points - move(blend(corners, surface));
  }
  const Tensor moved = move(places(model.weights, model.vertices));
  for (const Tensor& list : x.corners) corners.push_back(gather(moved, list, 1));
  return x.points - blend(corners, surface);
}

inline Tensor objective(const Input& x) {
  return reshape(transpose(errors(x, motion(x.model, x.pose), x.surface)), {-1});
}

/// [3 points, 26], or with two columns more in front, by the surface coordinates of the row's point.
inline Tensor jacobian(const Input& x) {
  std::vector<Tensor> columns;  // [3, points, any]
  if (x.corners.size() == 3) {
    const Motion fixed = motion(x.model, x.pose);
    const auto by_surface = [&](const Tensor& surface) { return errors(x, fixed, surface); };
    std::vector<Tensor> two;
    for (const Tensor& direction : unstack(reel::eye(2)))
      two.push_back(jvp(by_surface, x.surface, broadcast_to(direction, x.surface.shape())).second);
    columns.push_back(reel::stack(two, 2));
  }
  columns.push_back(
      reel::jacobian([&](const Tensor& pose) { return errors(x, motion(x.model, pose), x.surface); })(x.pose));
  return reshape(transpose(reel::concatenate(columns, 2), {1, 0, 2}), {x.points.size(), -1});
}

inline Module functions() { return {{"objective", timed(read, objective)}, {"jacobian", timed(read, jacobian)}}; }

}  // namespace gradbench::ht
