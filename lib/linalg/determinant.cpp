// det and slogdet. det is a polynomial of the elements. Its derivatives along directions h_1 ... h_k are polynomials
// too, computed by two primitives: the derivative itself, det(a)[h_1 ... h_k], and its gradient by a, weighted by a
// number per matrix, w cof(a)[h_1 ... h_k]. The derivatives of these are the same two with one more direction, or with
// one direction replaced. So derivatives of every order are right for matrices of every rank, and overflow or vanish
// only where the result does. They are holomorphic: a vjp is the conjugate of the transposed derivative along conj(g).
#include "linalg/determinant/determinant.hpp"

#include <reel/ops/index.hpp>
#include <reel/ops/make.hpp>
#include <reel/ops/pointwise.hpp>
#include <reel/ops/reduce.hpp>
#include <vector>

#include "linalg/directions.hpp"
#include "linalg/matrices.hpp"
#include "linalg/write.hpp"
#include "loops/elementwise/complex.hpp"
#include "ops/apply/apply.hpp"

namespace reel {
namespace ops {
namespace {

Tensor no_directions(const Tensor& a) {
  const std::int64_t n = a.shape().back();
  return reel::detail::empty(a.dtype(), {0, n, n});
}
// The point at which a rule evaluates; derivatives of every order share it.
struct Point {
  const Tensor &a, &lu, &pivots;
};
Tensor derivative(const Point& at, const Tensor& directions);
Tensor cofactors(const Tensor& weight, const Point& at, const Tensor& directions);

// The batch shape to which the inputs broadcast; each has a number of own axes behind the batch axes.
Shape common_batch(const Call& call, std::initializer_list<int> own_axes) {
  Shape common;
  std::size_t i = 0;
  for (const int own : own_axes) {
    Shape batch = call.input(i++).shape();
    for (int d = 0; d < own; ++d) batch.pop_back();
    common = broadcast_shapes("det", common, batch);
  }
  return common;
}

// ---- det.derivative: inputs a, directions, factors, pivots.
enum : std::size_t { derivative_a, derivative_directions, derivative_lu, derivative_pivots };
Point point_of_derivative(const tape::Record& r) {
  return {r.saved(derivative_a), r.saved(derivative_lu), r.saved(derivative_pivots)};
}

void derivative_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  const Point at = point_of_derivative(r);
  const Tensor& h = r.saved(derivative_directions);
  const Tensor weight = conjugate(g[0]);
  if (r.wanted(0)) dx[0] = sum_to(r, conjugate(cofactors(weight, at, h)), r.shape(0));
  if (!r.wanted(1)) return;
  const Tensor dh = of_each_direction(h, [&](std::int64_t i) {
    return cofactors(weight, at, count_of(h) == 1 ? no_directions(at.a) : join_directions(other_directions(h, i)));
  });
  dx[1] = sum_to(r, conjugate(dh), r.shape(1));
}

void derivative_jvp(const tape::Record& r, std::span<const Tensor> dx, std::span<Tensor> dy) {
  const Point at = point_of_derivative(r);
  const Tensor& h = r.saved(derivative_directions);
  if (r.wanted(0)) dy[0] = derivative(at, with_direction(h, dx[0]));
  for (std::int64_t i = 0; r.wanted(1) && i < count_of(h); ++i) {
    const Tensor part = derivative(at, with_direction(other_directions(h, i), direction(dx[1], i)));
    dy[0] = dy[0].defined() ? add(dy[0], part) : part;
  }
}

void infer_derivative(const Call& call, Metas& out) { out.add(call.input(0).dtype(), common_batch(call, {2, 3})); }
void evaluate_derivative(const Call& call, Outputs& out) {
  loops::determinant_derivative({call.input(derivative_a), call.input(derivative_lu), call.input(derivative_pivots),
                                 call.input(derivative_directions)},
                                out[0]);
}
constexpr Primitive derivative_primitive = {.rule = batched({"det.derivative", derivative_vjp, derivative_jvp}),
                                            .infer = infer_derivative,
                                            .evaluate = evaluate_derivative,
                                            .keeps = {keep_input(0), keep_input(1), keep_input(2), keep_input(3)},
                                            .constants = 2,
                                            .write_c = write_det_derivative};

// det(a)[h_1 ... h_k]
Tensor derivative(const Point& at, const Tensor& directions) {
  return apply(derivative_primitive, {&at.a, &directions, &at.lu, &at.pivots});
}

// ---- det.cofactors: inputs weight, a, directions, factors, pivots.
enum : std::size_t { cofactors_weight, cofactors_a, cofactors_directions, cofactors_lu, cofactors_pivots };
Point point_of_cofactors(const tape::Record& r) {
  return {r.saved(cofactors_a), r.saved(cofactors_lu), r.saved(cofactors_pivots)};
}

void cofactors_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  const Point at = point_of_cofactors(r);
  const Tensor &w = r.saved(cofactors_weight), &h = r.saved(cofactors_directions);
  const Tensor u = conjugate(g[0]);
  if (r.wanted(0)) dx[0] = sum_to(r, conjugate(derivative(at, with_direction(h, u))), r.shape(0));
  if (r.wanted(1)) dx[1] = sum_to(r, conjugate(cofactors(w, at, with_direction(h, u))), r.shape(1));
  if (!r.wanted(2)) return;
  const Tensor dh =
      of_each_direction(h, [&](std::int64_t i) { return cofactors(w, at, with_direction(other_directions(h, i), u)); });
  dx[2] = sum_to(r, conjugate(dh), r.shape(2));
}

void cofactors_jvp(const tape::Record& r, std::span<const Tensor> dx, std::span<Tensor> dy) {
  const Point at = point_of_cofactors(r);
  const Tensor &w = r.saved(cofactors_weight), &h = r.saved(cofactors_directions);
  const auto add_part = [&](const Tensor& part) { dy[0] = dy[0].defined() ? add(dy[0], part) : part; };
  if (r.wanted(0)) add_part(cofactors(dx[0], at, h));
  if (r.wanted(1)) add_part(cofactors(w, at, with_direction(h, dx[1])));
  for (std::int64_t i = 0; r.wanted(2) && i < count_of(h); ++i) {
    add_part(cofactors(w, at, with_direction(other_directions(h, i), direction(dx[2], i))));
  }
}

void infer_cofactors(const Call& call, Metas& out) {
  Shape shape = common_batch(call, {0, 2, 3});
  const std::int64_t n = call.input(cofactors_a).shape().back();
  shape.push_back(n);
  shape.push_back(n);
  out.add(call.input(cofactors_a).dtype(), shape);
}
void evaluate_cofactors(const Call& call, Outputs& out) {
  loops::cofactor_derivative(call.input(cofactors_weight),
                             {call.input(cofactors_a), call.input(cofactors_lu), call.input(cofactors_pivots),
                              call.input(cofactors_directions)},
                             out[0]);
}
constexpr Primitive cofactors_primitive = {
    .rule = batched({"det.cofactors", cofactors_vjp, cofactors_jvp}),
    .infer = infer_cofactors,
    .evaluate = evaluate_cofactors,
    .keeps = {keep_input(0), keep_input(1), keep_input(2), keep_input(3), keep_input(4)},
    .constants = 2,
    .write_c = write_cofactors};

// w cof(a)[h_1 ... h_k]
Tensor cofactors(const Tensor& weight, const Point& at, const Tensor& directions) {
  return apply(cofactors_primitive, {&weight, &at.a, &directions, &at.lu, &at.pivots});
}

// ---- det: residuals are the factors and pivots. Kept: a, those, and the value for overrides of the rule.
Point point_of_det(const tape::Record& r) { return {r.saved(0), r.saved(1), r.saved(2)}; }
Tensor inverse_at_point(const Point& at) { return inverse_of(at.a, at.lu, at.pivots); }
Tensor trace_of_product(const Tensor& x, const Tensor& y) { return sum(multiply(swap_matrix_axes(x), y), {-2, -1}); }
void det_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  const Point at = point_of_det(r);
  dx[0] = conjugate(cofactors(conjugate(g[0]), at, no_directions(at.a)));
}
void det_jvp(const tape::Record& r, std::span<const Tensor> dx, std::span<Tensor> dy) {
  dy[0] = derivative(point_of_det(r), as_direction(dx[0]));
}

