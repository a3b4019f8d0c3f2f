// Distances between rows. Derivatives are sums over differences of rows, never of products, which would cancel: one
// loop where nobody differentiates them, otherwise expressions in all differences.
#include <bit>
#include <cmath>
#include <numeric>
#include <reel/ops/index.hpp>
#include <reel/ops/make.hpp>
#include <reel/ops/statistics.hpp>

#include "linalg/distance_loops.hpp"
#include "linalg/matrices.hpp"
#include "loops/loops.hpp"
#include "ops/index/indices.hpp"
#include "ops/promote.hpp"
#include "ops/reduce/reduction.hpp"

namespace reel {
namespace ops {
namespace {

// ---- cdist of x [b, n, d] and y [b, m, d]; attributes: p

double order_of(const tape::Record& r) { return std::bit_cast<double>(r.attributes()[0]); }

void infer_vjp(const Call& call, Metas& out) {
  Shape shape = call.input(0).shape();
  shape[-1] = call.input(1).shape()[-1];
  out.add(call.input(1).dtype(), shape);
}
void evaluate_vjp(const Call& call, Outputs& out) {
  Tensor copied[4];
  const auto in = [&](std::size_t i) -> const Tensor& { return loops::contiguous(call.input(i), copied[i]); };
  loops::distances_vjp(in(0), in(1), in(2), in(3), call.real(0), out[0]);
}
constexpr Primitive vjp_primitive = {.rule = {.name = "cdist.vjp"}, .infer = infer_vjp, .evaluate = evaluate_vjp};

// Inputs: tangents of x and y, x, y, z.
void infer_jvp(const Call& call, Metas& out) { out.add(call.input(4).dtype(), call.input(4).shape()); }
void evaluate_jvp(const Call& call, Outputs& out) {
  Tensor copied[5];
  const auto in = [&](std::size_t i) -> const Tensor& { return loops::contiguous(call.input(i), copied[i]); };
  loops::distances_jvp(in(0), in(1), in(2), in(3), in(4), call.real(0), out[0]);
}
constexpr Primitive jvp_primitive = {.rule = {.name = "cdist.jvp"}, .infer = infer_jvp, .evaluate = evaluate_jvp};

// The derivatives of z by x, [b, n, m, d], which are minus those by y; 0 at distance 0.
Tensor slopes(const tape::Record& r) {
  const Tensor &x = r.saved(0), &y = r.saved(1), &z = r.saved(2);
  const double p = order_of(r);
  const Tensor v = expand_dims(x, 2) - expand_dims(y, 1), no_distance = expand_dims(equal(z, 0), 3);
  const Tensor length = where(no_distance, 1, expand_dims(z, 3));
  if (p == 1) return sign(v);
  if (std::isinf(p)) {
    const Tensor ties = equal(abs(v), length);
    return where(ties, sign(v), 0) / maximum(cast(sum(ties, 3, true), v.dtype()), 1);
  }
  const Tensor ratio = v / length;
  if (p == 2) return where(no_distance, 0, ratio);
  const Tensor at_zero = equal(v, 0);
  return where(at_zero, 0, sign(v) * power(where(at_zero, 1, abs(ratio)), p - 1));
}
void cdist_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  const Tensor &x = r.saved(0), &y = r.saved(1), &z = r.saved(2);
  if (!followed(g[0], x, y, z)) {
    if (r.wanted(0)) dx[0] = evaluate(vjp_primitive, {&g[0], &x, &y, &z}, r.attributes());
    if (!r.wanted(1)) return;
    const Tensor g_swapped = swap_matrix_axes(g[0]), z_swapped = swap_matrix_axes(z);
    dx[1] = evaluate(vjp_primitive, {&g_swapped, &y, &x, &z_swapped}, r.attributes());
    return;
  }
  const Tensor terms = expand_dims(g[0], -1) * slopes(r);
  if (r.wanted(0)) dx[0] = sum(terms, -2);
  if (r.wanted(1)) dx[1] = -sum(terms, -3);
}
void cdist_jvp(const tape::Record& r, std::span<const Tensor> t, std::span<Tensor> dy) {
  const Tensor &x = r.saved(0), &y = r.saved(1), &z = r.saved(2);
  const auto or_zeros = [](const Tensor& tangent, const Tensor& of) {
    return tangent.defined() ? tangent : zeros_like(of);
  };
  const Tensor tx = or_zeros(t[0], x), ty = or_zeros(t[1], y);
  if (!followed(tx, ty, x, y, z)) {
    dy[0] = evaluate(jvp_primitive, {&tx, &ty, &x, &y, &z}, r.attributes());
    return;
  }
  Tensor v;
  if (t[0].defined()) v = expand_dims(t[0], 2);
  if (t[1].defined()) v = v.defined() ? v - expand_dims(t[1], 1) : -expand_dims(t[1], 1);
  dy[0] = sum(slopes(r) * v, 3);
}
void infer_cdist(const Call& call, Metas& out) {
  Shape shape = call.input(0).shape();
  shape[2] = call.input(1).shape()[1];
  out.add(call.input(0).dtype(), shape);
}
void evaluate_cdist(const Call& call, Outputs& out) {
  Tensor copied[2];
  loops::distances(loops::contiguous(call.input(0), copied[0]), loops::contiguous(call.input(1), copied[1]),
                   call.real(0), out[0]);
}
constexpr Primitive cdist_primitive = {.rule = batched({"cdist", cdist_vjp, cdist_jvp}),
                                       .infer = infer_cdist,
                                       .evaluate = evaluate_cdist,
                                       .keeps = {keep_input(0), keep_input(1), keep_output(0)}};

void check_power(const char* op, double p) {
  if (!(p > 0)) fail<ValueError>(op, "p is {}; it must be positive or infinity", p);
}
Tensor matrices(const char* op, const Operand& operand, DType dtype, const char* name, double p) {
  check_power(op, p);
  const Tensor x = to_tensor(op, operand, name);
  if (x.rank() < 2) fail<ShapeError>(op, "{} has shape {}; it must have axes of rows and of columns", name, x.shape());
  return cast_to(x, dtype);
}

// ---- pdist of x [1, n, d] where no tape follows it; attributes: p

void infer_pairs(const Call& call, Metas& out) {
  const std::int64_t n = call.input(0).shape()[1];
  out.add(call.input(0).dtype(), {n < 2 ? 0 : n * (n - 1) / 2});
}
void evaluate_pairs(const Call& call, Outputs& out) {
  Tensor copied;
  loops::pair_distances(loops::contiguous(call.input(0), copied), call.real(0), out[0]);
}
constexpr Primitive pairs_primitive = {.rule = {.name = "pdist"}, .infer = infer_pairs, .evaluate = evaluate_pairs};

// The places of the elements above the diagonal of an n by n matrix.
Tensor places_above_diagonal(std::int64_t n) {
  detail::List<std::int64_t> places(static_cast<std::size_t>(n < 2 ? 0 : n * (n - 1) / 2));
  auto next = places.begin();
  for (std::int64_t i = 0; i < n; next += n - ++i) std::iota(next, next + (n - 1 - i), i * n + i + 1);
  return from_data(places);
}

// The matrices of a batch of this shape, with the batch axes merged into one.
Tensor in_one_batch(const Tensor& x, const Shape& batch) {
  Shape shape = batch;
  const std::int64_t n = x.shape()[-2], d = x.shape()[-1];
  shape.push_back(n);
  shape.push_back(d);
  return reshape(x.shape() == shape ? x : broadcast_to(x, shape), {batch.elements(), n, d});
}

}  // namespace
}  // namespace ops

