// eigh, eigvalsh, eig and eigvals. eigvalsh and eigvals use LAPACK's routines for values only, also under a tape, so
// that a tape changes no bit. Their rules compute the vectors.
#include "linalg/gauge.hpp"
#include "ops/promote.hpp"

namespace reel {
namespace ops {
namespace {

// V x V^H
Tensor conjugation(const Tensor& v, const Tensor& x) { return product_adjoint("eigh", product("eigh", v, x), v); }

// ---- eigh: saved w, v; attributes: lower, VectorsFor.
enum : std::size_t { eigh_values, eigh_vectors };
VectorsFor eigh_kind(const tape::Record& r) { return static_cast<VectorsFor>(r.attributes()[1]); }

void eigh_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  const Tensor &w = r.saved(eigh_values), &v = r.saved(eigh_vectors);
  Tensor inner;
  if (g[1].defined()) {
    Tensor m = adjoint_product("eigh", v, g[1]);
    if (is_complex(m.dtype()))
      m = require_invariant(Gauge::eigenvector_phase, m, imag(diagonal(m)), abs(stop_gradient(m)));
    const Tensor gaps = differences(w);
    inner = divide_where_defined(multiply(subtract(m, adjoint(m)), 0.5), gaps, vanishing(gaps, w),
                                 unused_pairs(m, eigh_kind(r)));
  }
  if (g[0].defined()) add_to(inner, cast_to(diag_embed(g[0]), v.dtype()));
  dx[0] = hermitian_part(conjugation(v, inner));
}

void eigh_jvp(const tape::Record& r, std::span<const Tensor> dx, std::span<Tensor> dy) {
  const Tensor &w = r.saved(eigh_values), &v = r.saved(eigh_vectors);
  const Tensor p = adjoint_product("eigh", v, product("eigh", hermitian_part(dx[0]), v));
  const Tensor gaps = differences(w);
  dy[0] = real(diagonal(p));
  dy[1] = product("eigh", v, divide_where_defined(p, gaps, vanishing(gaps, w), unused_pairs(p, eigh_kind(r))));
}

void infer_eigh(const Call& call, Metas& out) {
  const Tensor& a = call.input(0);
  out.add(real_dtype(a.dtype()), pivots_shape(a));
  out.add_like(a);
}
void evaluate_eigh(const Call& call, Outputs& out) {
  require_convergence("eigh", loops::eigh(call.input(0), call.attribute(0) != 0, out[0], out[1]));
}
constexpr Primitive eigh_primitive = {
    .rule = batched({.name = "eigh", .vjp = eigh_vjp, .jvp = eigh_jvp, .accepts_none = true, .depends_on_zeros = true}),
    .infer = infer_eigh,
    .evaluate = evaluate_eigh,
    .keeps = {keep_output(0), keep_output(1)},
    .effects = may_throw};

Eigh eigh_of(const Tensor& a, bool lower, VectorsFor vectors = VectorsFor::caller) {
  Tensor y[2];
  const Tensor* const inputs[] = {&a};
  apply(eigh_primitive, inputs, words(lower, vectors), y);
  return {y[0], y[1]};
}

// ---- eigvalsh: saved a.
void eigvalsh_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  const Tensor v = eigh_of(r.saved(0), r.attributes()[0] != 0, VectorsFor::rule_of_values).eigenvectors;
  dx[0] = hermitian_part(product_adjoint("eigvalsh", multiply(v, as_row(g[0])), v));
}
void eigvalsh_jvp(const tape::Record& r, std::span<const Tensor> dx, std::span<Tensor> dy) {
  const Tensor v = eigh_of(r.saved(0), r.attributes()[0] != 0, VectorsFor::rule_of_values).eigenvectors;
  dy[0] = real(sum(multiply(conjugate(v), product("eigvalsh", hermitian_part(dx[0]), v)), -2));
}
void infer_eigvalsh(const Call& call, Metas& out) {
  out.add(real_dtype(call.input(0).dtype()), pivots_shape(call.input(0)));
}
void evaluate_eigvalsh(const Call& call, Outputs& out) {
  require_convergence("eigvalsh", loops::eigh(call.input(0), call.attribute(0) != 0, out[0], Tensor()));
}
constexpr Primitive eigvalsh_primitive = {.rule = batched({"eigvalsh", eigvalsh_vjp, eigvalsh_jvp}),
                                          .infer = infer_eigvalsh,
                                          .evaluate = evaluate_eigvalsh,
                                          .keeps = {keep_input(0)},
                                          .effects = may_throw};

// ---- eig: saved w, v; attribute VectorsFor. With p = v^-1 da v: dw is p's diagonal, dv = v k - v diag(Re diag(v^H v
// k)), where k_ij = p_ij / (w_j - w_i): columns keep their norm.
VectorsFor eig_kind(const tape::Record& r) { return static_cast<VectorsFor>(r.attributes()[0]); }
void eig_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  const Tensor &w = r.saved(0), &v = r.saved(1);
  Tensor inner;
  if (g[1].defined()) {
    Tensor m = adjoint_product("eig", v, g[1]);
    m = require_invariant(Gauge::eigenvector_phase, m, imag(diagonal(m)), abs(stop_gradient(m)));
    const Tensor along = multiply(adjoint_product("eig", v, v), as_row(real(diagonal(m))));
    const Tensor gaps = differences(w);
    m = subtract(m, along);
    inner = divide_where_defined(m, conj(gaps), vanishing(gaps, abs(w)), unused_pairs(m, eig_kind(r)));
  }
  if (g[0].defined()) add_to(inner, diag_embed(g[0]));
  const Tensor da = solve_any(adjoint(v), product_adjoint("eig", inner, v));
  dx[0] = is_complex(r.dtype(0)) ? da : real(da);
}
void eig_jvp(const tape::Record& r, std::span<const Tensor> dx, std::span<Tensor> dy) {
  const Tensor &w = r.saved(0), &v = r.saved(1);
  const Tensor p = solve_any(v, product("eig", cast_to(dx[0], v.dtype()), v)), gaps = differences(w);
  dy[0] = diagonal(p);
  const Tensor k = divide_where_defined(p, gaps, vanishing(gaps, abs(w)), unused_pairs(p, eig_kind(r))),
               moved = product("eig", v, k);
  dy[1] = subtract(moved, multiply(v, as_row(real(sum(multiply(conj(v), moved), -2)))));
}

