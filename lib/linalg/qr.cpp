// qr and lq. Of a wide matrix [x y] with square x = q u: r = [u w], w = q^H y.
#include "linalg/gauge.hpp"
#include "linalg/write.hpp"

namespace reel {
namespace ops {
namespace {

Tensor columns(const Tensor& x, std::int64_t from, std::int64_t to) {
  return slice(x, {ellipsis, range_from(0), range(from, to)});
}
// The real diagonal of x as matrices.
Tensor real_diagonal(const Tensor& x) { return cast_to(diag_embed(real(diagonal(x))), x.dtype()); }

// The cotangent of a = q u for those of q and u; either may be empty.
Tensor square_vjp(const Tensor& q, const Tensor& u, const Tensor& gq, const Tensor& gu) {
  Tensor m;
  if (gu.defined()) m = product_adjoint("qr", u, gu);
  if (gq.defined()) add_to(m, negative(adjoint_product("qr", gq, q)));
  const Tensor below = tril(m, -1);
  Tensor sum = mm(q, add(add(below, adjoint(below)), real_diagonal(m)));
  if (gq.defined()) sum = add(sum, gq);
  return divide_upper_adjoint(sum, u);
}

// ---- Saved q, r.
void qr_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  const Tensor &q = r.saved(0), &upper = r.saved(1);
  const std::int64_t k = upper.shape()[-2], n = upper.shape()[-1];
  if (n == k) {
    dx[0] = square_vjp(q, upper, g[0], g[1]);
    return;
  }
  const Tensor u = columns(upper, 0, k), w = columns(upper, k, n);
  Tensor gq = g[0], gu, of_y;
  if (g[1].defined()) {
    const Tensor gw = columns(g[1], k, n);
    gu = columns(g[1], 0, k);
    add_to(gq, product_adjoint("qr", mm(q, w), gw));
    of_y = mm(q, gw);
  }
  const Tensor of_x = square_vjp(q, u, gq, gu);
  if (!of_y.defined()) of_y = zeros(with_extents(of_x.shape(), {k, n - k}), of_x.dtype());
  dx[0] = concatenate({of_x, of_y}, -1);
}

void qr_jvp(const tape::Record& r, std::span<const Tensor> dx, std::span<Tensor> dy) {
  const Tensor &q = r.saved(0), &upper = r.saved(1);
  const std::int64_t k = upper.shape()[-2], n = upper.shape()[-1];
  const Tensor u = n == k ? upper : columns(upper, 0, k), z = divide_upper(n == k ? dx[0] : columns(dx[0], 0, k), u);
  const Tensor along = adjoint_product("qr", q, z);
  const Tensor t = add(triu(add(along, adjoint(along)), 1), real_diagonal(along));
  dy[0] = subtract(z, mm(q, t));
  dy[1] = mm(t, u);
  if (n == k) return;
  const Tensor of_y =
      add(adjoint_product("qr", dy[0], mm(q, columns(upper, k, n))), adjoint_product("qr", q, columns(dx[0], k, n)));
  dy[1] = concatenate({dy[1], of_y}, -1);
}

// Outputs q, r, and if the attribute says so the columns that complete q.
void infer_qr(const Call& call, Metas& out) {
  const Tensor& a = call.input(0);
  const std::int64_t m = a.shape()[-2], n = a.shape()[-1], k = std::min(m, n);
  out.add(a.dtype(), with_extents(a.shape(), {m, k}));
  out.add(a.dtype(), with_extents(a.shape(), {k, n}));
  if (call.attribute(0) != 0) out.add(a.dtype(), with_extents(a.shape(), {m, m - k}));
}
void evaluate_qr(const Call& call, Outputs& out) {
  loops::qr(call.input(0), out[0], out[1], call.attribute(0) != 0 ? out[2] : Tensor());
}
constexpr Primitive qr_primitive = {.rule = batched({.name = "qr", .vjp = qr_vjp, .jvp = qr_jvp, .accepts_none = true}),
                                    .infer = infer_qr,
                                    .evaluate = evaluate_qr,
                                    .keeps = {keep_output(0), keep_output(1)},
                                    .write_c = write_qr};
constexpr Primitive complete_qr_primitive = {
    .rule = batched({.name = "qr", .vjp = qr_vjp, .jvp = qr_jvp, .accepts_none = true}),
    .infer = infer_qr,
    .evaluate = evaluate_qr,
    .keeps = {keep_output(0), keep_output(1)},
    .auxiliary = 1,
    .write_c = write_qr};

Qr reduced_qr(const Tensor& a) {
  Tensor y[2];
  const Tensor* const inputs[] = {&a};
  apply(qr_primitive, inputs, words(false), y);
  return {y[0], y[1]};
}
Qr complete_qr(const Tensor& a) {
  const std::int64_t m = a.shape()[-2], n = a.shape()[-1];
  if (m <= n) return reduced_qr(a);
  Tensor y[3];
  const Tensor* const inputs[] = {&a};
  apply(complete_qr_primitive, inputs, words(true), y);
  return {concatenate({y[0], complement(y[0], y[2])}, -1),
          concatenate({y[1], zeros(with_extents(a.shape(), {m - n, n}), a.dtype())}, -2)};
}

}  // namespace
}  // namespace ops

Qr qr(const Operand& a, QrMode mode) {
  const tape::OpScope scope(a);
  if (mode > QrMode::r) fail<ValueError>("qr", "mode {} is none of QrMode", static_cast<int>(mode));
  loops::require_lapack("qr");
  const Tensor x = ops::matrix_operand("qr", a);
  const Qr y = mode == QrMode::complete ? ops::complete_qr(x) : ops::reduced_qr(x);
  return {mode == QrMode::r ? Tensor() : ops::in_dtype_of(a, y.q), ops::in_dtype_of(a, y.r)};
}

Lq lq(const Operand& a) {
  const tape::OpScope scope(a);
  loops::require_lapack("lq");
  const Qr y = ops::reduced_qr(ops::adjoint(ops::matrix_operand("lq", a)));
  return {ops::in_dtype_of(a, ops::adjoint(y.r)), ops::in_dtype_of(a, ops::adjoint(y.q))};
}

}  // namespace reel