Tensor cdist(const Operand& x_operand, const Operand& y_operand, double p) {
  const tape::OpScope scope(x_operand);
  const auto [dtype, wide] = ops::promote_operands("cdist", {&x_operand, &y_operand}, ops::Accept::real);
  const Tensor x = ops::matrices("cdist", x_operand, wide, "x", p), y = ops::matrices("cdist", y_operand, wide, "y", p);
  if (x.shape()[-1] != y.shape()[-1])
    fail<ShapeError>("cdist", "x has shape {}, y {}: rows must have as many columns", x.shape(), y.shape());
  Shape shape = ops::broadcast_shapes("cdist", ops::batch_of(x), ops::batch_of(y));
  const Tensor rows = ops::in_one_batch(x, shape), others = ops::in_one_batch(y, shape);
  shape.push_back(x.shape()[-2]);
  shape.push_back(y.shape()[-2]);
  ops::require_shape("cdist", shape);
  return ops::cast_to(reshape(ops::apply(ops::cdist_primitive, {&rows, &others}, ops::words(p)), shape), dtype);
}

Tensor pdist(const Operand& operand, double p) {
  const tape::OpScope scope(operand);
  const Tensor x = ops::to_tensor("pdist", operand);
  if (x.rank() != 2) fail<ShapeError>("pdist", "x has shape {}; it must be a matrix", x.shape());
  ops::check_power("pdist", p);
  const auto [dtype, wide] = ops::promote_dtype("pdist", x.dtype(), ops::Accept::real);
  const std::int64_t n = x.shape()[0];
  if (!ops::followed(x) && !tape::watching()) {
    const Tensor rows = reshape(ops::matrices("pdist", x, wide, "x", p), {1, n, x.shape()[1]});
    return ops::cast_to(ops::apply(ops::pairs_primitive, {&rows}, ops::words(p)), dtype);
  }
  const Tensor all = cdist(x, x, p);
  return ops::gather_at(reshape(all, {n * n}), ops::places_above_diagonal(n), 0);
}

}  // namespace reel
