// Norms of matrices by singular values, and condition numbers.
#include <algorithm>
#include <limits>
#include <reel/linalg/functions.hpp>
#include <reel/linalg/products.hpp>

#include "linalg/gauge.hpp"
#include "linalg/singular_values.hpp"

namespace reel {
namespace ops {
namespace {

void infer_norm(const Call& call, Metas& out) { out.add(real_dtype(call.input(0).dtype()), batch_of(call.input(0))); }
// Re tr(x^H y)
Tensor real_inner(const Tensor& x, const Tensor& y) { return real(sum(multiply(conjugate(x), y), {-2, -1})); }

// ---- The largest or the smallest singular value. Saved: a; attribute: smallest. The derivative is u1 v1^H, shared
// among values that count as equal. Vectors of other singular values are not read, so these may be equal.
struct ExtremeVectors {
  Tensor u, vh;  // vectors of other values are 0
  explicit ExtremeVectors(const tape::Record& r) {
    const auto [left, s, right] = svd(r.saved(0));
    const Tensor values = stop_gradient(s);
    const Tensor end = r.attributes()[0] != 0 ? min(values, -1, true) : max(values, -1, true);
    const Tensor tied = vanishing(subtract(values, end), values, true);
    const Tensor count = cast(tied, values.dtype());
    const Tensor share = where(equal(end, 0.0), 0.0, divide(count, sum(count, -1, true)));
    u = multiply(where(as_row(tied), left, 0.0), as_row(share));
    vh = where(as_column(tied), right, 0.0);
  }
};
void end_value_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  const ExtremeVectors at(r);
  dx[0] = multiply(per_matrix(g[0]), mm(at.u, at.vh));
}
void end_value_jvp(const tape::Record& r, std::span<const Tensor> dx, std::span<Tensor> dy) {
  const ExtremeVectors at(r);
  dy[0] = real_inner(mm(at.u, at.vh), dx[0]);
}
void evaluate_end_value(const Call& call, Outputs& out) {
  require_convergence("matrix_norm", loops::singular_value(call.input(0), call.attribute(0) != 0, out[0]));
}
constexpr Primitive end_value_primitive = {.rule = batched({"extreme singular value", end_value_vjp, end_value_jvp}),
                                           .infer = infer_norm,
                                           .evaluate = evaluate_end_value,
                                           .keeps = {keep_input(0)},
                                           .effects = may_throw};
Tensor extreme_singular_value(const Tensor& a, bool smallest) {
  return apply(end_value_primitive, {&a}, words(smallest));
}

// ---- The unitary factor q [..., m, n], m >= n, of a = q h with positive semidefinite h: u v^H, where vectors of
// singular values that count as 0 are left out. Saved: q, a; residual: the singular values. With h y + y h = q^H da -
// da^H q: dq = q y + (1 - q q^H) da h^-1. Where h is singular it is NaN.
Tensor polar_factor(const Tensor& a);

struct PolarPoint {
  const Tensor &q, &a;
  Tensor singular, h;
  explicit PolarPoint(const tape::Record& r) : q(r.saved(0)), a(r.saved(1)) {
    const Tensor& s = r.saved(2);
    singular = per_matrix(any(vanishing(s, s, true), -1));
    h = where(singular, eye(s.shape()[-1], s.dtype()), adjoint_product("matrix_norm", q, a));
  }
  Tensor skew_solution(const Tensor& of_q) const {
    const Tensor z = sylvester(h, h, of_q);
    return subtract(z, adjoint(z));
  }
  // q y + (x - q q^H x) h^-1, NaN where it is not defined.
  Tensor along(const Tensor& y, const Tensor& x, const Tensor& of_q) const {
    Tensor sum = mm(q, y);
    if (q.shape()[-2] > q.shape()[-1]) sum = add(sum, adjoint(solve_any(h, adjoint(subtract(x, mm(q, of_q))))));
    const Tensor read = any(not_equal(stop_gradient(x), 0.0), {-2, -1}, true);
    return where(logical_and(singular, read), std::numeric_limits<double>::quiet_NaN(), sum);
  }
};
void unitary_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  const PolarPoint at(r);
  const Tensor of_q = adjoint_product("matrix_norm", at.q, g[0]);
  dx[0] = at.along(at.skew_solution(of_q), g[0], of_q);
}
void unitary_jvp(const tape::Record& r, std::span<const Tensor> dx, std::span<Tensor> dy) {
  const PolarPoint at(r);
  const Tensor of_q = adjoint_product("matrix_norm", at.q, dx[0]);
  dy[0] = at.along(at.skew_solution(of_q), dx[0], of_q);
}
void infer_polar(const Call& call, Metas& out) {
  const Tensor& a = call.input(0);
  out.add(a.dtype(), a.shape());
  out.add(real_dtype(a.dtype()), with_extents(a.shape(), {a.shape()[-1]}));
}
void evaluate_polar(const Call& call, Outputs& out) {
  require_convergence("matrix_norm", loops::polar_factor(call.input(0), out[1], out[0]));
}
constexpr Primitive polar_primitive = {
    .rule = batched({.name = "polar factor", .vjp = unitary_vjp, .jvp = unitary_jvp, .depends_on_zeros = true}),
    .infer = infer_polar,
    .evaluate = evaluate_polar,
    .keeps = {keep_output(0), keep_input(0), keep_output(1)},
    .residuals = 1,
    .effects = may_throw};
Tensor polar_factor(const Tensor& a) {
  if (a.shape()[-2] < a.shape()[-1]) return adjoint(polar_factor(adjoint(a)));
  return apply(polar_primitive, {&a});
}

// ---- The sum of singular values. Saved: a.
void nuclear_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  dx[0] = multiply(per_matrix(g[0]), polar_factor(r.saved(0)));
}
void nuclear_jvp(const tape::Record& r, std::span<const Tensor> dx, std::span<Tensor> dy) {
  dy[0] = real_inner(polar_factor(r.saved(0)), dx[0]);
}
void evaluate_nuclear(const Call& call, Outputs& out) {
  require_convergence("matrix_norm", loops::nuclear_norm(call.input(0), out[0]));
}
constexpr Primitive nuclear_primitive = {.rule = batched({"nuclear norm", nuclear_vjp, nuclear_jvp}),
                                         .infer = infer_norm,
                                         .evaluate = evaluate_nuclear,
                                         .keeps = {keep_input(0)},
                                         .effects = may_throw};

