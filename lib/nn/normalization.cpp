// layer_norm, group_norm, batch_norm: the forward pass is one fused function, and so is the vjp where nobody
// differentiates it; otherwise the vjp is an expression. Statistics of rows are computed again: no normalised copy is
// kept. rms_norm is composed of other ops.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <reel/nn/convolution.hpp>
#include <reel/nn/cross_entropy.hpp>
#include <reel/nn/normalization.hpp>
#include <reel/ops/index.hpp>
#include <reel/ops/make.hpp>

#include "csource/steps.hpp"
#include "loops/reduce/normalize.hpp"
#include "nn/last_axis.hpp"
#include "ops/shape/view.hpp"
#include "program/trace.hpp"

namespace reel {

namespace ops {

namespace {

// Attribute 0 of a normalisation and of its vjp: epsilon.
double epsilon_of(const tape::Record& r) { return std::bit_cast<double>(r.attributes()[0]); }

// rsqrt whose derivatives have no cube, which overflows and underflows where x does not.
Tensor inverse_root(const Tensor& x) { return reciprocal(sqrt(x)); }

// y = x scale, scale = 1 / sqrt(mean(x^2) + epsilon) over some axes, by a power of 2 that keeps squares in range.
struct Scaled {
  Tensor y, scale;
  Scaled(const Tensor& x, const Shape& axes, double epsilon) {
    const Tensor fixed = stop_gradient(x), most = maximum(max(fixed, axes, true), -min(fixed, axes, true));
    const Tensor size = maximum(most, std::sqrt(epsilon));  // so that epsilon does not overflow below
    const Tensor unit = exp2(floor(log2(where(logical_and(isfinite(size), greater(size, 0)), size, 1))));
    const Tensor z = x / unit, root = inverse_root(mean(square(z), axes, true) + epsilon / unit / unit);
    y = z * root;
    scale = root / unit;
  }
};

// Normalisation of x over some axes, in recorded ops.
struct Normalised {
  Tensor y, scale;  // y = (x - mean) scale
  Normalised(const Tensor& x, const Shape& axes, double epsilon) {
    const Tensor once = x - mean(x, axes, true);
    Scaled to(once - mean(once, axes, true), axes, epsilon);  // twice: the first mean is rounded
    y = std::move(to.y);
    scale = std::move(to.scale);
  }
  // The Jacobian is symmetric, so this serves both modes. axes: those of g.
  Tensor product(const Tensor& g, const Shape& axes) const {
    return scale * ((g - mean(g, axes, true)) - y * mean(g * y, axes, true));
  }
};

// The tangent of y scale + offset, where y is normalised over `axes`; widen() broadcasts scale and offset.
template <class Widen>
Tensor tangent(const tape::Record& r, std::span<const Tensor> t, const Shape& axes, const Widen& widen) {
  const Normalised to(r.saved(0), axes, epsilon_of(r));
  Tensor dy;
  const auto add = [&dy](const Tensor& term) { dy = dy.defined() ? dy + term : term; };
  if (t[0].defined()) add(r.num_inputs() > 1 ? to.product(t[0], axes) * widen(r.saved(1)) : to.product(t[0], axes));
  if (r.num_inputs() > 1 && t[1].defined()) add(to.y * widen(t[1]));
  if (r.num_inputs() > 1 && t[2].defined()) add(broadcast_to(widen(t[2]), r.output_shape()));
  return dy;
}

// ---- Fused vjps for x and, if given, scale and offset. The outputs are the wanted cotangents: bit i of attribute 1
// stands for input i.

std::int64_t wanted_inputs(const tape::Record& r) {
  std::int64_t mask = 0;
  for (std::size_t i = 0; i < r.num_inputs(); ++i) mask |= std::int64_t{r.wanted(i)} << i;
  return mask;
}
// For cotangents in the shape of g, and [channels] behind the leading axis of g, if it has one more axis than x.
void infer_cotangents(const Tensor& g, const Tensor& x, std::int64_t channels, std::int64_t wanted, Metas& out) {
  Shape row{channels};
  if (g.rank() > x.rank()) row.insert(0, g.shape()[0]);
  for (int i = 0; i < 3; ++i)
    if (wanted >> i & 1) out.add(x.dtype(), i == 0 ? g.shape() : row);
}
loops::NormalizeCotangents cotangents_of(std::int64_t wanted, Outputs& out) {
  std::size_t k = 0;
  const auto next = [&](int i) { return wanted >> i & 1 ? out[k++] : Tensor(); };
  loops::NormalizeCotangents all;
  all.x = next(0);
  all.scale = next(1);
  all.offset = next(2);
  return all;
}
// Runs the primitive and hands input i its cotangent.
void evaluate_cotangents(const Primitive& vjp, Inputs inputs, Attributes attributes, std::span<Gradient> dx) {
  Tensor all[3];
  const std::int64_t wanted = attributes[1];
  const auto count = static_cast<std::size_t>(std::popcount(static_cast<std::uint64_t>(wanted)));
  evaluate(vjp, inputs, attributes, {all, count}, false);
  for (std::size_t i = 0, k = 0; i < dx.size(); ++i)
    if (wanted >> i & 1) dx[i] = std::move(all[k++]);
}

// ---- layer_norm of rows. Inputs: x [..., n], and scale and offset [n] if given.

// Inputs: g, x, and scale if given.
void infer_layer_norm_vjp(const Call& call, Metas& out) {
  infer_cotangents(call.input(0), call.input(1), call.input(1).shape()[-1], call.attribute(1), out);
}
void evaluate_layer_norm_vjp(const Call& call, Outputs& out) {
  loops::normalize_rows_vjp(call.input(0), call.input(1), call.real(0),
                            call.inputs.size() > 2 ? call.input(2) : Tensor(), cotangents_of(call.attribute(1), out));
}
// Sums over rows have no form where each cotangent of a batch has its own.
void write_layer_norm_vjp(const Call& call, csource::Writer& w) {
  std::string text = "for i0:1 i1:1", arguments;
  const std::int64_t wanted = call.attribute(1);
  if ((wanted & 6) && call.input(0).rank() > call.input(1).rank()) csource::fail_without_form(w);
  for (char i = 0, k = '0'; i < 3; ++i) {
    arguments += wanted >> i & 1 ? std::string(", o") + k : ", 0";
    if (!(wanted >> i & 1)) continue;
    if (i == 0) text += " o0:1";
    if (i > 0 && w.wanted(static_cast<std::size_t>(k - '0')))
      w.fill(w.output(static_cast<std::size_t>(k - '0')), csource::Writer::zero(call.input(1).dtype()));
    ++k;
  }
  const std::int64_t numbers[] = {call.input(1).shape()[-1], call.attribute(0)};
  csource::write_steps(
      w, call.input(1).dtype(),
      text + "\n$layer_norm_vjp(i0, i1, " + (call.inputs.size() > 2 ? "i2" : "0") + ", ~1" + arguments + ", #0)",
      numbers);
}
constexpr Primitive layer_norm_vjp_primitive = {.rule = {.name = "layer_norm.vjp"},
                                                .infer = infer_layer_norm_vjp,
                                                .evaluate = evaluate_layer_norm_vjp,
                                                .write_c = write_layer_norm_vjp};

void layer_norm_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  const bool affine = r.num_inputs() > 1;
  const Tensor* inputs[] = {g.data(), &r.saved(0), affine ? &r.saved(1) : nullptr};
  const Inputs read(inputs, affine ? 3 : 2);
  const bool batched_sums = r.batch_rank() && (wanted_inputs(r) & 6);  // the vjp has no form in C for these
  if (!any_followed(read) && !(batched_sums && program::Trace::composing()))
    return evaluate_cotangents(layer_norm_vjp_primitive, read, words(epsilon_of(r), wanted_inputs(r)), dx);
  const Normalised to(r.saved(0), {-1}, epsilon_of(r));
  if (r.wanted(0)) dx[0] = to.product(affine ? g[0] * r.saved(1) : g[0], {-1});
  if (!affine) return;
  const Shape row{r.output_shape()[-1]};
  if (r.wanted(1)) dx[1] = sum_to(r, g[0] * to.y, row);
  if (r.wanted(2)) dx[2] = sum_to(r, g[0], row);
}
void layer_norm_jvp(const tape::Record& r, std::span<const Tensor> t, std::span<Tensor> dy) {
  dy[0] = tangent(r, t, {-1}, [](const Tensor& row) { return row; });
}

void infer_layer_norm(const Call& call, Metas& out) { out.add(call.input(0).dtype(), call.input(0).shape()); }
void evaluate_layer_norm(const Call& call, Outputs& out) {
  const bool affine = call.inputs.size() > 1;
  loops::normalize_rows(call.input(0), call.real(0), affine ? call.input(1) : Tensor(),
                        affine ? call.input(2) : Tensor(), out[0]);
}
void write_layer_norm(const Call& call, csource::Writer& w) {
  csource::write_steps(w, call.input(0).dtype(),
                       call.inputs.size() > 1
                           ? "temp t0 real 1\nfor i0:1 o0:1\n(void)$layer_norm(i0, i1, i2, ~1, o0, t0, #0)"
                           : "temp t0 real 1\nfor i0:1 o0:1\n(void)$layer_norm(i0, 0, 0, ~1, o0, t0, #0)",
                       {call.input(0).shape()[-1], call.attribute(0)});
}
constexpr Primitive layer_norm_primitive = {.rule = batched({"layer_norm", layer_norm_vjp, layer_norm_jvp}),
                                            .infer = infer_layer_norm,
                                            .evaluate = evaluate_layer_norm,
                                            .keeps = {keep_input(0), keep_input(1)},
                                            .write_c = write_layer_norm};

Tensor affine(const Tensor& x, const Tensor& scale, const Tensor& offset) { return x * scale + offset; }

// scale and offset: [n], or empty.
Tensor layer_norm_rows(const Tensor& x, const Tensor& scale, const Tensor& offset, double epsilon) {
  if (x.size() == 0) return scale.defined() ? affine(x, scale, offset) : identity(x);
  if (!scale.defined()) return apply(layer_norm_primitive, {&x}, words(epsilon));
  return apply(layer_norm_primitive, {&x, &scale, &offset}, words(epsilon));
}

// ---- group_norm. Inputs: x [outer, channels, inner], scale, offset [channels]. Attributes: epsilon, groups; those of
// its vjp, whose inputs are g, x, scale: epsilon, the wanted inputs, groups.

void infer_group_norm_vjp(const Call& call, Metas& out) {
  infer_cotangents(call.input(0), call.input(1), call.input(1).shape()[1], call.attribute(1), out);
}
void evaluate_group_norm_vjp(const Call& call, Outputs& out) {
  loops::normalize_groups_vjp(call.input(0), call.input(1), call.attribute(2), call.real(0), call.input(2),
                              cotangents_of(call.attribute(1), out));
}
constexpr Primitive group_norm_vjp_primitive = {
    .rule = {.name = "group_norm.vjp"}, .infer = infer_group_norm_vjp, .evaluate = evaluate_group_norm_vjp};

// In recorded ops, on x as [outer, groups, channels / groups, inner].
struct NormalisedGroups {
  Shape split;
  Normalised to;
  explicit NormalisedGroups(const tape::Record& r)
      : split{r.saved(0).shape()[0], r.attributes()[1], r.saved(0).shape()[1] / r.attributes()[1],
              r.saved(0).shape()[2]},
        to(reshape(r.saved(0), split), {-2, -1}, epsilon_of(r)) {}
  Tensor y(const tape::Record& r) const { return reshape(to.y, r.saved(0).shape()); }
  Tensor product(const Tensor& g) const {
    Shape shape = split;
    if (g.rank() > 3) shape.insert(0, g.shape()[0]);
    return reshape(to.product(reshape(g, shape), {-2, -1}), g.shape());
  }
};
Tensor beside_inner(const Tensor& row) { return expand_dims(row, -1); }

void group_norm_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  const Tensor* inputs[] = {g.data(), &r.saved(0), &r.saved(1)};
  if (!any_followed(inputs))
    return evaluate_cotangents(group_norm_vjp_primitive, inputs,
                               words(epsilon_of(r), wanted_inputs(r), r.attributes()[1]), dx);
  const NormalisedGroups groups(r);
  if (r.wanted(0)) dx[0] = groups.product(g[0] * beside_inner(r.saved(1)));
  if (r.wanted(1)) dx[1] = sum(g[0] * groups.y(r), {-3, -1});
  if (r.wanted(2)) dx[2] = sum(g[0], {-3, -1});
}
void group_norm_jvp(const tape::Record& r, std::span<const Tensor> t, std::span<Tensor> dy) {
  const NormalisedGroups groups(r);
  const auto add = [&dy](const Tensor& term) { dy[0] = dy[0].defined() ? dy[0] + term : term; };
  if (r.wanted(0)) add(groups.product(t[0]) * beside_inner(r.saved(1)));
  if (r.wanted(1)) add(groups.y(r) * beside_inner(t[1]));
  if (r.wanted(2)) add(broadcast_to(beside_inner(t[2]), r.output_shape()));
}

void infer_group_norm(const Call& call, Metas& out) { out.add(call.input(0).dtype(), call.input(0).shape()); }
void evaluate_group_norm(const Call& call, Outputs& out) {
  loops::normalize_groups(call.input(0), call.attribute(1), call.real(0), call.input(1), call.input(2), out[0]);
}
constexpr Primitive group_norm_primitive = {.rule = batched({"group_norm", group_norm_vjp, group_norm_jvp}),
                                            .infer = infer_group_norm,
                                            .evaluate = evaluate_group_norm,
                                            .keeps = {keep_input(0), keep_input(1)}};

// The axes of x in the order in which the caller names them, which is also that of scale and offset.
Shape named_axes(const char* op, const Axes& axes, const Tensor& x) {
  if (axes.all()) return normalize(op, axes, x);
  Shape named;
  for (std::int64_t a : axes.list()) named.push_back(normalize(op, a, x));
  return named;
}

// A scale or offset with the axes `named` of x, transposed to ascending order.
Tensor with_ascending_axes(const Tensor& parameter, const Shape& named) {
  if (std::is_sorted(named.begin(), named.end())) return parameter;
  Shape order;
  for (int k = 0; k < named.rank(); ++k) order.push_back(k);
  std::sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) { return named[a] < named[b]; });
  return transpose(parameter, order);
}

