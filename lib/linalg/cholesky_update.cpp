// cholesky_update. Its derivative is that of cholesky at l l^H + x x^H (downdate: - x x^H), which is not formed.
#include "linalg/gauge.hpp"
#include "linalg/rank_one_update.hpp"
#include "ops/promote.hpp"

namespace reel {
namespace ops {
namespace {

// ---- Inputs l, x of equal batch axes; attribute: downdate. Saved: l, x, the result.
void factor_update_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  const Tensor s = multiply(cholesky_cotangent(r.saved(2), g[0]), 2.0);
  if (r.wanted(0)) dx[0] = tril(mm(s, tril(r.saved(0))));
  if (!r.wanted(1)) return;
  const Tensor of_x = squeeze(mm(s, as_column(r.saved(1))), -1);
  dx[1] = r.attributes()[0] != 0 ? negative(of_x) : of_x;
}
void factor_update_jvp(const tape::Record& r, std::span<const Tensor> dx, std::span<Tensor> dy) {
  Tensor da;  // twice the Hermitian part of the change of l l^H, plus or minus x x^H
  if (r.wanted(0)) da = product_adjoint("cholesky_update", tril(dx[0]), tril(r.saved(0)));
  if (r.wanted(1)) {
    const Tensor of_x = product_adjoint("cholesky_update", as_column(dx[1]), as_column(r.saved(1)));
    add_to(da, r.attributes()[0] != 0 ? negative(of_x) : of_x);
  }
  dy[0] = cholesky_tangent(r.saved(2), multiply(da, 2.0));
}
void infer_factor_update(const Call& call, Metas& out) { out.add(call.input(0).dtype(), call.input(0).shape()); }
void evaluate_factor_update(const Call& call, Outputs& out) {
  const bool downdate = call.attribute(0) != 0;
  if (const loops::FactorInfo info = loops::cholesky_update(call.input(0), call.input(1), downdate, out[0]))
    fail<ValueError>(
        "cholesky_update", "{} is not positive definite: its leading minor of order {}{} is not positive; {}",
        downdate ? "l l^H - x x^H" : "l l^H + x x^H", info.order, matrix_name(info.batch, batch_of(call.input(0))),
        downdate ? "scale x down, or do not subtract it" : "l must have no zero on its diagonal");
}
constexpr Primitive factor_update_primitive = {
    .rule = batched({"cholesky_update", factor_update_vjp, factor_update_jvp}),
    .infer = infer_factor_update,
    .evaluate = evaluate_factor_update,
    .keeps = {keep_input(0), keep_input(1), keep_output(0)},
    .effects = may_throw};

Tensor expand_to(const Tensor& x, const Shape& shape) { return x.shape() == shape ? x : broadcast_to(x, shape); }

}  // namespace
}  // namespace ops

Tensor cholesky_update(const Operand& factor, const Operand& vector, bool downdate) {
  constexpr const char* op = "cholesky_update";
  const tape::OpScope scope(factor);
  const auto [dtype, computed] = ops::promote_operands(op, {&factor, &vector}, ops::Accept::number);
  const Tensor l = ops::cast_to(ops::square_operand(op, factor, "l"), computed),
               x = ops::cast_to(ops::to_tensor(op, vector, "x"), computed);
  const std::int64_t n = l.shape()[-1];
  if (x.rank() == 0 || x.shape()[-1] != n)
    fail<ShapeError>(op, "l is {}, x is {}: x must be a vector of {} elements for each matrix", l.shape(), x.shape(),
                     n);
  Shape shape = ops::broadcast_shapes(op, ops::batch_of(l), ops::batch_of(x, 1));
  ops::require_rank(op, shape.rank() + 2);
  shape.push_back(n);
  const Tensor vectors = ops::expand_to(x, shape);
  shape.push_back(n);
  const Tensor matrices = ops::expand_to(l, shape);
  const Tensor y = ops::apply(ops::factor_update_primitive, {&matrices, &vectors}, ops::words(downdate));
  return ops::is_half(dtype) ? cast(y, dtype) : y;
}

}  // namespace reel