// x, or 1 where it is 0: the condition number of the zero matrix is 1 / 0.
Tensor nonzero_norm(const Tensor& x) { return where(equal(stop_gradient(x), 0.0), 1.0, x); }
// ||a|| ||a^-1||; infinite for a singular matrix, whose inverse is not read.
Tensor condition_of(const Tensor& a, MatrixNorm kind) {
  const Tensor unit = eye(a.shape()[-1], a.dtype());
  const Tensor z = solve_any(a, broadcast_to(unit, a.shape()));
  const auto finite = [](const Tensor& x) { return all(isfinite(stop_gradient(x)), {-2, -1}, true); };
  const Tensor singular = logical_and(finite(a), logical_not(finite(z)));
  const Tensor of_inverse = matrix_norm(where(singular, unit, z), kind);
  return multiply(nonzero_norm(matrix_norm(a, kind)),
                  where(squeeze(singular, {-2, -1}), std::numeric_limits<double>::infinity(), of_inverse));
}

}  // namespace

Tensor norm_by_spectrum(const Operand& operand, bool spectral, bool keepdims) {
  loops::require_lapack("matrix_norm");
  const Tensor a = matrix_operand("matrix_norm", operand);
  if (spectral && (a.shape()[-1] == 0 || a.shape()[-2] == 0))
    fail<ShapeError>("matrix_norm", "a is {}: there is no largest of no singular values", a.shape());
  const Tensor y = in_dtype_of(operand, spectral ? extreme_singular_value(a, false) : apply(nuclear_primitive, {&a}));
  return keepdims ? per_matrix(y) : y;
}

}  // namespace ops

Tensor cond(const Operand& operand, MatrixNorm kind) {
  constexpr const char* op = "cond";
  const tape::OpScope scope(operand);
  if (kind > MatrixNorm::nuclear) fail<ValueError>(op, "norm {} is none of the enumeration", static_cast<int>(kind));
  const bool spectral = kind == MatrixNorm::spectral;
  if (spectral || kind == MatrixNorm::nuclear) loops::require_lapack(op);
  const Tensor a = spectral ? ops::matrix_operand(op, operand) : ops::square_matrices(op, operand);
  if (a.shape()[-1] == 0 || a.shape()[-2] == 0)
    fail<ShapeError>(op, "a is {}: a matrix without elements has no condition number", a.shape());
  if (!spectral) return ops::in_dtype_of(operand, ops::condition_of(a, kind));
  const Tensor largest = ops::extreme_singular_value(a, false), smallest = ops::extreme_singular_value(a, true);
  return ops::in_dtype_of(operand, divide(ops::nonzero_norm(largest), smallest));
}

}  // namespace reel
