// inverse, by the LU factors of the matrix or those of a forward pass.
#include "linalg/systems.hpp"
#include "linalg/write.hpp"
#include "loops/loops.hpp"
#include "ops/apply/apply.hpp"

namespace reel {
namespace ops {
namespace {

// ---- inverse: saves the result z. dz = -z da z.
void inverse_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  const Tensor z = r.saved(0);
  dx[0] = negative(product_adjoint("inverse", adjoint_product("inverse", z, g[0]), z));
}
void inverse_jvp(const tape::Record& r, std::span<const Tensor> dx, std::span<Tensor> dy) {
  const Tensor z = r.saved(0);
  dy[0] = negative(product("inverse", product("inverse", z, dx[0]), z));
}

constexpr tape::Rule inverse_rule = batched({"inverse", inverse_vjp, inverse_jvp});

void evaluate_inverse(const Call& call, Outputs& out) {
  const Tensor& a = call.input(0);
  const Tensor pivots = reel::detail::empty(DType::int32, pivots_shape(a));
  require_nonsingular("inverse", a, loops::factorise(a, out[0], pivots));
  static_cast<void>(loops::invert(out[0], pivots));
}
constexpr Primitive inverse_primitive = {.rule = inverse_rule,
                                         .infer = infer_like_input,
                                         .evaluate = evaluate_inverse,
                                         .keeps = {keep_output(0)},
                                         .effects = may_throw,
                                         .write_c = write_inverse};

// Inputs a, its factors and pivots. Singular matrices are no error: infinite where a is singular.
void evaluate_inverse_by_factors(const Call& call, Outputs& out) {
  loops::inverse_by_factors(call.input(0), call.input(1), call.input(2), out[0]);
}
constexpr Primitive inverse_by_factors = {.rule = inverse_rule,
                                          .infer = infer_like_input,
                                          .evaluate = evaluate_inverse_by_factors,
                                          .keeps = {keep_output(0)},
                                          .constants = 2,
                                          .write_c = write_inverse_by_factors};

}  // namespace

Tensor inverse_of(const Tensor& a, const Tensor& lu, const Tensor& pivots) {
  return apply(inverse_by_factors, {&a, &lu, &pivots});
}

}  // namespace ops

Tensor inverse(const Operand& a) {
  const tape::OpScope scope(a);
  const Tensor x = ops::square_matrices("inverse", a);
  return ops::in_dtype_of(a, ops::apply(ops::inverse_primitive, {&x}));
}

}  // namespace reel
