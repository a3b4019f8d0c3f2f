// pinv, lstsq (Golub and Pereyra 1973, "The differentiation of pseudo-inverses"), and solutions by Cholesky factors.
#include <cmath>

#include "ops/linalg/factorisations/common.hpp"

namespace reel {
namespace ops {
namespace {

Tensor mh(const Tensor& x, const Tensor& y) { return product_adjoint("pinv", x, y); }
Tensor hm(const Tensor& x, const Tensor& y) { return adjoint_product("pinv", x, y); }
// (1 - a p) x, (1 - p a) x
Tensor without(const Tensor& a, const Tensor& p, const Tensor& x) { return subtract(x, mm(a, mm(p, x))); }

double tolerance(const char* op, const Tensor& a, const RankOptions& options) {
  if (std::isnan(options.rtol)) fail<ValueError>(op, "rtol is NaN");
  if (options.rtol >= 0) return options.rtol;
  return static_cast<double>(std::max(a.shape()[-2], a.shape()[-1])) * epsilon(a.dtype());
}

// ---- pinv: saved a, p. dp = -p da p + p p^H da^H (1 - a p) + (1 - p a) da^H p^H p.
void pinv_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  const Tensor &a = r.saved(0), &p = r.saved(1);
  const Tensor gp = hm(p, g[0]);  // p^H g
  Tensor da = negative(mh(gp, p));
  da = add(da, without(a, p, mm(adjoint(g[0]), mh(p, p))));
  const Tensor right = mm(hm(p, p), adjoint(g[0]));
  dx[0] = add(da, subtract(right, mm(mm(right, p), a)));
}
void pinv_jvp(const tape::Record& r, std::span<const Tensor> dx, std::span<Tensor> dy) {
  const Tensor &a = r.saved(0), &p = r.saved(1);
  const Tensor back = adjoint(dx[0]);
  const Tensor first = mm(mh(p, p), back);  // p p^H da^H
  const Tensor of_range = subtract(first, mm(mm(first, a), p));
  const Tensor of_kernel = without(p, a, mm(back, hm(p, p)));
  dy[0] = add(subtract(of_range, mm(mm(p, dx[0]), p)), of_kernel);
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

// ---- lstsq: inputs a, b of equal batch axes; saved a, b, x. x = p b with the pseudoinverse p, as the rule reads it.
void lstsq_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  const Tensor& a = r.saved(0);
  const Tensor p = pinv_of(a, std::bit_cast<double>(r.attributes()[0]));
  const Tensor gb = hm(p, g[0]);  // p^H g
  if (r.wanted(1)) dx[1] = gb;
  if (!r.wanted(0)) return;
  const Tensor& x = r.saved(2);
  const Tensor residual = subtract(r.saved(1), mm(a, x));
  Tensor da = negative(mh(gb, x));
  da = add(da, mh(residual, mm(p, gb)));
  dx[0] = add(da, mh(hm(p, x), subtract(g[0], hm(a, gb))));
}
void lstsq_jvp(const tape::Record& r, std::span<const Tensor> dx, std::span<Tensor> dy) {
  const Tensor p = pinv_of(r.saved(0), std::bit_cast<double>(r.attributes()[0]));
  if (r.wanted(1)) add_to(dy[0], mm(p, dx[1]));
  if (!r.wanted(0)) return;
  const Tensor &a = r.saved(0), &x = r.saved(2);
  const Tensor residual = subtract(r.saved(1), mm(a, x));
  add_to(dy[0], negative(mm(p, mm(dx[0], x))));
  add_to(dy[0], mm(p, hm(p, hm(dx[0], residual))));
  add_to(dy[0], without(p, a, hm(dx[0], hm(p, x))));
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
  const Operand* both[] = {&a, &b};
  const DType dtype = ops::common_dtype("lstsq", both), computed = ops::lapack_dtype(dtype);
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

Tensor cholesky_solve(const Operand& l, const Operand& b) {
  const tape::OpScope scope(l);
  const Operand* both[] = {&l, &b};
  const DType dtype = ops::common_dtype("cholesky_solve", both);
  constexpr auto caller = ops::Caller::cholesky_solve;
  const Tensor half = ops::triangular_solve_for(caller, l, b, {});
  const Tensor x =
      ops::conjugated(ops::triangular_solve_for(caller, l, ops::conjugated(half), {.lower = true, .transpose = true}));
  return ops::is_half(dtype) ? cast(x, dtype) : x;
}

Tensor cholesky_inverse(const Operand& l) {
  const tape::OpScope scope(l);
  const Tensor x = ops::square_matrices("cholesky_inverse", l, "l");
  const Tensor unit = broadcast_to(eye(x.shape().back(), x.dtype()), x.shape());
  const Tensor half = ops::triangular_solve_for(ops::Caller::cholesky_inverse, x, unit, {});
  return ops::in_dtype_of(l, ops::adjoint_product("cholesky_inverse", half, half));
}

}  // namespace reel