// The extents of x along the axes. ShapeError unless `what` has them as its shape.
void check_extents(const char* op, const char* what, const Tensor& parameter, const Tensor& x, const Shape& axes) {
  Shape wanted;
  for (std::int64_t a : axes) wanted.push_back(x.shape()[a]);
  if (parameter.shape() != wanted)
    fail<ShapeError>(op, "{} is {}; x is {} and normalised over axes {}, so it must be {}", what, parameter.shape(),
                     x.shape(), axes, wanted);
}

void check_epsilon(const char* op, double epsilon) {
  if (!(epsilon >= 0)) fail<ValueError>(op, "epsilon is {}; it must be at least 0", epsilon);
}

Tensor layer_norm_over(const Tensor& x, const Tensor& scale, const Tensor& offset, const LayerNormOptions& options) {
  check_epsilon("layer_norm", options.epsilon);
  const std::int64_t mask = axes_mask("layer_norm", options.axes, x), n = reduced_count(x.shape(), mask);
  const Shape named = named_axes("layer_norm", options.axes, x);
  if (scale.defined()) {
    check_extents("layer_norm", "scale", scale, x, named);
    check_extents("layer_norm", "offset", offset, x, named);
  }
  if (mask == std::int64_t{1} << (x.rank() - 1)) return layer_norm_rows(x, scale, offset, options.epsilon);
  const auto as_row = [&](const Tensor& t) { return t.defined() ? reshape(with_ascending_axes(t, named), {n}) : t; };
  return from_rows(layer_norm_rows(to_rows(x, mask), as_row(scale), as_row(offset), options.epsilon), x.shape(), mask);
}

