// softmax, log_softmax and logsumexp, and their derivatives: functions of whole rows where nobody differentiates them,
// otherwise expressions.
#include <cmath>
#include <reel/ops/make.hpp>
#include <reel/ops/reduce.hpp>

#include "loops/make/fill.hpp"
#include "loops/reduce/logsumexp.hpp"
#include "loops/reduce/rows.hpp"
#include "ops/apply/apply.hpp"
#include "ops/reduce/reduction.hpp"
#include "ops/reduce/write.hpp"

namespace reel {

namespace ops {

namespace {

using loops::RowFunction;

// ---- softmax, log_softmax. Attribute: the axis.

void infer_softmax(const Call& call, Metas& out) { out.add_like(call.input(0)); }

// Inputs: x, or g and z.
template <RowFunction F>
void evaluate_along_axis(const Call& call, Outputs& out) {
  loops::along_axis(F, static_cast<int>(call.attribute(0)), call.input(0),
                    call.inputs.size() > 1 ? &call.input(1) : nullptr, out[0]);
}

constexpr Primitive softmax_vjp_primitive = {.rule = {.name = "softmax.vjp"},
                                             .infer = infer_softmax,
                                             .evaluate = evaluate_along_axis<RowFunction::softmax_vjp>,
                                             .write_c = write_softmax_vjp};
constexpr Primitive log_softmax_vjp_primitive = {.rule = {.name = "log_softmax.vjp"},
                                                 .infer = infer_softmax,
                                                 .evaluate = evaluate_along_axis<RowFunction::log_softmax_vjp>,
                                                 .write_c = write_log_softmax_vjp};

int row_axis_of(const tape::Record& r) { return static_cast<int>(r.attributes()[0]); }

// The Jacobian of softmax is symmetric: this is its vjp and its jvp.
Tensor softmax_vjp(const tape::Record& r, const Tensor& g) {
  const Tensor& z = r.saved(0);
  const int axis = row_axis_of(r) + r.batch_rank();
  if (!followed(g, z)) return evaluate(softmax_vjp_primitive, {&g, &z}, words(axis));
  return z * (g - sum(g * z, axis, true));
}

Tensor log_softmax_vjp(const tape::Record& r, const Tensor& g) {
  const Tensor& z = r.saved(0);
  const int axis = row_axis_of(r) + r.batch_rank();
  if (!followed(g, z)) return evaluate(log_softmax_vjp_primitive, {&g, &z}, words(axis));
  return g - exp(z) * sum(g, axis, true);
}
Tensor log_softmax_jvp(const tape::Record& r, const Tensor& t) {
  return t - sum(exp(r.saved(0)) * t, row_axis_of(r), true);
}

constexpr Primitive softmax_primitive = {.rule = linear<softmax_vjp, softmax_vjp>("softmax"),
                                         .infer = infer_softmax,
                                         .evaluate = evaluate_along_axis<RowFunction::softmax>,
                                         .keeps = {keep_output(0)},
                                         .write_c = write_softmax};
constexpr Primitive log_softmax_primitive = {.rule = linear<log_softmax_vjp, log_softmax_jvp>("log_softmax"),
                                             .infer = infer_softmax,
                                             .evaluate = evaluate_along_axis<RowFunction::log_softmax>,
                                             .keeps = {keep_output(0)},
                                             .write_c = write_log_softmax};

void require_row_functions(const char* op, DType d) {
  if (!loops::has_row_functions(d)) fail_no_kernel(op, d);
}

Tensor normalize_rows(const Primitive& primitive, const Operand& operand, std::int64_t axis) {
  const char* op = primitive.rule.name;
  const tape::OpScope scope(operand);
  Tensor scratch, converted;
  const Tensor& from = as_tensor(op, operand, scratch);
  if (is_half(from.dtype()))
    return in_float32(from, [&](const Tensor& wide) { return normalize_rows(primitive, wide, axis); });
  const int along = normalize(op, axis, from);
  const Tensor& x = in_dtype(from, floating_of(from.dtype()), converted);
  require_row_functions(op, x.dtype());
  return apply(primitive, {&x}, words(along));
}

// ---- logsumexp. Attributes: axes as a mask, keepdims.

// Outputs: the result; residuals, of its shape: the maximum of each sum's elements and the sum of exp(x - maximum).
void infer_logsumexp(const Call& call, Metas& out) {
  for (int k = 0; k < 3; ++k) infer_reduced(call, call.input(0).dtype(), out);
}
void evaluate_logsumexp(const Call& call, Outputs& out) {
  const Tensor& x = call.input(0);
  loops::Exponentials parts;
  if (out.residuals_wanted()) parts = {out[1], out[2]};
  if (reduced_count(x.shape(), call.attribute(0)) == 0)
    loops::fill(out[0], to_tensor("logsumexp", -INFINITY, x.dtype(), "identity"));
  else
    loops::logsumexp(x, call.attribute(0), out[0], parts);
}

// The weights exp(x - z) of the elements. Inputs: x and z; as constants maximum and sum, by which they are computed.
// The weights of a row with an infinite sum are constant.
void infer_weights(const Call& call, Metas& out) { out.add_like(call.input(0)); }
void evaluate_weights(const Call& call, Outputs& out) {
  loops::logsumexp_weights(call.input(0), {call.input(2), call.input(3)}, call.attribute(0), out[0]);
}
// dw / dx, and minus dw / dz: the weights, or 0 where they are constant. Saved: z, the weights.
Tensor weights_slope(const tape::Record& r) {
  const Tensor z = with_axes(r.saved(0), r.output_shape(), r.attributes()[0]);
  return where(isinf(z), 0, r.saved(1));
}
void weights_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  const Tensor along = g[0] * weights_slope(r);
  if (r.wanted(0)) dx[0] = along;
  if (!r.wanted(1)) return;
  const std::int64_t mask = r.attributes()[0] << r.batch_rank();
  dx[1] = reshape(-sum(along, axes_of(mask)), r.batched(r.shape(1)));
}
void weights_jvp(const tape::Record& r, std::span<const Tensor> t, std::span<Tensor> dy) {
  Tensor along;
  if (t[0].defined()) along = t[0];
  if (t[1].defined()) {
    const Tensor tz = with_axes(t[1], r.output_shape(), r.attributes()[0]);
    along = along.defined() ? along - tz : -tz;
  }
  dy[0] = along * weights_slope(r);
}
constexpr Primitive weights_primitive = {.rule = batched({"logsumexp.weights", weights_vjp, weights_jvp}),
                                         .infer = infer_weights,
                                         .evaluate = evaluate_weights,
                                         .keeps = {keep_input(1), keep_output(0)},
                                         .constants = 2,
                                         .write_c = write_weights};

// g times the weights. Inputs: g, x, maximum, sum. Attributes: axes of x as a mask, whether g has one more axis in
// front.
void infer_logsumexp_vjp(const Call& call, Metas& out) {
  Shape shape = call.input(1).shape();
  if (call.attribute(1)) shape.insert(0, call.input(0).shape()[0]);
  out.add(call.input(1).dtype(), shape);
}
void evaluate_logsumexp_vjp(const Call& call, Outputs& out) {
  loops::logsumexp_vjp(call.input(0), call.input(1), {call.input(2), call.input(3)}, call.attribute(0), out[0]);
}
constexpr Primitive logsumexp_vjp_primitive = {.rule = {.name = "logsumexp.vjp"},
                                               .infer = infer_logsumexp_vjp,
                                               .evaluate = evaluate_logsumexp_vjp,
                                               .write_c = write_logsumexp_vjp};

Tensor weights_of(const tape::Record& r) {
  return apply(weights_primitive, {&r.saved(0), &r.saved(1), &r.saved(2), &r.saved(3)}, words(r.attributes()[0]));
}
void logsumexp_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  const std::int64_t mask = r.attributes()[0];
  if (!followed(g[0], r.saved(0), r.saved(1))) {
    dx[0] =
        evaluate(logsumexp_vjp_primitive, {&g[0], &r.saved(0), &r.saved(2), &r.saved(3)}, words(mask, r.batch_rank()));
    return;
  }
  dx[0] = with_axes(g[0], r.batched(r.shape(0)), mask << r.batch_rank()) * weights_of(r);
}
void logsumexp_jvp(const tape::Record& r, std::span<const Tensor> t, std::span<Tensor> dy) {
  dy[0] = sum(weights_of(r) * t[0], axes_of(r.attributes()[0]), r.attributes()[1] != 0);
}
constexpr Primitive logsumexp_primitive = {.rule = batched({"logsumexp", logsumexp_vjp, logsumexp_jvp}),
                                           .infer = infer_logsumexp,
                                           .evaluate = evaluate_logsumexp,
                                           .keeps = {keep_input(0), keep_output(0), keep_output(1), keep_output(2)},
                                           .residuals = 2,
                                           .write_c = write_logsumexp};

}  // namespace

}  // namespace ops

Tensor logsumexp(const Operand& operand, const Axes& axes, bool keepdims) {
  const tape::OpScope scope(operand);
  Tensor scratch, converted;
  const Tensor& from = ops::as_tensor("logsumexp", operand, scratch);
  if (ops::is_half(from.dtype()))
    return ops::in_float32(from, [&](const Tensor& wide) { return logsumexp(wide, axes, keepdims); });
  const std::int64_t mask = ops::axes_mask("logsumexp", axes, from);
  const Tensor& x = ops::in_dtype(from, ops::floating_of(from.dtype()), converted);
  ops::require_row_functions("logsumexp", x.dtype());
  return ops::apply(ops::logsumexp_primitive, {&x}, ops::words(mask, keepdims));
}

Tensor softmax(const Operand& x, std::int64_t axis) { return ops::normalize_rows(ops::softmax_primitive, x, axis); }
Tensor log_softmax(const Operand& x, std::int64_t axis) {
  return ops::normalize_rows(ops::log_softmax_primitive, x, axis);
}

}  // namespace reel