void infer_eig(const Call& call, Metas& out) {
  const Tensor& a = call.input(0);
  out.add(complex_dtype(a.dtype()), pivots_shape(a));
  out.add(complex_dtype(a.dtype()), a.shape());
}
void evaluate_eig(const Call& call, Outputs& out) {
  require_convergence("eig", loops::eig(call.input(0), out[0], out[1]));
}
constexpr Primitive eig_primitive = {
    .rule = batched({.name = "eig", .vjp = eig_vjp, .jvp = eig_jvp, .accepts_none = true, .depends_on_zeros = true}),
    .infer = infer_eig,
    .evaluate = evaluate_eig,
    .keeps = {keep_output(0), keep_output(1)},
    .effects = may_throw};
Eig eig_of(const Tensor& a, VectorsFor vectors = VectorsFor::caller) {
  Tensor y[2];
  const Tensor* const inputs[] = {&a};
  apply(eig_primitive, inputs, words(vectors), y);
  return {y[0], y[1]};
}

// ---- eigvals: saved a.
void eigvals_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  const Tensor v = eig_of(r.saved(0), VectorsFor::rule_of_values).eigenvectors;
  const Tensor da = solve_any(adjoint(v), multiply(as_column(g[0]), adjoint(v)));
  dx[0] = is_complex(r.dtype(0)) ? da : real(da);
}
void eigvals_jvp(const tape::Record& r, std::span<const Tensor> dx, std::span<Tensor> dy) {
  const Tensor v = eig_of(r.saved(0), VectorsFor::rule_of_values).eigenvectors;
  dy[0] = diagonal(solve_any(v, product("eigvals", cast_to(dx[0], v.dtype()), v)));
}
void infer_eigvals(const Call& call, Metas& out) {
  out.add(complex_dtype(call.input(0).dtype()), pivots_shape(call.input(0)));
}
void evaluate_eigvals(const Call& call, Outputs& out) {
  require_convergence("eigvals", loops::eig(call.input(0), out[0], Tensor()));
}
constexpr Primitive eigvals_primitive = {.rule = batched({"eigvals", eigvals_vjp, eigvals_jvp}),
                                         .infer = infer_eigvals,
                                         .evaluate = evaluate_eigvals,
                                         .keeps = {keep_input(0)},
                                         .effects = may_throw};