// ---- batch_norm. Inputs: x, scale, offset. Outputs: y, mean and variance of the channels; residual: 1 / sqrt(variance
// + epsilon). Attributes: epsilon, the axis of the channels.

// The axes of x except that of the channels; the extents of a row of channels that broadcasts to x.
struct ChannelAxes {
  Shape others, broadcast;
  ChannelAxes(const Shape& shape, int axis, int lead = 0) {
    for (int d = 0; d < shape.rank(); ++d) {
      if (d != axis) others.push_back(d + lead);
      broadcast.push_back(d == axis ? shape[d] : 1);
    }
  }
};
int channel_axis_of(const tape::Record& r) { return static_cast<int>(r.attributes()[1]); }

// x as [outer, channels, inner], or [outer, channels] if the channels are the last axis.
Tensor as_batch(const Tensor& x, std::int64_t axis) {
  const Shape shape = x.shape();
  Shape batch{1, 1, 1};
  for (int d = 0; d < shape.rank(); ++d) batch[d < axis ? 0 : d == axis ? 1 : 2] *= shape[d];
  if (batch[2] == 1) batch.pop_back();
  return reshaped(x, batch);
}

// Inputs: g, x, mean, the residual, scale. Attribute 2: the axis.
void infer_batch_norm_vjp(const Call& call, Metas& out) {
  infer_cotangents(call.input(0), call.input(1), call.input(2).shape()[0], call.attribute(1), out);
}
void evaluate_batch_norm_vjp(const Call& call, Outputs& out) {
  loops::normalize_channels_vjp(call.input(0), as_batch(call.input(1), call.attribute(2)), call.input(2), call.input(3),
                                call.input(4), cotangents_of(call.attribute(1), out));
}
constexpr Primitive batch_norm_vjp_primitive = {
    .rule = {.name = "batch_norm.vjp"}, .infer = infer_batch_norm_vjp, .evaluate = evaluate_batch_norm_vjp};