void infer_det(const Call& call, Metas& out) {
  const Tensor& a = call.input(0);
  out.add(a.dtype(), batch_of(a));
  add_factors(out, a);
}
// The value always comes from the factors, so that a tape does not change its bits.
void evaluate_det(const Call& call, Outputs& out) {
  static_cast<void>(loops::factorise(call.input(0), out[1], out[2]));
  loops::determinant(out[1], out[2], out[0]);
}
constexpr Primitive det_primitive = {.rule = batched({"det", det_vjp, det_jvp}),
                                     .infer = infer_det,
                                     .evaluate = evaluate_det,
                                     .keeps = {keep_input(0), keep_output(1), keep_output(2), keep_output(0)},
                                     .residuals = 2,
                                     .write_c = write_det};

// ---- slogdet: residuals and kept values as for det, and the sign. The sign of a real matrix is constant almost
// everywhere, so its gradient is zero. With t = tr(a^-1 da): d logdet = Re t; of complex matrices d sign = i sign Im t.

// The gradient of the logarithm, w a^-T. Inputs: weight, a, factors, pivots; residual: the inverse of a. Where the
// weight is zero, such as a cotangent for another matrix of the batch, so is the result, not NaN if a is singular.
enum : std::size_t { gradient_weight, gradient_a, gradient_lu, gradient_pivots, gradient_inverse };

