// Rows of the ops of <reel/geometry.hpp>.
#include <reel/geometry.hpp>

#include "../linalg/references/matrices.hpp"
#include "references/rotations.hpp"

namespace cases {

namespace {

using namespace reel;
using X = Operands;
using A = Arrays;

template <std::size_t Columns>
auto with_columns(const Row& values) {
  if constexpr (Columns == 0)
    return values;
  else
    return matrices::MatrixOf<Real>(values.size() / Columns, Columns, values);
}
using M = const matrices::MatrixOf<Real>&;

// f(elements of the last Own axes), a matrix of so many columns, or a vector if there are none.
template <int Own, std::size_t Columns, Row (*F)(const Row&)>
Array each(A x) {
  return matrices::each({x[0]}, {Own}, [](M a) { return with_columns<Columns>(F(a.values)); });
}
template <Row (*F)(const Row&, const Row&)>
Array each_pair(A x) {
  return matrices::each({x[0], x[1]}, {1, 1}, [](M a, M b) { return F(a.values, b.values); });
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
    {"so3_exp", "3;2x3;0x3;2x2x3", [](X x) { return so3_exp(x[0]); }, each<1, 3, rotations::exponential<Real>>, {-2, 2}, nullptr, none, 4},
    {"so3_log", "3x3;2x3x3;0x3x3", [](X x) { return so3_log(x[0]); }, each<2, 0, by_trace>, {-1.6, 1.6}, some_rotation, none, 40},
    {"se3_exp", "6;2x6", [](X x) { return se3_exp(x[0]); }, each<1, 4, rotations::motion<Real>>, {-2, 2}, nullptr, none, 8},
    {"se3_log", "4x4;2x4x4", [](X x) { return se3_log(x[0]); }, each<2, 0, rotations::twist<Real>>, {-2, 2}, some_motion, none, 40},
    {"quaternion_multiply", "4,4;2x4,4;4,3x4;2x1x4,3x4", [](X x) { return quaternion_multiply(x[0], x[1]); }, each_pair<rotations::product<Real>>, {-2, 2}, nullptr, none, 4},
    {"quaternion_conjugate", "4;2x4;0x4", [](X x) { return quaternion_conjugate(x[0]); }, each<1, 0, rotations::conjugate<Real>>},
    {"quaternion_rotate", "4,3;2x4,3;4,3x3;2x1x4,3x3", [](X x) { return quaternion_rotate(x[0], x[1]); }, each_pair<rotations::rotated<Real>>, {-2, 2}, nullptr, none, 10},
    {"quaternion_to_matrix", "4;2x4;0x4", [](X x) { return quaternion_to_matrix(x[0]); }, each<1, 3, rotations::matrix<Real>>, {-2, 2}, nullptr, none, 10},
    {"matrix_to_quaternion", "3x3;2x3x3;0x3x3", [](X x) { return matrix_to_quaternion(x[0]); }, each<2, 0, rotations::quaternion<Real>>, {-1.6, 1.6}, some_rotation, none, 10},
};
// clang-format on

}  // namespace

std::span<const Shaped> rotation_rows() {
  static const auto kept = selected_rows(rows);
  return kept;
}

}  // namespace cases