void batch_norm_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  const Tensor &x = r.saved(0), &scale = r.saved(1);
  if (!followed(g[0], x, scale)) {
    const Tensor* inputs[] = {g.data(), &x, &r.saved(2), &r.saved(3), &scale};
    return evaluate_cotangents(batch_norm_vjp_primitive, inputs,
                               words(epsilon_of(r), wanted_inputs(r), channel_axis_of(r)), dx);
  }
  const Shape shape = r.output_shape();
  const ChannelAxes here(shape, channel_axis_of(r)), batched(shape, channel_axis_of(r), r.batch_rank());
  const Normalised to(x, here.others, epsilon_of(r));
  const Shape channels = r.batched({shape[channel_axis_of(r)]});
  if (r.wanted(0)) dx[0] = to.product(g[0] * reshape(scale, here.broadcast), batched.others);
  if (r.wanted(1)) dx[1] = reshape(sum(g[0] * to.y, batched.others), channels);
  if (r.wanted(2)) dx[2] = reshape(sum(g[0], batched.others), channels);
}
void batch_norm_jvp(const tape::Record& r, std::span<const Tensor> t, std::span<Tensor> dy) {
  const ChannelAxes axes(r.output_shape(), channel_axis_of(r));
  dy[0] = tangent(r, t, axes.others, [&](const Tensor& row) { return reshape(row, axes.broadcast); });
}

