// Rotations by axis and angle.
#include "../../../geometry/references/rotations.hpp"

#include <reel/geometry.hpp>

#include "../../matrices.hpp"

namespace random_programs {

namespace {

using Jets = std::vector<Jet>;

// Of operands without batch axes; `from` is the op that makes the operand, or null.
struct OfRotations {
  const char* name;
  std::vector<Extents> operands;
  const char* from;
  Extents result;
  Jets (*eval)(const std::vector<Jets>& x);
  Call call;
};

Real squares(const Jets& x, std::size_t first, std::size_t last) {
  Real sum = 0;
  for (std::size_t k = first; k < last; ++k) sum += x[k].v[0] * x[k].v[0];
  return sum;
}
// Unfit for an angle that is small, where the references divide by it, or near half a turn, and for small quaternions.
void require_angle(Real square) {
  if (!(square > 0.05L && square < 8)) throw Unfit();
}
void require_rotation(const Jets& r, std::size_t columns) {
  const Real cosine = (r[0].v[0] + r[columns + 1].v[0] + r[2 * columns + 2].v[0] - 1) / 2;
  for (std::size_t i = 0; i < 3; ++i) {
    Real size = 0;
    for (std::size_t j = 0; j < 3; ++j) size += r[i * columns + j].v[0] * r[i * columns + j].v[0];
    if (!(size > 0.9L && size < 1.1L)) throw Unfit();
  }
  if (!(cosine > -0.9L && cosine < 0.97L)) throw Unfit();
}

// clang-format off
const std::vector<OfRotations>& rotation_ops() {
  static const std::vector<OfRotations> list = {
      {"so3_exp", {{3}}, nullptr, {3, 3}, [](const auto& x) { require_angle(squares(x[0], 0, 3)); return rotations::exponential(x[0]); }, REEL_CALL(reel::so3_exp(x[0]))},
      {"so3_log", {{3, 3}}, "so3_exp", {3}, [](const auto& x) { require_rotation(x[0], 3); return rotations::logarithm(x[0]); }, REEL_CALL(reel::so3_log(x[0]))},
      {"se3_exp", {{6}}, nullptr, {4, 4}, [](const auto& x) { require_angle(squares(x[0], 3, 6)); return rotations::motion(x[0]); }, REEL_CALL(reel::se3_exp(x[0]))},
      {"se3_log", {{4, 4}}, "se3_exp", {6}, [](const auto& x) { require_rotation(x[0], 4); return rotations::twist(x[0]); }, REEL_CALL(reel::se3_log(x[0]))},
      {"quaternion_multiply", {{4}, {4}}, nullptr, {4}, [](const auto& x) { return rotations::product(x[0], x[1]); }, REEL_CALL(reel::quaternion_multiply(x[0], x[1]))},
      {"quaternion_conjugate", {{4}}, nullptr, {4}, [](const auto& x) { return rotations::conjugate(x[0]); }, REEL_CALL(reel::quaternion_conjugate(x[0]))},
      {"quaternion_rotate", {{4}, {3}}, nullptr, {3}, [](const auto& x) { require_angle(squares(x[0], 0, 4)); return rotations::rotated(x[0], x[1]); }, REEL_CALL(reel::quaternion_rotate(x[0], x[1]))},
      {"quaternion_to_matrix", {{4}}, nullptr, {3, 3}, [](const auto& x) { require_angle(squares(x[0], 0, 4)); return rotations::matrix(x[0]); }, REEL_CALL(reel::quaternion_to_matrix(x[0]))},
      {"matrix_to_quaternion", {{3, 3}}, "so3_exp", {4}, [](const auto& x) { require_rotation(x[0], 3); return rotations::quaternion(x[0]); }, REEL_CALL(reel::matrix_to_quaternion(x[0]))},
  };
  return list;
}
// clang-format on

Op op_of(const OfRotations& f) {
  const auto make = [&f](Maker& m, Statement& s) {
    for (const Extents& shape : f.operands) {
      int x = real_value(m, f.from ? Extents{shape[0] == 3 ? 3 : 6} : shape);
      if (x >= 0 && f.from) x = m.emit(f.from, {Maker::arg(x)});
      if (x < 0) return false;
      s.args.push_back(Maker::arg(x));
    }
    return true;
  };
  // Elements are sums of products of all elements: they have errors of the size of all.
  const auto reference = [&f](JetArrays x, const Statement&) {
    double size = 1;
    const auto count = [&size](const Jets& list) {
      for (const Jet& v : list)
        for (int m = 0; m < Jet::count; ++m) size = std::max(size, static_cast<double>(std::fabs(v.v[m])));
    };
    std::vector<Jets> operands;
    for (const ArrayOf<Jet>& one : x) count(one.values), operands.push_back(one.values);
    Jets y = f.eval(operands);
    count(y);
    for (Jet& v : y) v = with_errors(v, 64 * size);
    return ArrayOf<Jet>{f.result, y};
  };
  return row_op<Jet>(f.name, make, real_dtype, reference, f.call);
}

}  // namespace

void add_rotations(std::vector<Op>& t) {
  for (const OfRotations& f : rotation_ops()) t.push_back(op_of(f));
}

}  // namespace random_programs
