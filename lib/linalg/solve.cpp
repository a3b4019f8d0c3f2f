// solve. Rules reuse the factors of the forward pass, as constants beside the matrix itself, so that each order of
// derivative costs substitutions only.
#include "linalg/systems.hpp"
#include "linalg/write.hpp"
#include "loops/loops.hpp"
#include "ops/apply/apply.hpp"

namespace reel {
namespace ops {
namespace {

// ---- solve: saved a, x (where a is followed), and the factors; attributes transpose, vector, and whether a may be
// singular.
enum : std::size_t { solve_a, solve_x, solve_lu, solve_pivots };
enum : std::size_t { solve_transpose, solve_vector, solve_any };

Tensor solution(const Tensor& a, const Tensor& lu, const Tensor& pivots, const Tensor& b, bool transpose, bool vector);

Tensor solve_again(const tape::Record& r, const Tensor& b, bool transpose, bool vector) {
  // If no tape follows a, its factors are constants.
  const Tensor& a = r.has_saved(solve_a) ? r.saved(solve_a) : r.saved(solve_lu);
  return solution(a, r.saved(solve_lu), r.saved(solve_pivots), b, transpose, vector);
}

void solve_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  const bool transpose = r.attributes()[solve_transpose], vector = r.attributes()[solve_vector];
  const Tensor db =
      solve_cotangent(r, g[0], vector, [&](const Tensor& b, bool v) { return solve_again(r, b, !transpose, v); });
  if (r.wanted(1)) dx[1] = sum_to(r, db, r.shape(1));
  if (!r.wanted(0)) return;
  const Tensor x = r.saved(solve_x);
  dx[0] = sum_to(r, minus_outer(db, x, vector, transpose), r.shape(0));
}

void solve_jvp(const tape::Record& r, std::span<const Tensor> dx, std::span<Tensor> dy) {
  const bool transpose = r.attributes()[solve_transpose], vector = r.attributes()[solve_vector];
  Tensor b;
  if (r.wanted(1)) b = dx[1];
  if (r.wanted(0)) b = subtract_from(b, apply_matrix(dx[0], r.saved(solve_x), transpose, vector));
  dy[0] = solve_again(r, b, transpose, vector);
}

constexpr tape::Rule solve_rule = batched({"solve", solve_vjp, solve_jvp});
// Inputs a, b; residuals the factors and pivots of a.
void infer_solve(const Call& call, Metas& out) {
  const Tensor& a = call.input(0);
  out.add(a.dtype(), system_of("solve", call, solve_vector).shape);
  add_factors(out, a);
}
void evaluate_solve(const Call& call, Outputs& out) {
  const Tensor &a = call.input(0), &b = call.input(1);
  const loops::FactorInfo info = loops::factorise(a, out[1], out[2]);
  if (call.attribute(solve_any) == 0) require_nonsingular("solve", a, info);
  const SystemShape s = system_of("solve", call, solve_vector);
  loops::copy(b, out[0]);
  loops::solve(out[1], out[2], call.attribute(solve_transpose) != 0, out[0], s.batch, s.columns);
}
constexpr Primitive solve_primitive = {
    .rule = solve_rule,
    .infer = infer_solve,
    .evaluate = evaluate_solve,
    .keeps = {keep_input(0, 0b01), keep_output(0, 0b01), keep_output(1), keep_output(2)},
    .residuals = 2,
    .effects = may_throw,
    .write_c = write_solve};

// The same with factors and pivots as inputs.
void infer_solve_by_factors(const Call& call, Metas& out) {
  out.add(call.input(0).dtype(), system_of("solve", call, solve_vector).shape);
}
void evaluate_solve_by_factors(const Call& call, Outputs& out) {
  const SystemShape s = system_of("solve", call, solve_vector);
  loops::copy(call.input(1), out[0]);
  loops::solve(call.input(2), call.input(3), call.attribute(solve_transpose) != 0, out[0], s.batch, s.columns);
}
constexpr Primitive solve_by_factors = {
    .rule = solve_rule,
    .infer = infer_solve_by_factors,
    .evaluate = evaluate_solve_by_factors,
    .keeps = {keep_input(0, 0b01), keep_output(0, 0b01), keep_input(2), keep_input(3)},
    .constants = 2,
    .write_c = write_solve_by_factors};

// The solution x of a x = b or a^T x = b, as a differentiable function of a and b.
Tensor solution(const Tensor& a, const Tensor& lu, const Tensor& pivots, const Tensor& b, bool transpose, bool vector) {
  return apply(solve_by_factors, {&a, &b, &lu, &pivots}, words(transpose, vector));
}

}  // namespace

Tensor solve_any(const Tensor& a, const Tensor& b) {
  return apply(solve_primitive, {&a, &b}, words(false, false, true));
}

}  // namespace ops

Tensor solve(const Operand& a, const Operand& b) {
  const tape::OpScope scope(a);
  const auto [x, y, dtype] = ops::system_operands("solve", a, b);
  const bool vector = ops::is_vector_side("solve", "a", x.shape(), y.shape());
  return ops::cast_to(ops::apply(ops::solve_primitive, {&x, &y}, ops::words(false, vector, false)), dtype);
}

}  // namespace reel