void infer_batch_norm(const Call& call, Metas& out) {
  const Tensor& x = call.input(0);
  out.add(x.dtype(), x.shape());
  for (int i = 0; i < 3; ++i) out.add(x.dtype(), {x.shape()[static_cast<int>(call.attribute(1))]});
}
void evaluate_batch_norm(const Call& call, Outputs& out) {
  const Tensor x = as_batch(call.input(0), call.attribute(1));
  const Tensor &mean = out[1], &variance = out[2], &inverse = out[3];
  loops::channel_moments(x, mean, variance);
  loops::inverse_deviation(x, mean, variance, call.real(0), inverse);
  loops::normalize_channels(x, mean, inverse, call.input(1), call.input(2), out[0]);
}
constexpr Primitive batch_norm_primitive = {.rule = batched({"batch_norm", batch_norm_vjp, batch_norm_jvp}),
                                            .infer = infer_batch_norm,
                                            .evaluate = evaluate_batch_norm,
                                            .keeps = {keep_input(0), keep_input(1), keep_output(1), keep_output(3)},
                                            .auxiliary = 2,
                                            .residuals = 1};

// In recorded ops, for what becomes C.
void compose_batch_norm(const Tensor& x, const Tensor& scale, const Tensor& offset, double epsilon,
                        const ChannelAxes& axes, Tensor* y) {
  const std::int64_t mask = axes_mask("batch_norm", axes.others, x);
  y[0] = affine(from_rows(layer_norm_rows(to_rows(x, mask), {}, {}, epsilon), x.shape(), mask),
                reshape(scale, axes.broadcast), reshape(offset, axes.broadcast));
  y[1] = stop_gradient(mean(x, axes.others));
  y[2] = stop_gradient(var(x, axes.others));
}

