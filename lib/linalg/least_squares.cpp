// pinv, lstsq (Golub and Pereyra 1973, "The differentiation of pseudo-inverses").
#include <cmath>
#include <reel/ops/parts.hpp>

#include "linalg/gauge.hpp"
#include "ops/promote.hpp"

namespace reel {
namespace ops {
namespace {

Tensor mh(const Tensor& x, const Tensor& y) { return product_adjoint("pinv", x, y); }
Tensor hm(const Tensor& x, const Tensor& y) { return adjoint_product("pinv", x, y); }
// (1 - a p) x, (1 - p a) x
Tensor without(const Tensor& a, const Tensor& p, const Tensor& x) { return subtract(x, mm(a, mm(p, x))); }

// A power of 2 per matrix, [..., 1, 1], which brings its elements near 1. No gradient.
Tensor unit_scale(const Tensor& a) {
  const DType dtype = real_dtype(a.dtype());
  const int least = dtype == DType::float64 ? -1000 : -120;  // 2^-least is finite
  const Tensor exponent = frexp(sum(abs(stop_gradient(a)), {-2, -1}, true)).exponent;
  return ldexp(ones({}, dtype), negative(maximum(exponent, least)));
}

double tolerance(const char* op, const Tensor& a, const RankOptions& options) {
  if (std::isnan(options.rtol)) fail<ValueError>(op, "rtol is NaN");
  if (options.rtol >= 0) return options.rtol;
  return static_cast<double>(std::max(a.shape()[-2], a.shape()[-1])) * epsilon(a.dtype());
}

// ---- pinv: saved a, p. dp = -p da p + p p^H da^H (1 - a p) + (1 - p a) da^H p^H p, for a s and p / s, whose products
// do not overflow or underflow.
void pinv_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  const Tensor scale = unit_scale(r.saved(0));
  const Tensor a = multiply(r.saved(0), scale), p = multiply(r.saved(1), reciprocal(scale));
  const Tensor gs = multiply(g[0], scale), gp = hm(p, gs);  // p^H g
  Tensor da = negative(mh(gp, p));
  da = add(da, without(a, p, mm(adjoint(gs), mh(p, p))));
  const Tensor right = mm(hm(p, p), adjoint(gs));
  dx[0] = multiply(add(da, subtract(right, mm(mm(right, p), a))), scale);
}
void pinv_jvp(const tape::Record& r, std::span<const Tensor> dx, std::span<Tensor> dy) {
  const Tensor scale = unit_scale(r.saved(0));
  const Tensor a = multiply(r.saved(0), scale), p = multiply(r.saved(1), reciprocal(scale));
  const Tensor da = multiply(dx[0], scale), back = adjoint(da);
  const Tensor first = mm(mh(p, p), back);  // p p^H da^H
  const Tensor of_range = subtract(first, mm(mm(first, a), p));
  const Tensor of_kernel = without(p, a, mm(back, hm(p, p)));
  dy[0] = multiply(add(subtract(of_range, mm(mm(p, da), p)), of_kernel), scale);
}
void infer_pinv(const Call& call, Metas& out) {
  const Tensor& a = call.input(0);
  out.add(a.dtype(), with_extents(a.shape(), {a.shape()[-1], a.shape()[-2]}));
}
void evaluate_pinv(const Call& call, Outputs& out) {
  require_convergence("pinv", loops::pinv(call.input(0), call.real(0), out[0]));
}
constexpr Primitive pinv_primitive = {.rule = batched({"pinv", pinv_vjp, pinv_jvp}),
                                      .infer = infer_pinv,
                                      .evaluate = evaluate_pinv,
                                      .keeps = {keep_input(0), keep_output(0)},
                                      .effects = may_throw};
Tensor pinv_of(const Tensor& a, double rtol) { return apply(pinv_primitive, {&a}, words(rtol)); }

// ---- lstsq: inputs a, b of equal batch axes; saved a, b, x. x = p b with the pseudoinverse p, as the rule reads it,
// and x = (p / s) (b s).
void lstsq_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  const Tensor scale = unit_scale(r.saved(0)), a = multiply(r.saved(0), scale);
  const Tensor p = pinv_of(a, std::bit_cast<double>(r.attributes()[0]));
  const Tensor gb = hm(p, g[0]);  // p^H g
  if (r.wanted(1)) dx[1] = multiply(gb, scale);
  if (!r.wanted(0)) return;
  const Tensor& x = r.saved(2);
  const Tensor residual = subtract(multiply(r.saved(1), scale), mm(a, x));
  Tensor da = negative(mh(gb, x));
  da = add(da, mh(residual, mm(p, gb)));
  dx[0] = multiply(add(da, mh(hm(p, x), subtract(g[0], hm(a, gb)))), scale);
}
void lstsq_jvp(const tape::Record& r, std::span<const Tensor> dx, std::span<Tensor> dy) {
  const Tensor scale = unit_scale(r.saved(0)), a = multiply(r.saved(0), scale);
  const Tensor p = pinv_of(a, std::bit_cast<double>(r.attributes()[0]));
  if (r.wanted(1)) add_to(dy[0], mm(p, multiply(dx[1], scale)));
  if (!r.wanted(0)) return;
  const Tensor &x = r.saved(2), da = multiply(dx[0], scale);
  const Tensor residual = subtract(multiply(r.saved(1), scale), mm(a, x));
  add_to(dy[0], negative(mm(p, mm(da, x))));
  add_to(dy[0], mm(p, hm(p, hm(da, residual))));
  add_to(dy[0], without(p, a, hm(da, hm(p, x))));
}
void infer_lstsq(const Call& call, Metas& out) {
  const Tensor &a = call.input(0), &b = call.input(1);
  out.add(a.dtype(), with_extents(b.shape(), {a.shape()[-1], b.shape()[-1]}));
}
void evaluate_lstsq(const Call& call, Outputs& out) {
  require_convergence("lstsq", loops::lstsq(call.input(0), call.input(1), call.real(0), out[0]));
}
constexpr Primitive lstsq_primitive = {.rule = batched({"lstsq", lstsq_vjp, lstsq_jvp}),
                                       .infer = infer_lstsq,
                                       .evaluate = evaluate_lstsq,
                                       .keeps = {keep_input(0), keep_input(1, 0b01), keep_output(0, 0b01)},
                                       .effects = may_throw};

Tensor broadcast_matrices(const Tensor& x, Shape batch) {
  batch.push_back(x.shape()[-2]);
  batch.push_back(x.shape()[-1]);
  return x.shape() == batch ? x : broadcast_to(x, batch);
}

}  // namespace
}  // namespace ops