Tensor square_for_lapack(const char* op, const Operand& a) {
  loops::require_lapack(op);
  return square_matrices(op, a);
}

}  // namespace
}  // namespace ops

Eigh eigh(const Operand& a, const EighOptions& options) {
  const tape::OpScope scope(a);
  const Eigh y = ops::eigh_of(ops::square_for_lapack("eigh", a), options.lower);
  return {ops::in_dtype_of(a, y.eigenvalues), ops::in_dtype_of(a, y.eigenvectors)};
}

Eigh eigh(const Operand& a, const Operand& b) {
  const tape::OpScope scope(a);
  const auto [dtype, computed] = ops::promote_operands("eigh", {&a, &b}, ops::Accept::number);
  Tensor x = ops::cast_to(ops::square_for_lapack("eigh", a), computed),
         y = ops::cast_to(ops::square_matrices("eigh", b, "b"), computed);
  if (x.shape().back() != y.shape().back())
    fail<ShapeError>("eigh", "a is {}, b is {}: both must have the same order", x.shape(), y.shape());
  const Shape shape = ops::broadcast_shapes("eigh", x.shape(), y.shape());
  if (x.shape() != shape) x = broadcast_to(x, shape);
  if (y.shape() != shape) y = broadcast_to(y, shape);
  const auto solve_by = [](const Tensor& l, const Tensor& side, bool transpose) {
    return ops::triangular_solve_for(ops::Caller::eigh, l, side, {.lower = true, .transpose = transpose}, false);
  };
  const Tensor l = ops::cholesky_for(ops::Caller::eigh, y), half = solve_by(l, ops::hermitian_part(x), false);
  const Eigh reduced = ops::eigh_of(ops::hermitian_part(solve_by(l, ops::adjoint(half), false)), true);
  const Tensor back = ops::conjugate(solve_by(l, ops::conjugate(reduced.eigenvectors), true));
  if (!ops::is_half(dtype)) return {reduced.eigenvalues, back};
  return {cast(reduced.eigenvalues, dtype), cast(back, dtype)};
}

Tensor eigvalsh(const Operand& a, const EighOptions& options) {
  const tape::OpScope scope(a);
  const Tensor x = ops::square_for_lapack("eigvalsh", a);
  return ops::in_dtype_of(a, ops::apply(ops::eigvalsh_primitive, {&x}, ops::words(options.lower)));
}

Eigh eigh_tridiagonal(const Operand& diagonal, const Operand& off_diagonal) {
  const tape::OpScope scope(diagonal);
  const char* op = "eigh_tridiagonal";
  loops::require_lapack(op);
  const Tensor d = ops::to_tensor(op, diagonal, "diagonal"), e = ops::to_tensor(op, off_diagonal, "off_diagonal");
  if (is_complex(d.dtype()) || is_complex(e.dtype()))
    fail<TypeError>(op, "the diagonals are {} and {}: {}", d.dtype(), e.dtype(), ops::remedy(DType::complex128));
  if (d.rank() == 0 || e.rank() == 0 || e.shape().back() != std::max<std::int64_t>(d.shape().back() - 1, 0))
    fail<ShapeError>(op, "diagonal is {}, off_diagonal is {}: it must have one element less", d.shape(), e.shape());
  ops::require_rank(op, std::max(d.rank(), e.rank()) + 1);
  if (d.shape().back() == 0) return eigh(diag_embed(d));
  ops::broadcast_shapes(op, ops::pivots_shape(d), ops::pivots_shape(e));
  return eigh(add(diag_embed(d), add(diag_embed(e, 1), diag_embed(e, -1))));
}

Eig eig(const Operand& a) {
  const tape::OpScope scope(a);
  return ops::eig_of(ops::square_for_lapack("eig", a));
}

Tensor eigvals(const Operand& a) {
  const tape::OpScope scope(a);
  const Tensor x = ops::square_for_lapack("eigvals", a);
  return ops::apply(ops::eigvals_primitive, {&x});
}

}  // namespace reel
