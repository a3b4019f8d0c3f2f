// svd and svdvals (Townsend 2016, "Differentiating the singular value decomposition"; the imaginary diagonal of complex
// matrices: Wan and Zhang 2019, arXiv:1909.02659).
#include "linalg/gauge.hpp"

namespace reel {
namespace ops {
namespace {

// x i
Tensor times_i(const Tensor& x) { return make_complex(zeros_like(x), x); }

// A decomposition and what its derivatives divide by.
struct SvdPoint {
  const Tensor &u, &s, &vh;
  VectorsFor vectors;
  Tensor equal = vanishing(differences(s), s);
  Tensor total = add(as_row(s), as_column(s)), sums = where(reel::equal(total, 0.0), 1.0, total);
  Tensor zero = vanishing(s, s, true);
  bool tall() const { return u.shape()[-2] > s.shape().back(); }
  bool wide() const { return vh.shape().back() > s.shape().back(); }
  bool complex() const { return is_complex(u.dtype()); }
  // m / (s_j - s_i), where `of_vectors` shows which vectors are used. s_j^2 - s_i^2 may overflow or underflow: m is
  // divided by s_j + s_i before.
  Tensor by_gaps(const Tensor& m, const Tensor& of_vectors) const {
    return divide_where_defined(m, differences(s), equal, unused_pairs(of_vectors, vectors));
  }
  Tensor by(const Tensor& m, const Tensor& values, const Tensor& vanishes) const {
    return divide_where_defined(m, values, vanishes,
                                logical_and(reel::equal(stop_gradient(m), 0.0), vectors == VectorsFor::caller));
  }
  Tensor by_columns(const Tensor& m) const { return by(m, as_row(s), as_row(zero)); }
  Tensor by_rows(const Tensor& m) const { return by(m, as_column(s), as_column(zero)); }
  // The rotation of phases: i times the imaginary diagonal of m, divided by factor s, as diagonal matrices.
  Tensor phase_rotation(const Tensor& m, double factor) const {
    const Tensor diagonal_of = imag(diagonal(m));
    const Tensor angle = squeeze(by(as_row(diagonal_of), as_row(multiply(s, factor)), as_row(zero)), -2);
    return diag_embed(times_i(angle));
  }
};

// ---- svd: saved u, s, vh; attributes: full, VectorsFor.
SvdPoint point(const tape::Record& r) {
  return {r.saved(0), r.saved(1), r.saved(2), static_cast<VectorsFor>(r.attributes()[1])};
}

// Cotangents between the singular vectors: u (...) vh.
Tensor inner_cotangent(const SvdPoint& at, const Tensor& of_u, const Tensor& gs, const Tensor& of_v) {
  Tensor inner;
  if (of_u.defined())
    add_to(inner, at.by_gaps(multiply(divide(subtract(of_u, adjoint(of_u)), at.sums), as_row(at.s)), of_u));
  if (of_v.defined())
    add_to(inner, at.by_gaps(multiply(divide(subtract(of_v, adjoint(of_v)), at.sums), as_column(at.s)), of_v));
  if (of_u.defined() && at.complex()) add_to(inner, at.phase_rotation(of_u, 1));
  if (gs.defined()) add_to(inner, cast_to(diag_embed(gs), at.u.dtype()));
  return inner;
}

void svd_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  const SvdPoint at = point(r);
  Tensor of_u, of_v;
  if (g[0].defined()) of_u = adjoint_product("svd", at.u, g[0]);
  if (g[2].defined()) of_v = product_adjoint("svd", at.vh, g[2]);
  if (at.complex() && (of_u.defined() || of_v.defined())) {
    Tensor& one = of_u.defined() ? of_u : of_v;
    const Tensor both = of_u.defined() && of_v.defined() ? add(of_u, of_v) : one;
    Tensor size = abs(stop_gradient(one));
    if (of_u.defined() && of_v.defined()) size = add(size, abs(stop_gradient(of_v)));
    one = require_invariant(Gauge::singular_phase, one, imag(diagonal(both)), size);
  }
  const Tensor inner = inner_cotangent(at, of_u, g[1], of_v);
  Tensor left = mm(at.u, inner);
  if (of_u.defined() && at.tall()) left = add(left, at.by_columns(subtract(g[0], mm(at.u, of_u))));
  Tensor da = mm(left, at.vh);
  if (of_v.defined() && at.wide())
    da = add(da, mm(at.u, at.by_rows(subtract(g[2], adjoint_product("svd", of_v, at.vh)))));
  dx[0] = da;
}

void svd_jvp(const tape::Record& r, std::span<const Tensor> dx, std::span<Tensor> dy) {
  const SvdPoint at = point(r);
  const Tensor &u = at.u, &s = at.s, &vh = at.vh;
  const Tensor along = product_adjoint("svd", dx[0], vh), p = adjoint_product("svd", u, along);
  dy[1] = real(diagonal(p));
  const Tensor by_sums = divide(p, at.sums), left = multiply(by_sums, as_row(s)),
               right = multiply(by_sums, as_column(s));
  Tensor of_u = at.by_gaps(add(left, adjoint(left)), p), of_v = at.by_gaps(add(right, adjoint(right)), p);
  if (at.complex()) {
    const Tensor rotation = at.phase_rotation(p, 2);
    of_u = add(of_u, rotation);
    of_v = subtract(of_v, rotation);
  }
  dy[0] = mm(u, of_u);
  if (at.tall()) dy[0] = add(dy[0], at.by_columns(subtract(along, mm(u, p))));
  dy[2] = adjoint_product("svd", of_v, vh);
  if (at.wide()) dy[2] = add(dy[2], at.by_rows(subtract(adjoint_product("svd", u, dx[0]), mm(p, vh))));
}

// Outputs u, s, vh, and if the first attribute says so the rest of u and of vh.
void infer_svd(const Call& call, Metas& out) {
  const Tensor& a = call.input(0);
  const std::int64_t m = a.shape()[-2], n = a.shape()[-1], k = std::min(m, n);
  out.add(a.dtype(), with_extents(a.shape(), {m, k}));
  out.add(real_dtype(a.dtype()), with_extents(a.shape(), {k}));
  out.add(a.dtype(), with_extents(a.shape(), {k, n}));
  if (call.attribute(0) == 0) return;
  out.add(a.dtype(), with_extents(a.shape(), {m, m - k}));
  out.add(a.dtype(), with_extents(a.shape(), {n - k, n}));
}
void evaluate_svd(const Call& call, Outputs& out) {
  const bool full = call.attribute(0) != 0;
  loops::SingularVectors vectors{out[0], out[2], {}, {}};
  if (full) vectors.rest_u = out[3], vectors.rest_vh = out[4];
  require_convergence("svd", loops::svd(call.input(0), out[1], vectors));
}
constexpr Primitive svd_primitive = {
    .rule = batched({.name = "svd", .vjp = svd_vjp, .jvp = svd_jvp, .accepts_none = true, .depends_on_zeros = true}),
    .infer = infer_svd,
    .evaluate = evaluate_svd,
    .keeps = {keep_output(0), keep_output(1), keep_output(2)},
    .effects = may_throw};
constexpr Primitive full_svd_primitive = {
    .rule = batched({.name = "svd", .vjp = svd_vjp, .jvp = svd_jvp, .accepts_none = true, .depends_on_zeros = true}),
    .infer = infer_svd,
    .evaluate = evaluate_svd,
    .keeps = {keep_output(0), keep_output(1), keep_output(2)},
    .auxiliary = 2,
    .effects = may_throw};

Svd thin_svd(const Tensor& a, VectorsFor vectors = VectorsFor::caller) {
  Tensor y[3];
  const Tensor* const inputs[] = {&a};
  apply(svd_primitive, inputs, words(false, vectors), y);
  return {y[0], y[1], y[2]};
}
Svd full_svd(const Tensor& a) {
  Tensor y[5];
  const Tensor* const inputs[] = {&a};
  apply(full_svd_primitive, inputs, words(true, VectorsFor::caller), y);
  const Tensor u = concatenate({y[0], complement(y[0], y[3])}, -1);
  const Tensor v = adjoint(y[2]);
  return {u, y[1], concatenate({y[2], adjoint(complement(v, adjoint(y[4])))}, -2)};
}

// ---- svdvals: saved a.
void svdvals_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  const Svd y = thin_svd(r.saved(0), VectorsFor::rule_of_values);
  dx[0] = mm(multiply(y.u, as_row(g[0])), y.vh);
}
void svdvals_jvp(const tape::Record& r, std::span<const Tensor> dx, std::span<Tensor> dy) {
  const Svd y = thin_svd(r.saved(0), VectorsFor::rule_of_values);
  dy[0] = real(sum(multiply(conjugate(y.u), product_adjoint("svd", dx[0], y.vh)), -2));
}
void infer_svdvals(const Call& call, Metas& out) {
  const Tensor& a = call.input(0);
  out.add(real_dtype(a.dtype()), with_extents(a.shape(), {std::min(a.shape()[-2], a.shape()[-1])}));
}
void evaluate_svdvals(const Call& call, Outputs& out) {
  require_convergence("svdvals", loops::svd(call.input(0), out[0], {}));
}
constexpr Primitive svdvals_primitive = {.rule = batched({"svdvals", svdvals_vjp, svdvals_jvp}),
                                         .infer = infer_svdvals,
                                         .evaluate = evaluate_svdvals,
                                         .keeps = {keep_input(0)},
                                         .effects = may_throw};

}  // namespace
}  // namespace ops

Svd svd(const Operand& a, const SvdOptions& options) {
  const tape::OpScope scope(a);
  loops::require_lapack("svd");
  const Tensor x = ops::matrix_operand("svd", a);
  const Svd y = options.full ? ops::full_svd(x) : ops::thin_svd(x);
  return {ops::in_dtype_of(a, y.u), ops::in_dtype_of(a, y.s), ops::in_dtype_of(a, y.vh)};
}

Tensor svdvals(const Operand& a) {
  const tape::OpScope scope(a);
  loops::require_lapack("svdvals");
  const Tensor x = ops::matrix_operand("svdvals", a);
  return ops::in_dtype_of(a, ops::apply(ops::svdvals_primitive, {&x}));
}

}  // namespace reel