Tensor inverse_at(const tape::Record& r) {
  const Tensor& a = r.saved(gradient_a);
  return followed(a) ? inverse_of(a, r.saved(gradient_lu), r.saved(gradient_pivots)) : r.saved(gradient_inverse);
}
// w z^T u^T z^T
Tensor weighted_product(const Tensor& weight, const Tensor& z, const Tensor& u) {
  return multiply(per_matrix(weight), product("slogdet", product("slogdet", z, u, {true, true}), z, {false, true}));
}

void log_gradient_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  const Tensor z = inverse_at(r);
  if (r.wanted(0)) dx[0] = sum_to(r, sum(multiply(g[0], swap_matrix_axes(z)), {-2, -1}), r.shape(0));
  if (r.wanted(1)) dx[1] = sum_to(r, negative(weighted_product(r.saved(gradient_weight), z, g[0])), r.shape(1));
}
void log_gradient_jvp(const tape::Record& r, std::span<const Tensor> dx, std::span<Tensor> dy) {
  const Tensor z = inverse_at(r);
  if (r.wanted(0)) dy[0] = multiply(per_matrix(dx[0]), swap_matrix_axes(z));
  if (!r.wanted(1)) return;
  const Tensor part = weighted_product(r.saved(gradient_weight), z, dx[1]);
  dy[0] = dy[0].defined() ? subtract(dy[0], part) : negative(part);
}

void infer_log_gradient(const Call& call, Metas& out) {
  const Tensor& a = call.input(gradient_a);
  Shape shape = call.input(gradient_weight).shape();
  shape.push_back(a.shape().back());
  shape.push_back(a.shape().back());
  out.add(a.dtype(), shape);
  out.add(a.dtype(), a.shape());
}
void evaluate_log_gradient(const Call& call, Outputs& out) {
  loops::inverse_by_factors(call.input(gradient_a), call.input(gradient_lu), call.input(gradient_pivots), out[1]);
  loops::scale_transposes(call.input(gradient_weight), out[1], out[0]);
}
constexpr Primitive log_gradient = {
    .rule = batched({"slogdet.vjp", log_gradient_vjp, log_gradient_jvp}),
    .infer = infer_log_gradient,
    .evaluate = evaluate_log_gradient,
    .keeps = {keep_input(0), keep_input(1), keep_input(2), keep_input(3), keep_output(1)},
    .constants = 2,
    .residuals = 1,
    .write_c = write_log_gradient};

enum : std::size_t { slogdet_sign = 3 };

