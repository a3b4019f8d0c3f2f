// Rotations: bilinear forms, given by matrices of signs, and functions of the squared angle, by power series near zero.
#include <array>
#include <cmath>
#include <reel/geometry.hpp>
#include <string_view>

#include "interpolate/interpolate.hpp"
#include "linalg/matrices.hpp"
#include "ops/elementwise/composed.hpp"
#include "tape/observe/observe.hpp"

namespace reel {

namespace ops {

namespace {

// ---- Functions of q, the square of an angle. Below 1 the series; each term is smaller by a factor of 6 or more.

Lane power_series(const Lane& q, const double* c, int terms) {
  Lane sum = c[terms - 1] + 0 * q;
  for (int k = terms - 2; k >= 0; --k) sum = c[k] + q * sum;
  return sum;
}
// The sum of (-q)^k / (2 k + first)!.
Lane factorial_series(const Lane& q, int first) {
  double c[14], factorial = 1;
  for (int k = 2; k <= first; ++k) factorial *= k;
  for (int k = 0; k < 14; ++k) {
    c[k] = (k % 2 == 0 ? 1 : -1) / factorial;
    factorial *= (2 * k + first + 1) * (2 * k + first + 2);
  }
  return power_series(q, c, 14);
}
// f(angle, q) from 1 on, else the series.
template <class F>
Lane of_square(const Lane& q, int first, F f) {
  const LaneMask near = q < 1;
  const Lane far = where(near, 1, q);
  return where(near, factorial_series(where(near, q, 0), first), f(sqrt(far), far));
}
// sin(t) / t, (1 - cos(t)) / t^2, (t - sin(t)) / t^3.
Lane sine_over_angle(const Lane* x) {
  return of_square(x[0], 1, [](const Lane& t, const Lane&) { return sin(t) / t; });
}
Lane cosine_over_square(const Lane* x) {
  return of_square(x[0], 2, [](const Lane& t, const Lane& q) { return 2 * square(sin(0.5 * t)) / q; });
}
Lane sine_over_cube(const Lane* x) {
  return of_square(x[0], 3, [](const Lane& t, const Lane& q) { return (t - sin(t)) / (t * q); });
}
// (1 - t/2 cot(t/2)) / t^2: the series has 2 zeta(2 k + 2) / (2 pi)^(2 k + 2).
Lane inverse_coefficient(const Lane* x) {
  constexpr double c[] = {1.0 / 12,
                          1.0 / 720,
                          1.0 / 30240,
                          1.0 / 1209600,
                          1.0 / 47900160,
                          691.0 / 1307674368000,
                          1.0 / 74724249600,
                          3617.0 / 10670622842880000,
                          43867.0 / 5109094217170944000,
                          174611.0 / 802857662698291200000.,
                          77683.0 / 14101100039391805440000.,
                          236364091.0 / 1693824136731743669452800000.};
  const LaneMask near = x[0] < 1;
  const Lane q = where(near, 1, x[0]), half = 0.5 * sqrt(q);
  return where(near, power_series(where(near, x[0], 0), c, 12), (1 - half * cos(half) / sin(half)) / q);
}
// arctan2(root(p), s) / root(p) for s >= 0: where p is small beside s^2 the series of the arctangent.
Lane angle_over_sine(const Lane* x) {
  double c[24];
  for (int k = 0; k < 24; ++k) c[k] = (k % 2 == 0 ? 1.0 : -1.0) / (2 * k + 1);
  const Lane &p = x[0], &s = x[1];
  const LaneMask near = p < 0.125 * s * s;
  const Lane divisor = where(near, s, 1), root = sqrt(where(near, 1, p));
  return where(near, power_series(where(near, p, 0) / square(divisor), c, 24) / divisor,
               arctan2(root, where(near, 0, s)) / root);
}
enum AngleFunction : std::size_t { sine_term, cosine_term, cube_term, inverse_term, angle_term };
constexpr Composed angle_functions[] = {{"so3_exp", sine_over_angle},
                                        {"so3_exp", cosine_over_square},
                                        {"se3_exp", sine_over_cube},
                                        {"se3_log", inverse_coefficient},
                                        {"so3_log", angle_over_sine}};
constinit const ComposedOps angle_ops(angle_functions);
Quantity of_angle(AngleFunction f, const Tensor& q, const Tensor& s = Tensor()) {
  const Operand operands[] = {q, s};
  const Operand* const list[] = {&operands[0], &operands[1]};
  return angle_ops.call(f, std::span(list, s.defined() ? 2 : 1));
}

// ---- Linear maps of the last axis by matrices of signs, row by row: the results of each element.

Quantity map_signs(const Tensor& x, std::string_view signs) {
  detail::List<double> values;
  values.reserve(signs.size());
  for (const char sign : signs)
    if (sign != ' ') values.push_back(sign == '+' ? 1 : sign == '-' ? -1 : 0);
  const std::int64_t n = x.shape()[-1], m = static_cast<std::int64_t>(values.size()) / n;
  const Tensor map = cast(from_data(values, {n, m}), x.dtype());
  Shape shape = x.shape();
  shape[-1] = m;
  return reshape(matmul(reshape(x, {x.size() / n, n}), map), shape);
}
// The products of elements of x and y.
Quantity products(const Tensor& x, const Tensor& y) {
  const Quantity all = Quantity(expand_dims(x, -1)) * Quantity(expand_dims(y, -2));
  Shape shape = all.shape();
  const std::int64_t n = shape.back();
  shape.pop_back();
  shape[-1] *= n;
  return reshape(all, shape);
}
// The last axis as the rows of matrices.
Quantity as_matrices(const Tensor& x, std::int64_t columns) {
  Shape shape = x.shape();
  shape[-1] /= columns;
  shape.push_back(columns);
  return reshape(x, shape);
}
Quantity times_vector(const Tensor& a, const Tensor& v) { return squeeze(matmul(a, expand_dims(v, -1)), -1); }

struct Rotational {
  Quantity x;
  DType dtype;
};
// The operand in the dtype to compute in. ShapeError unless its last axes are these.
Rotational rotational(const char* op, const Operand& operand, const char* name, std::int64_t extent,
                      bool matrix = false) {
  const PromotedOperand in = promote_operand(op, operand, Accept::real);
  Rotational r{in.x, in.result};
  const Shape& shape = r.x.shape();
  if (shape.rank() < (matrix ? 2 : 1) || shape[-1] != extent || (matrix && shape[-2] != extent))
    fail<ShapeError>(op, "{} is {}; its last ax{} must have {} elements{}", name, shape, matrix ? "es" : "is", extent,
                     matrix ? " each" : "");
  require_rank(op, shape.rank() + (matrix ? 0 : 1));
  return r;
}

// a, b and c times 1, K and K^2, where K is the matrix of the cross product with w.
struct Polynomial {
  Quantity k, squared, angle;  // angle: its square, as [..., 1, 1]
  explicit Polynomial(const Tensor& w)
      : k(as_matrices(map_signs(w, "... ..- .+.  ..+ ... -..  .-. +.. ..."), 3)),
        squared(matmul(k, k)),
        angle(expand_dims(sum(square(w), -1, true), -1)) {}
  Quantity with(const Quantity& b, const Quantity& c) const {
    return Quantity(eye(3, k.dtype())) + b * k + c * squared;
  }
};
Quantity rotation(const Polynomial& p) { return p.with(of_angle(sine_term, p.angle), of_angle(cosine_term, p.angle)); }

// Of q divided by its largest element, which is a constant for derivatives: squares do not overflow or underflow.
Quantity matrix_of(const Tensor& quaternions) {
  const Quantity q = Quantity(quaternions) / Quantity(stop_gradient(max(abs(quaternions), -1, true)));
  const Quantity form = map_signs(products(q, q),
                                  "+.. .+. ..+  ... ..- .+.  ..+ ... -..  .-. +.. ..."
                                  "... ..- .+.  +.. .-. ..-  .+. +.. ...  ..+ ... +.."
                                  "..+ ... -..  .+. +.. ...  -.. .+. ..-  ... ..+ .+."
                                  ".-. +.. ...  ..+ ... +..  ... ..+ .+.  -.. .-. ..+");
  return as_matrices(form / Quantity(sum(square(q), -1, true)), 3);
}

Quantity quaternion_of(const Tensor& r) {
  Shape flat = r.shape();
  flat.pop_back();
  flat[-1] = 9;
  // Row i is 4 q_i q.
  const Quantity rows = as_matrices(Quantity(reshape(eye(4, r.dtype()), {16})) +
                                        map_signs(reshape(r, flat),
                                                  "+... .+.. ..-. ...-  ...- ..+. .+.. -...  ..+. ...+ +... .+.."
                                                  "...+ ..+. .+.. +...  +... .-.. ..+. ...-  .-.. -... ...+ ..+."
                                                  "..-. ...+ -... .+..  .+.. +... ...+ ..+.  +... .-.. ..-. ...+"),
                                    4);
  const Tensor largest = argmax(diagonal(rows), -1, true);
  Shape picked = rows.shape();
  picked[-2] = 1;
  const Quantity row = squeeze(take_along_axis(rows, broadcast_to(expand_dims(largest, -1), picked), -2), -2);
  const Quantity size = norm(row, 2, -1, true);
  return Quantity(where(less(last_axis(row, 0, 1), 0), -1.0, 1.0)) * row / size;
}
Quantity logarithm(const Tensor& r) {
  const Quantity q = quaternion_of(r), v = last_axis(q, 1, 0);
  return 2.0 * of_angle(angle_term, sum(square(v), -1, true), last_axis(q, 0, 1)) * v;
}

}  // namespace

}  // namespace ops

Tensor so3_exp(const Operand& operand) {
  const tape::OpScope scope(operand);
  const auto [w, d] = ops::rotational("so3_exp", operand, "w", 3);
  return ops::cast_to(ops::rotation(ops::Polynomial(w)), d);
}

Tensor so3_log(const Operand& operand) {
  const tape::OpScope scope(operand);
  const auto [r, d] = ops::rotational("so3_log", operand, "r", 3, true);
  return ops::cast_to(ops::logarithm(r), d);
}

Tensor se3_exp(const Operand& operand) {
  const tape::OpScope scope(operand);
  const auto [x, d] = ops::rotational("se3_exp", operand, "x", 6);
  const ops::Polynomial p(ops::last_axis(x, 3, 0));
  const ops::Quantity v = p.with(ops::of_angle(ops::cosine_term, p.angle), ops::of_angle(ops::cube_term, p.angle));
  const ops::Quantity top = ops::join(ops::rotation(p), expand_dims(ops::times_vector(v, ops::last_axis(x, 0, 3)), -1));
  Shape last = top.shape();
  last[-2] = 1;
  const Tensor rows[] = {top, broadcast_to(one_hot(3, 4, x.dtype()), last)};
  return ops::cast_to(concatenate(rows, -2), d);
}

Tensor se3_log(const Operand& operand) {
  const tape::OpScope scope(operand);
  const auto [m, d] = ops::rotational("se3_log", operand, "m", 4, true);
  const ops::Quantity top = slice(m, {ellipsis, range(0, 3), range(0, 4)});
  const ops::Quantity w = ops::logarithm(ops::last_axis(top, 0, 3));
  const ops::Polynomial p(w);
  const ops::Quantity inverse = p.with(full({}, -0.5, w.dtype()), ops::of_angle(ops::inverse_term, p.angle));
  return ops::cast_to(ops::join(squeeze(matmul(inverse, ops::last_axis(top, 3, 0)), -1), w), d);
}

Tensor quaternion_multiply(const Operand& p, const Operand& q) {
  constexpr const char* op = "quaternion_multiply";
  const tape::OpScope scope(p);
  const auto [result, wide] = ops::promote_operands(op, {&p, &q}, ops::Accept::real);
  const ops::Quantity a = ops::cast_to(ops::rotational(op, p, "p", 4).x, wide),
                      b = ops::cast_to(ops::rotational(op, q, "q", 4).x, wide);
  static_cast<void>(ops::broadcast_shapes(op, a.shape(), b.shape()));
  return ops::cast_to(ops::map_signs(ops::products(a, b),
                                     "+... .+.. ..+. ...+  .+.. -... ...+ ..-."
                                     "..+. ...- -... .+..  ...+ ..+. .-.. -..."),
                      result);
}

Tensor quaternion_conjugate(const Operand& operand) {
  const tape::OpScope scope(operand);
  const auto [q, d] = ops::rotational("quaternion_conjugate", operand, "q", 4);
  return ops::cast_to(q * ops::Quantity(cast(from_data(std::array{1., -1., -1., -1.}), q.dtype())), d);
}

Tensor quaternion_rotate(const Operand& q, const Operand& v) {
  constexpr const char* op = "quaternion_rotate";
  const tape::OpScope scope(q);
  const auto [result, wide] = ops::promote_operands(op, {&q, &v}, ops::Accept::real);
  const ops::Quantity by = ops::cast_to(ops::rotational(op, q, "q", 4).x, wide),
                      x = ops::cast_to(ops::rotational(op, v, "v", 3).x, wide);
  static_cast<void>(ops::broadcast_shapes(op, ops::batch_of(by, 1), ops::batch_of(x, 1)));
  return ops::cast_to(ops::times_vector(ops::matrix_of(by), x), result);
}

Tensor quaternion_to_matrix(const Operand& operand) {
  const tape::OpScope scope(operand);
  const auto [q, d] = ops::rotational("quaternion_to_matrix", operand, "q", 4);
  return ops::cast_to(ops::matrix_of(q), d);
}

Tensor matrix_to_quaternion(const Operand& operand) {
  const tape::OpScope scope(operand);
  const auto [r, d] = ops::rotational("matrix_to_quaternion", operand, "r", 3, true);
  return ops::cast_to(ops::quaternion_of(r), d);
}

}  // namespace reel