void check_channels(const char* what, const Tensor& parameter, const Tensor& x, int axis) {
  if (parameter.shape() != Shape{x.shape()[axis]})
    fail<ShapeError>("batch_norm", "{} is {}; x is {} with the channels along axis {}, so it must be [{}]", what,
                     parameter.shape(), x.shape(), axis, x.shape()[axis]);
}

}  // namespace

Tensor group_norm_rows(const Tensor& x, const Tensor& scale, const Tensor& offset, std::int64_t groups,
                       double epsilon) {
  if (program::Trace::composing()) {
    const Tensor rows = layer_norm_rows(reshape(x, {x.shape()[0], groups, -1}), {}, {}, epsilon);
    return affine(reshape(rows, x.shape()), beside_inner(scale), beside_inner(offset));
  }
  return apply(group_norm_primitive, {&x, &scale, &offset}, words(epsilon, groups));
}

}  // namespace ops

Tensor layer_norm(const Operand& x, const LayerNormOptions& options) {
  const tape::OpScope scope(x);
  const auto [d, wide] = ops::promote_operands("layer_norm", {&x}, ops::Accept::floating);
  return ops::cast_to(ops::layer_norm_over(ops::to_tensor("layer_norm", x, wide, "x"), {}, {}, options), d);
}

Tensor layer_norm(const Operand& x, const Operand& scale, const Operand& offset, const LayerNormOptions& options) {
  constexpr const char* op = "layer_norm";
  const tape::OpScope scope(x);
  const auto [d, wide] = ops::promote_operands(op, {&x, &scale, &offset}, ops::Accept::floating);
  return ops::cast_to(ops::layer_norm_over(ops::to_tensor(op, x, wide, "x"), ops::to_tensor(op, scale, wide, "scale"),
                                           ops::to_tensor(op, offset, wide, "offset"), options),
                      d);
}