// For cotangents u of the sign and v of the logarithm (v - i Im(conj(u) sign)) a^-H.
void complex_slogdet_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  const Tensor& s = r.saved(slogdet_sign);

  const Tensor of_sign = g[0].defined() ? negative(imag(multiply(conj(g[0]), s))) : Tensor();
  const Tensor of_log = g[1].defined() ? g[1] : zeros(r.batched(r.output_shape(1)), r.output_dtype(1));
  const Tensor weight = of_sign.defined() ? make_complex(of_log, of_sign) : of_log;
  dx[0] = multiply(per_matrix(weight), adjoint(inverse_at_point(point_of_det(r))));
}

void slogdet_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  if (is_complex(r.dtype(0))) return complex_slogdet_vjp(r, g, dx);
  if (g[1].defined())
    dx[0] = apply(log_gradient, {&g[1], &r.saved(0), &r.saved(1), &r.saved(2)});
  else
    dx[0] = zeros(r.batched(r.shape(0)), r.dtype(0));
}
void slogdet_jvp(const tape::Record& r, std::span<const Tensor> dx, std::span<Tensor> dy) {
  const Tensor t = trace_of_product(inverse_at_point(point_of_det(r)), dx[0]);
  dy[1] = real(t);
  if (!is_complex(t.dtype())) return;
  const Tensor angle = imag(t);
  dy[0] = multiply(r.saved(slogdet_sign), make_complex(zeros_like(angle), angle));
}

void infer_slogdet(const Call& call, Metas& out) {
  const Tensor& a = call.input(0);
  out.add(a.dtype(), batch_of(a));
  out.add(is_complex(a.dtype()) ? loops::part_dtype(a.dtype()) : a.dtype(), batch_of(a));
  add_factors(out, a);
}
void evaluate_slogdet(const Call& call, Outputs& out) {
  static_cast<void>(loops::factorise(call.input(0), out[2], out[3]));
  loops::log_determinant(out[2], out[3], out[0], out[1]);
}
constexpr Primitive slogdet_primitive = {
    .rule = batched({.name = "slogdet", .vjp = slogdet_vjp, .jvp = slogdet_jvp, .accepts_none = true}),
    .infer = infer_slogdet,
    .evaluate = evaluate_slogdet,
    .keeps = {keep_input(0), keep_output(2), keep_output(3), keep_output(0)},
    .residuals = 2,
    .write_c = write_slogdet};

// ---- Matrices of order up to 2 are expressions, complex ones up to 3, so that singular ones are no special case.

Tensor det_of_two(const Tensor& a) {
  const auto element = [&](int i, int j) { return slice(a, {ellipsis, i, j}); };
  return subtract(multiply(element(0, 0), element(1, 1)), multiply(element(0, 1), element(1, 0)));
}

// By the first row.
Tensor det_of_three(const Tensor& a) {
  const auto element = [&](int i, int j) { return slice(a, {ellipsis, i, j}); };
  const auto term = [&](int j) {
    const int left = j == 0 ? 1 : 0, right = j == 2 ? 1 : 2;
    return multiply(element(0, j), subtract(multiply(element(1, left), element(2, right)),
                                            multiply(element(1, right), element(2, left))));
  };
  return add(subtract(term(0), term(1)), term(2));
}

Tensor determinant(const Tensor& a) {
  switch (a.shape().back()) {
    case 0: {
      Shape shape = batch_of(a);
      shape.push_back(0);
      return prod(reshape(a, shape), -1);
    }
    case 1:
      return reshape(a, batch_of(a));
    case 2:
      return det_of_two(a);
    case 3:
      if (is_complex(a.dtype())) return det_of_three(a);
      [[fallthrough]];
    default:
      return apply(det_primitive, {&a});
  }
}

}  // namespace
}  // namespace ops

Tensor det(const Operand& a) {
  const tape::OpScope scope(a);
  return ops::in_dtype_of(a, ops::determinant(ops::square_matrices("det", a)));
}

SignLogDet slogdet(const Operand& a) {
  const tape::OpScope scope(a);
  const Tensor x = ops::square_matrices("slogdet", a);
  Tensor y[2];
  const Tensor* const inputs[] = {&x};
  ops::apply(ops::slogdet_primitive, inputs, {}, y);
  return {ops::in_dtype_of(a, y[0]), ops::in_dtype_of(a, y[1])};
}

}  // namespace reel
