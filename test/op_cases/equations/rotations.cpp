// Rows of the ops of <reel/geometry.hpp>.
#include "rotations.hpp"

#include <reel/geometry.hpp>

#include "../naive.hpp"

namespace cases {

namespace {

using namespace reel;
using X = Operands;
using A = Arrays;

// f(elements of the last `own` axes of each operand), of the batch axes, which broadcast; the result's own axes.
template <class F>
Array each(A x, std::vector<int> own, const Shape& result, F f) {
  Shape batch;
  std::vector<Shape> batches;
  for (std::size_t k = 0; k < x.size(); ++k) {
    Shape b = x[k].shape;
    for (int i = 0; i < own[k]; ++i) b.pop_back();
    batches.push_back(b);
    if (b.rank() > batch.rank()) batch = b;
  }
  for (const Shape& b : batches)
    for (int i = 1; i <= b.rank(); ++i) batch[-i] = b[-i] == 1 ? batch[-i] : b[-i];
  Array y;
  y.shape = batch;
  for (std::int64_t e : result) y.shape.push_back(e);
  for_each_index(batch, [&](const Index& i) {
    std::vector<Row> parts;
    for (std::size_t k = 0; k < x.size(); ++k) {
      std::int64_t at = 0, size = 1;
      const Shape& b = batches[k];
      for (int d = 0; d < b.rank(); ++d)
        at = at * b[d] + (b[d] == 1 ? 0 : i[i.size() - static_cast<std::size_t>(b.rank() - d)]);
      for (int d = b.rank(); d < x[k].shape.rank(); ++d) size *= x[k].shape[d];
      const auto begin = x[k].values.begin() + static_cast<std::ptrdiff_t>(at * size);
      parts.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(size));
    }
    for (Real v : f(parts)) y.values.push_back(v);
  });
  return y;
}
// The logarithm of a rotation by less than half a turn, by its trace and its antisymmetric part.
Row by_trace(const Row& r) {
  const Row axis = {r[7] - r[5], r[2] - r[6], r[3] - r[1]};
  const Real sine = rotations::length(axis) / 2, angle = std::atan2(sine, (r[0] + r[4] + r[8] - 1) / 2);
  return {angle * axis[0] / (2 * sine), angle * axis[1] / (2 * sine), angle * axis[2] / (2 * sine)};
}
Tensor some_rotation(const Tensor& x, std::size_t) { return so3_exp(slice(x, {ellipsis, 0, all})); }
Tensor some_motion(const Tensor& x, std::size_t) {
  const Tensor w = 0.7 * slice(x, {ellipsis, 0, range(0, 3)}), rho = slice(x, {ellipsis, 1, range(0, 3)});
  return se3_exp(concatenate({rho, w}, -1));
}

// clang-format off
const Shaped rows[] = {
    {"so3_exp", "3;2x3;0x3;2x2x3", [](X x) { return so3_exp(x[0]); }, [](A x) { return each(x, {1}, {3, 3}, [](const auto& p) { return rotations::exponential(p[0]); }); }, {-2, 2}, nullptr, none, 4},
    {"so3_log", "3x3;2x3x3;0x3x3", [](X x) { return so3_log(x[0]); }, [](A x) { return each(x, {2}, {3}, [](const auto& p) { return by_trace(p[0]); }); }, {-1.6, 1.6}, some_rotation, none, 40},
    {"se3_exp", "6;2x6", [](X x) { return se3_exp(x[0]); }, [](A x) { return each(x, {1}, {4, 4}, [](const auto& p) { return rotations::motion(p[0]); }); }, {-2, 2}, nullptr, none, 8},
    {"se3_log", "4x4;2x4x4", [](X x) { return se3_log(x[0]); }, [](A x) { return each(x, {2}, {6}, [](const auto& p) { return rotations::twist(p[0]); }); }, {-2, 2}, some_motion, none, 40},
    {"quaternion_multiply", "4,4;2x4,4;4,3x4;2x1x4,3x4", [](X x) { return quaternion_multiply(x[0], x[1]); }, [](A x) { return each(x, {1, 1}, {4}, [](const auto& p) { return rotations::product(p[0], p[1]); }); }, {-2, 2}, nullptr, none, 4},
    {"quaternion_conjugate", "4;2x4;0x4", [](X x) { return quaternion_conjugate(x[0]); }, [](A x) { return each(x, {1}, {4}, [](const auto& p) { return rotations::conjugate(p[0]); }); }},
    {"quaternion_rotate", "4,3;2x4,3;4,3x3;2x1x4,3x3", [](X x) { return quaternion_rotate(x[0], x[1]); }, [](A x) { return each(x, {1, 1}, {3}, [](const auto& p) { return rotations::rotated(p[0], p[1]); }); }, {-2, 2}, nullptr, none, 10},
    {"quaternion_to_matrix", "4;2x4;0x4", [](X x) { return quaternion_to_matrix(x[0]); }, [](A x) { return each(x, {1}, {3, 3}, [](const auto& p) { return rotations::matrix(p[0]); }); }, {-2, 2}, nullptr, none, 10},
    {"matrix_to_quaternion", "3x3;2x3x3;0x3x3", [](X x) { return matrix_to_quaternion(x[0]); }, [](A x) { return each(x, {2}, {4}, [](const auto& p) { return rotations::quaternion(p[0]); }); }, {-1.6, 1.6}, some_rotation, none, 10},
};
// clang-format on

}  // namespace

std::span<const Shaped> rotation_rows() {
  static const auto kept = selected_rows(rows);
  return kept;
}

}  // namespace cases