Tensor rms_norm(const Operand& operand, const Operand& scale, const LayerNormOptions& options) {
  constexpr const char* op = "rms_norm";
  const tape::OpScope scope(operand);
  ops::check_epsilon(op, options.epsilon);
  const auto [d, wide] = ops::promote_operands(op, {&operand, &scale}, ops::Accept::floating);
  const Tensor x = ops::to_tensor(op, operand, wide, "x"), factor = ops::to_tensor(op, scale, wide, "scale");
  const Shape axes = ops::normalize(op, options.axes, x), named = ops::named_axes(op, options.axes, x);
  ops::check_extents(op, "scale", factor, x, named);
  Shape broad;
  for (int k = 0; k < x.rank(); ++k) broad.push_back(1);
  for (std::int64_t a : axes) broad[a] = x.shape()[a];
  if (x.size() == 0) return ops::cast_to(x * reshape(ops::with_ascending_axes(factor, named), broad), d);
  // norm, hypot and the quotient keep squares in range, in their derivatives too.
  const Tensor length = norm(x, 2, axes, true);
  const double count = static_cast<double>(x.size()) / static_cast<double>(length.size());
  const Tensor root = hypot(length * (1 / std::sqrt(count)), std::sqrt(options.epsilon));
  return ops::cast_to(x / root * reshape(ops::with_ascending_axes(factor, named), broad), d);
}

BatchNorm batch_norm(const Operand& operand, const Operand& scale, const Operand& offset,
                     const BatchNormOptions& options) {
  constexpr const char* op = "batch_norm";
  const tape::OpScope scope(operand);
  ops::check_epsilon(op, options.epsilon);
  const auto [d, wide] = ops::promote_operands(op, {&operand, &scale, &offset}, ops::Accept::floating);
  const Tensor x = ops::to_tensor(op, operand, wide, "x"), a = ops::to_tensor(op, scale, wide, "scale"),
               b = ops::to_tensor(op, offset, wide, "offset");
  const int axis = ops::normalize(op, options.axis, x);
  ops::check_channels("scale", a, x, axis);
  ops::check_channels("offset", b, x, axis);
  const ops::ChannelAxes axes(x.shape(), axis);
  if (x.size() == 0) {  // no statistics: NaN
    const Tensor nothing = full({x.shape()[axis]}, std::numeric_limits<double>::quiet_NaN(), wide);
    return {ops::cast_to(ops::affine(x, reshape(a, axes.broadcast), reshape(b, axes.broadcast)), d), nothing, nothing};
  }
  const Tensor* inputs[] = {&x, &a, &b};
  Tensor outputs[3];
  if (program::Trace::composing())
    ops::compose_batch_norm(x, a, b, options.epsilon, axes, outputs);
  else
    ops::apply(ops::batch_norm_primitive, inputs, ops::words(options.epsilon, axis), outputs);
  return {ops::cast_to(outputs[0], d), outputs[1], outputs[2]};
}

Tensor batch_norm(const Operand& operand, const Operand& scale, const Operand& offset, const Operand& mean,
                  const Operand& variance, const BatchNormOptions& options) {
  constexpr const char* op = "batch_norm";
  const tape::OpScope scope(operand);
  ops::check_epsilon(op, options.epsilon);
  const ops::Promoted in =
      ops::promote_operands(op, {&operand, &scale, &offset, &mean, &variance}, ops::Accept::floating);
  const Tensor x = ops::to_tensor(op, operand, in.wide, "x");
  const int axis = ops::normalize(op, options.axis, x);
  const ops::ChannelAxes axes(x.shape(), axis);
  const auto channels = [&](const Operand& t, const char* what) {
    const Tensor row = ops::to_tensor(op, t, in.wide, what);
    ops::check_channels(what, row, x, axis);
    return reshape(row, axes.broadcast);
  };
  const Tensor factor = channels(scale, "scale") * ops::inverse_root(channels(variance, "variance") + options.epsilon);
  return ops::cast_to((x - channels(mean, "mean")) * factor + channels(offset, "offset"), in.result);
}

}  // namespace reel
