// Functions of matrices, and Sylvester's equation.
//
// A function f of matrices has one rule: with D(a; h_1 ... h_k) its mixed derivative along k directions, which is
// symmetric in them, the derivative of D along a direction of a is D with one direction more, and the adjoint of that
// direction is D(a^H; h_1^H ... h_k^H, g): under the trace, the factors of each term of the power series may be
// rotated.
#include <reel/linalg/functions.hpp>
#include <reel/ops/make.hpp>
#include <reel/ops/pointwise.hpp>

#include "linalg/directions.hpp"
#include "linalg/functions/perturbed.hpp"
#include "linalg/matrices.hpp"
#include "loops/loops.hpp"
#include "ops/apply/apply.hpp"
#include "ops/promote.hpp"

namespace reel {
namespace ops {
namespace {

using loops::MatrixFunction;

// ---- D(a; directions). Attribute: the function. The value, without directions, is a primitive of its own.

Tensor mixed_derivative(std::int64_t function, const Tensor& a, const Tensor& directions);

Tensor first_derivative(std::int64_t function, const Tensor& a, const Tensor& h) {
  return mixed_derivative(function, a, as_direction(h));
}
Tensor without_direction(std::int64_t function, const Tensor& a, const Tensor& directions, std::int64_t i,
                         const Tensor& h) {
  return mixed_derivative(function, a, with_direction(other_directions(directions, i), h));
}

void function_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  dx[0] = sum_to(r, first_derivative(r.attributes()[0], adjoint(r.saved(0)), g[0]), r.shape(0));
}
void function_jvp(const tape::Record& r, std::span<const Tensor> dx, std::span<Tensor> dy) {
  dy[0] = first_derivative(r.attributes()[0], r.saved(0), dx[0]);
}

void function_derivative_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  const std::int64_t f = r.attributes()[0];
  const Tensor a = adjoint(r.saved(0)), h = adjoint(r.saved(1));
  if (r.wanted(0)) dx[0] = sum_to(r, mixed_derivative(f, a, with_direction(h, g[0])), r.shape(0));
  if (!r.wanted(1)) return;
  const Tensor dh = of_each_direction(h, [&](std::int64_t i) { return without_direction(f, a, h, i, g[0]); });
  dx[1] = sum_to(r, dh, r.shape(1));
}
void function_derivative_jvp(const tape::Record& r, std::span<const Tensor> dx, std::span<Tensor> dy) {
  const std::int64_t f = r.attributes()[0];
  const Tensor &a = r.saved(0), &h = r.saved(1);
  if (r.wanted(0)) dy[0] = mixed_derivative(f, a, with_direction(h, dx[0]));
  for (std::int64_t i = 0; r.wanted(1) && i < count_of(h); ++i) {
    const Tensor part = without_direction(f, a, h, i, direction(dx[1], i));
    dy[0] = dy[0].defined() ? add(dy[0], part) : part;
  }
}

void infer_function_derivative(const Call& call, Metas& out) {
  const Tensor &a = call.input(0), &h = call.input(1);
  Shape shape = broadcast_shapes("matrix function", batch_of(a), batch_of(h, 3));
  shape.push_back(a.shape()[-1]);
  shape.push_back(a.shape()[-1]);
  out.add(a.dtype(), shape);
}
void evaluate_function_derivative(const Call& call, Outputs& out) {
  static_cast<void>(
      loops::matrix_function(static_cast<MatrixFunction>(call.attribute(0)), call.input(0), call.input(1), out[0]));
}
constexpr Primitive function_derivative_primitive = {
    .rule = batched({"matrix_function.derivative", function_derivative_vjp, function_derivative_jvp}),
    .infer = infer_function_derivative,
    .evaluate = evaluate_function_derivative,
    .keeps = {keep_input(0), keep_input(1)}};

Tensor mixed_derivative(std::int64_t function, const Tensor& a, const Tensor& directions) {
  return apply(function_derivative_primitive, {&a, &directions}, words(function));
}

void infer_function(const Call& call, Metas& out) { out.add(call.input(0).dtype(), call.input(0).shape()); }
void evaluate_function(const Call& call, Outputs& out) {
  const Tensor& a = call.input(0);
  const auto function = static_cast<MatrixFunction>(call.attribute(0));
  const std::int64_t n = a.shape()[-1];
  const Tensor none_of_them = reel::detail::empty(a.dtype(), {0, n, n});
  const std::int64_t failed = loops::matrix_function(function, a, none_of_them, out[0]);
  if (failed < 0) return;
  const bool root = function == MatrixFunction::square_root;
  if (is_complex(a.dtype()))
    fail<ValueError>("logm", "an eigenvalue{} is zero, to rounding: a singular matrix has no logarithm",
                     matrix_name(failed, batch_of(a)));
  fail<ValueError>(root ? "sqrtm" : "logm", "an eigenvalue{} is {}: it has no real {}; cast it to complex128 first{}",
                   matrix_name(failed, batch_of(a)), root ? "negative" : "negative or zero",
                   root ? "root" : "logarithm", root ? "" : ", unless it is singular");
}
constexpr Primitive function_primitive(const char* name, std::uint8_t effects) {
  return {.rule = batched({name, function_vjp, function_jvp}),
          .infer = infer_function,
          .evaluate = evaluate_function,
          .keeps = {keep_input(0)},
          .effects = effects};
}
constexpr Primitive expm_primitive = function_primitive("expm", 0),
                    logm_primitive = function_primitive("logm", may_throw),
                    sqrtm_primitive = function_primitive("sqrtm", may_throw);

Tensor function_of(const Primitive& primitive, MatrixFunction function, const Operand& a) {
  const Tensor uncast = square_operand(primitive.rule.name, a),
               x = cast_to(uncast, double_precision_of(uncast.dtype()));
  return cast_to(apply(primitive, {&x}, words(function)), floating_of(uncast.dtype()));
}

// ---- Sylvester's equation. Saved: a, b and the solution x.

Tensor solution(const Tensor& a, const Tensor& b, const Tensor& q, const char* op = "sylvester");

void sylvester_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  const Tensor dq = solution(adjoint(r.saved(0)), adjoint(r.saved(1)), g[0]);
  if (r.wanted(2)) dx[2] = sum_to(r, dq, r.shape(2));
  if (!r.wanted(0) && !r.wanted(1)) return;
  const Tensor back = adjoint(r.saved(2));
  if (r.wanted(0)) dx[0] = sum_to(r, negative(product("sylvester", dq, back)), r.shape(0));
  if (r.wanted(1)) dx[1] = sum_to(r, negative(product("sylvester", back, dq)), r.shape(1));
}
void sylvester_jvp(const tape::Record& r, std::span<const Tensor> dx, std::span<Tensor> dy) {
  Tensor q;
  const auto less_product = [&q](const Tensor& a, const Tensor& b) {
    const Tensor p = product("sylvester", a, b);
    q = q.defined() ? subtract(q, p) : negative(p);
  };
  if (r.wanted(2)) q = dx[2];
  if (r.wanted(0)) less_product(dx[0], r.saved(2));
  if (r.wanted(1)) less_product(r.saved(2), dx[1]);
  dy[0] = solution(r.saved(0), r.saved(1), q);
}