Tensor pinv(const Operand& a, const RankOptions& options) {
  const tape::OpScope scope(a);
  loops::require_lapack("pinv");
  const Tensor x = ops::matrix_operand("pinv", a);
  return ops::in_dtype_of(a, ops::pinv_of(x, ops::tolerance("pinv", x, options)));
}

Tensor lstsq(const Operand& a, const Operand& b, const RankOptions& options) {
  const tape::OpScope scope(a);
  loops::require_lapack("lstsq");
  const auto [dtype, computed] = ops::promote_operands("lstsq", {&a, &b}, ops::Accept::number);
  const Tensor x = ops::cast_to(ops::matrix_operand("lstsq", a), computed),
               y = ops::cast_to(ops::to_tensor("lstsq", b, "b"), computed);
  const bool vector = ops::is_vector_side("lstsq", "a", x.shape(), y.shape());
  const Tensor columns = vector ? ops::as_column(y) : y;
  const Shape batch = ops::broadcast_shapes("lstsq", ops::batch_of(x), ops::batch_of(columns));
  const Tensor left = ops::broadcast_matrices(x, batch), right = ops::broadcast_matrices(columns, batch);
  const double rtol = ops::tolerance("lstsq", x, options);
  const Tensor z = ops::apply(ops::lstsq_primitive, {&left, &right}, ops::words(rtol));
  const Tensor result = vector ? squeeze(z, -1) : z;
  return ops::is_half(dtype) ? cast(result, dtype) : result;
}

}  // namespace reel
