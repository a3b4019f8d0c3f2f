// cholesky, its derivatives, and solutions by its factors.
#include <reel/linalg/factorisations.hpp>
#include <reel/ops/index.hpp>
#include <reel/ops/make.hpp>

#include "linalg/factor_derivatives.hpp"
#include "linalg/systems.hpp"
#include "linalg/write.hpp"
#include "loops/index/triangle.hpp"
#include "loops/loops.hpp"
#include "ops/apply/apply.hpp"

namespace reel {
namespace ops {
namespace {

// ---- cholesky: saves the result. With P the lower triangle, its diagonal halved: dL = L P(L^-1 da L^-H), where da is
// made Hermitian, and the transpose of that (Murray 2016, "Differentiation of the Cholesky decomposition"). Where no
// tape follows it, a loop computes the latter, and for real numbers the former, with a sixth of these products'
// multiplications.
void infer_cholesky_vjp(const Call& call, Metas& out) { out.add(call.input(0).dtype(), call.input(1).shape()); }
void evaluate_cholesky_vjp(const Call& call, Outputs& out) {
  Tensor copied;
  loops::copy(call.input(1), out[0]);
  loops::cholesky_vjp(loops::contiguous(call.input(0), copied), out[0]);
}
constexpr Primitive cholesky_vjp_primitive = {.rule = {.name = "cholesky.vjp"},
                                              .infer = infer_cholesky_vjp,
                                              .evaluate = evaluate_cholesky_vjp,
                                              .write_c = write_cholesky_vjp};

void evaluate_cholesky_jvp(const Call& call, Outputs& out) {
  Tensor copied;
  loops::copy(call.input(1), out[0]);
  loops::cholesky_jvp(loops::contiguous(call.input(0), copied), out[0]);
}
constexpr Primitive cholesky_jvp_primitive = {.rule = {.name = "cholesky.jvp"},
                                              .infer = infer_cholesky_vjp,
                                              .evaluate = evaluate_cholesky_jvp,
                                              .write_c = write_cholesky_jvp};

Tensor lower_half(const Tensor& x);
Tensor lower_half_again(const tape::Record&, const Tensor& x) { return lower_half(x); }
void evaluate_lower_half(const Call& call, Outputs& out) { loops::copy_lower_half(call.input(0), out[0]); }
constexpr Primitive lower_half_primitive = {.rule = linear<lower_half_again, lower_half_again>("cholesky.lower_half"),
                                            .infer = infer_like_input,
                                            .evaluate = evaluate_lower_half,
                                            .write_c = write_lower_half};
Tensor lower_half(const Tensor& x) { return apply(lower_half_primitive, {&x}); }
// L^-H x
Tensor solve_adjoint(const Tensor& l, const Tensor& x) {
  return conjugate(triangular(l, conjugate(x), {.lower = true, .transpose = true}, false, Caller::itself));
}

void cholesky_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  dx[0] = cholesky_cotangent(r.saved(0), g[0]);
}

void cholesky_jvp(const tape::Record& r, std::span<const Tensor> dx, std::span<Tensor> dy) {
  dy[0] = cholesky_tangent(r.saved(0), dx[0]);
}

void evaluate_cholesky(const Call& call, Outputs& out) {
  const Tensor& a = call.input(0);
  loops::copy(a, out[0]);
  if (const loops::FactorInfo info = loops::cholesky(out[0])) {
    const CallerNames names = caller_names(call.attribute(0), "cholesky");
    fail<ValueError>(names.op,
                     "{} is not positive definite: the leading minor of order {}{} is not positive; add a multiple "
                     "of eye(n), or check that {} is symmetric",
                     names.operand, info.order, matrix_name(info.batch, batch_of(a)), names.operand);
  }
}

constexpr Primitive cholesky_primitive = {.rule = batched({"cholesky", cholesky_vjp, cholesky_jvp}),
                                          .infer = infer_like_input,
                                          .evaluate = evaluate_cholesky,
                                          .keeps = {keep_output(0)},
                                          .effects = may_throw,
                                          .write_c = write_cholesky};

}  // namespace

Tensor cholesky_for(Caller caller, const Tensor& a) { return apply(cholesky_primitive, {&a}, words(caller)); }

Tensor cholesky_cotangent(const Tensor& l, const Tensor& g) {
  if (!followed(l, g)) return evaluate(cholesky_vjp_primitive, {&l, &g});
  const Tensor p = lower_half(adjoint_product("cholesky", l, tril(g)));
  return hermitian_part(solve_adjoint(l, adjoint(solve_adjoint(l, p))));
}
Tensor cholesky_tangent(const Tensor& l, const Tensor& da) {
  if (!followed(l, da) && !is_complex(l.dtype()) && da.size() > 0) {
    const Tensor symmetric = hermitian_part(da);
    return evaluate(cholesky_jvp_primitive, {&l, &symmetric});
  }
  const auto solve_lower = [&](const Tensor& x) { return triangular(l, x, {}, false, Caller::itself); };
  const Tensor inner = solve_lower(adjoint(solve_lower(hermitian_part(da))));
  return product("cholesky", l, lower_half(inner));
}

}  // namespace ops

Tensor cholesky(const Operand& a) {
  const tape::OpScope scope(a);
  const Tensor x = ops::square_matrices("cholesky", a);
  return ops::in_dtype_of(a, ops::cholesky_for(ops::Caller::itself, x));
}

Tensor cholesky_solve(const Operand& l, const Operand& b) {
  const tape::OpScope scope(l);
  const Operand* both[] = {&l, &b};
  const DType dtype = ops::common_dtype("cholesky_solve", both);
  constexpr auto caller = ops::Caller::cholesky_solve;
  const bool vector = ops::to_tensor("cholesky_solve", b, "b").rank() == 1;
  const Tensor half = ops::triangular_solve_for(caller, l, b, {});
  const Tensor x = ops::conjugate(
      ops::triangular_solve_for(caller, l, ops::conjugate(half), {.lower = true, .transpose = true}, vector));
  return ops::is_half(dtype) ? cast(x, dtype) : x;
}

Tensor cholesky_inverse(const Operand& l) {
  const tape::OpScope scope(l);
  const Tensor x = ops::square_matrices("cholesky_inverse", l, "l");
  const Tensor unit = broadcast_to(eye(x.shape().back(), x.dtype()), x.shape());
  const Tensor half = ops::triangular_solve_for(ops::Caller::cholesky_inverse, x, unit, {}, false);
  return ops::in_dtype_of(l, ops::adjoint_product("cholesky_inverse", half, half));
}

}  // namespace reel