void infer_sylvester(const Call& call, Metas& out) {
  const Tensor &a = call.input(0), &b = call.input(1);
  Shape shape = broadcast_shapes("sylvester", batch_of(a), batch_of(b));
  shape = broadcast_shapes("sylvester", shape, batch_of(call.input(2)));
  shape.push_back(a.shape()[-1]);
  shape.push_back(b.shape()[-1]);
  out.add(a.dtype(), shape);
}
void evaluate_sylvester(const Call& call, Outputs& out) {
  const Tensor &a = call.input(0), &b = call.input(1);
  loops::copy(call.input(2), out[0]);
  const std::int64_t failed = loops::sylvester(a, b, out[0]);
  if (failed >= 0)
    fail<ValueError>(reinterpret_cast<const char*>(call.attribute(0)),
                     "an eigenvalue of a is the negative of one of b{}: the equation has no unique solution; add a "
                     "multiple of eye(n) to one of them",
                     matrix_name(failed, batch_of(out[0])));
}
constexpr Primitive sylvester_primitive = {.rule = batched({"sylvester", sylvester_vjp, sylvester_jvp}),
                                           .infer = infer_sylvester,
                                           .evaluate = evaluate_sylvester,
                                           .keeps = {keep_input(0), keep_input(1), keep_output(0, 0b011)},
                                           .effects = may_throw};

