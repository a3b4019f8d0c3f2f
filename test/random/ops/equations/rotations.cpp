// Rotations by axis and angle.
#include "../../../op_cases/equations/rotations.hpp"

#include <reel/geometry.hpp>

#include "../../matrices.hpp"

namespace random_programs {

namespace {

using reel::Tensor;
using Jets = std::vector<Jet>;

// Of operands without batch axes; `from` is the op that makes the operand, or null.
struct OfRotations {
  const char* name;
  std::vector<Extents> operands;
  const char* from;
  Extents result;
  Jets (*eval)(const std::vector<Jets>& x);
  Tensor (*call)(const Operands& a);
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
      {"so3_exp", {{3}}, nullptr, {3, 3}, [](const auto& x) { require_angle(squares(x[0], 0, 3)); return rotations::exponential(x[0]); }, [](const Operands& a) { return reel::so3_exp(a[0]); }},
      {"so3_log", {{3, 3}}, "so3_exp", {3}, [](const auto& x) { require_rotation(x[0], 3); return rotations::logarithm(x[0]); }, [](const Operands& a) { return reel::so3_log(a[0]); }},
      {"se3_exp", {{6}}, nullptr, {4, 4}, [](const auto& x) { require_angle(squares(x[0], 3, 6)); return rotations::motion(x[0]); }, [](const Operands& a) { return reel::se3_exp(a[0]); }},
      {"se3_log", {{4, 4}}, "se3_exp", {6}, [](const auto& x) { require_rotation(x[0], 4); return rotations::twist(x[0]); }, [](const Operands& a) { return reel::se3_log(a[0]); }},
      {"quaternion_multiply", {{4}, {4}}, nullptr, {4}, [](const auto& x) { return rotations::product(x[0], x[1]); }, [](const Operands& a) { return reel::quaternion_multiply(a[0], a[1]); }},
      {"quaternion_conjugate", {{4}}, nullptr, {4}, [](const auto& x) { return rotations::conjugate(x[0]); }, [](const Operands& a) { return reel::quaternion_conjugate(a[0]); }},
      {"quaternion_rotate", {{4}, {3}}, nullptr, {3}, [](const auto& x) { require_angle(squares(x[0], 0, 4)); return rotations::rotated(x[0], x[1]); }, [](const Operands& a) { return reel::quaternion_rotate(a[0], a[1]); }},
      {"quaternion_to_matrix", {{4}}, nullptr, {3, 3}, [](const auto& x) { require_angle(squares(x[0], 0, 4)); return rotations::matrix(x[0]); }, [](const Operands& a) { return reel::quaternion_to_matrix(a[0]); }},
      {"matrix_to_quaternion", {{3, 3}}, "so3_exp", {4}, [](const auto& x) { require_rotation(x[0], 3); return rotations::quaternion(x[0]); }, [](const Operands& a) { return reel::matrix_to_quaternion(a[0]); }},
  };
  return list;
}
// clang-format on

Op op_of(const OfRotations& f) {
  Op o;
  o.name = f.name;
  o.make = [&f](Maker& m, Statement& s) {
    for (const Extents& shape : f.operands) {
      int x = real_value(m, f.from ? Extents{shape[0] == 3 ? 3 : 6} : shape);
      if (x >= 0 && f.from) x = m.emit(f.from, {Maker::arg(x)});
      if (x < 0) return false;
      s.args.push_back(Maker::arg(x));
    }
    return true;
  };
  o.eval = [&f](const Statement&, const Inputs& in, Arrays& out) {
    Array z(real_dtype(in), f.result);
    std::vector<Jets> x;
    double size = 1;
    for (const Array* a : in) {
      x.emplace_back();
      for (const Num& n : a->data) {
        x.back().push_back(n.re);
        for (int m = 0; m < Jet::count; ++m) size = std::max(size, static_cast<double>(std::fabs(n.re.v[m])));
      }
    }
    const Jets y = f.eval(x);
    for (const Jet& v : y)
      for (int m = 0; m < Jet::count; ++m) size = std::max(size, static_cast<double>(std::fabs(v.v[m])));
    for (std::int64_t i = 0; i < z.size(); ++i) {
      Jet v = y[static_cast<std::size_t>(i)];
      for (int m = 0; m < Jet::count; ++m) v.e[m] += 64 * Jet::unit * size;  // sums of products of all elements
      z[i] = Num(v);
    }
    out.push_back(std::move(z));
  };
  o.call = [&f](const Statement&, const Operands& a, std::vector<Tensor>& out) { out.push_back(f.call(a)); };
  return o;
}

}  // namespace

void add_rotations(std::vector<Op>& t) {
  for (const OfRotations& f : rotation_ops()) t.push_back(op_of(f));
}

}  // namespace random_programs