Tensor solution(const Tensor& a, const Tensor& b, const Tensor& q, const char* op) {
  return apply(sylvester_primitive, {&a, &b, &q}, words(reinterpret_cast<std::intptr_t>(op)));
}

void require_sylvester_shapes(const char* op, const Tensor& a, const Tensor& b, const Tensor& q) {
  if (q.rank() < 2 || q.shape()[-2] != a.shape()[-1] || q.shape()[-1] != b.shape()[-1])
    fail<ShapeError>(op, "q is {}; it must have the {} rows of a and the {} columns of b", q.shape(), a.shape()[-1],
                     b.shape()[-1]);
  static_cast<void>(broadcast_shapes(op, broadcast_shapes(op, batch_of(a), batch_of(b)), batch_of(q)));
}

// The solution in this dtype for operands that are checked.
Tensor solution_in(DType dtype, const char* op, const Tensor& a, const Tensor& b, const Tensor& q) {
  require_sylvester_shapes(op, a, b, q);
  const DType wide = double_precision_of(dtype);
  return cast_to(solution(cast_to(a, wide), cast_to(b, wide), cast_to(q, wide), op), dtype);
}

}  // namespace

}  // namespace ops

Tensor expm(const Operand& a) {
  const tape::OpScope scope(a);
  return ops::function_of(ops::expm_primitive, loops::MatrixFunction::exponential, a);
}
Tensor sqrtm(const Operand& a) {
  const tape::OpScope scope(a);
  return ops::function_of(ops::sqrtm_primitive, loops::MatrixFunction::square_root, a);
}
Tensor logm(const Operand& a) {
  const tape::OpScope scope(a);
  return ops::function_of(ops::logm_primitive, loops::MatrixFunction::logarithm, a);
}

Tensor expm_frechet(const Operand& a, const Operand& e) {
  constexpr const char* op = "expm_frechet";
  const tape::OpScope scope(a);
  const Tensor x = ops::square_operand(op, a), h = ops::square_operand(op, e, "e");
  if (x.shape()[-1] != h.shape()[-1])
    fail<ShapeError>(op, "a is {}, e is {}: both must have as many rows", x.shape(), h.shape());
  static_cast<void>(ops::broadcast_shapes(op, x.shape(), h.shape()));
  ops::require_rank(op, h.rank() + 1);
  const DType dtype = ops::promote_operands(op, {&a, &e}, ops::Accept::number).result,
              wide = ops::double_precision_of(dtype);
  const Tensor z = ops::first_derivative(static_cast<std::int64_t>(loops::MatrixFunction::exponential),
                                         ops::cast_to(x, wide), ops::cast_to(h, wide));
  return ops::cast_to(z, dtype);
}

Tensor sylvester(const Operand& a, const Operand& b, const Operand& q) {
  constexpr const char* op = "sylvester";
  const tape::OpScope scope(a);
  const Tensor x = ops::square_operand(op, a), y = ops::square_operand(op, b, "b"), z = ops::to_tensor(op, q, "q");
  return ops::solution_in(ops::promote_operands(op, {&a, &b, &q}, ops::Accept::number).result, op, x, y, z);
}

Tensor lyapunov(const Operand& a, const Operand& q) {
  constexpr const char* op = "lyapunov";
  const tape::OpScope scope(a);
  const Tensor x = ops::square_operand(op, a), z = ops::to_tensor(op, q, "q");
  return ops::solution_in(ops::promote_operands(op, {&a, &q}, ops::Accept::number).result, op, x, ops::adjoint(x), z);
}

}  // namespace reel
