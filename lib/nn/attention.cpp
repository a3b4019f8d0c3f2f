// attention as one primitive. Its residuals are the largest score of each query and the factor of its exponentials,
// with which the gradient recomputes probabilities block by block. Derivatives that are differentiated again, tangents,
// and the gradient of a mask are recorded expressions of all scores.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <reel/nn/convolution.hpp>
#include <reel/nn/cross_entropy.hpp>
#include <reel/nn/normalization.hpp>
#include <reel/nn/sequence.hpp>
#include <reel/ops/index.hpp>
#include <reel/ops/make.hpp>
#include <reel/ops/reduce.hpp>
#include <reel/ops/statistics.hpp>

#include "linalg/matrices.hpp"
#include "loops/loops.hpp"
#include "nn/attention_loops.hpp"
#include "nn/last_axis.hpp"
#include "ops/apply/apply.hpp"
#include "program/trace.hpp"

namespace reel {

namespace ops {

namespace {

constexpr const char* attention_name = "attention";
constexpr double excluded = -std::numeric_limits<double>::infinity();  // the score of a masked key

// Attributes: the scale, whether causal; of the vjp also which cotangents are wanted, by bits, and the extent of their
// leading axis, or 0.
enum : std::size_t { scale_at, causal_at, wanted_at, count_at };
double scale_of(const tape::Record& r) { return std::bit_cast<double>(r.attributes()[scale_at]); }

Shape common_batch(const Tensor& q, const Tensor& k, const Tensor& v) {
  return broadcast_shapes(attention_name, broadcast_shapes(attention_name, batch_of(q), batch_of(k)), batch_of(v));
}
Shape with_matrix(Shape batch, std::initializer_list<std::int64_t> more) {
  for (std::int64_t n : more) batch.push_back(n);
  return batch;
}

// The softmax of all scores [..., L, S]: recorded.
Tensor probabilities(const Tensor& q, const Tensor& k, const Tensor& mask, double scale, bool causal) {
  Tensor scores = product(attention_name, q, k, {.transpose_b = true}) * scale, allowed;
  if (mask.defined() && mask.dtype() == DType::boolean) {
    allowed = mask;
  } else if (mask.defined()) {
    allowed = not_equal(mask, excluded);
    scores = scores + where(allowed, mask, 0);
  }
  if (causal) {
    const Tensor past = greater_equal(expand_dims(arange(q.shape()[-2]), -1), arange(k.shape()[-2]));
    allowed = allowed.defined() ? logical_and(allowed, past) : past;
  }
  if (!allowed.defined()) return softmax(scores, -1);
  // The mask may have more leading axes than q and k together: those of v.
  const Shape shape = broadcast_shapes(attention_name, scores.shape(), allowed.shape());
  return masked_softmax(scores.shape() == shape ? scores : broadcast_to(scores, shape), allowed);
}

// The product of x and the Jacobian of softmax with values p.
Tensor through_softmax(const Tensor& p, const Tensor& x) { return p * (x - sum(p * x, -1, true)); }

// ---- The gradient by blocks. Inputs: g, q, k, v, y, z, and the mask if given. Outputs: the wanted ones of dq, dk, dv,
// of the common batch.

loops::Attention operands_of(const Call& call, std::size_t first, std::size_t mask) {
  const Tensor &q = call.input(first), &k = call.input(first + 1), &v = call.input(first + 2);
  return {q,
          k,
          v,
          call.inputs.size() > mask ? call.input(mask) : Tensor(),
          call.real(scale_at),
          call.attribute(causal_at) != 0,
          common_batch(q, k, v)};
}

void infer_attention_vjp(const Call& call, Metas& out) {
  Shape batch = common_batch(call.input(1), call.input(2), call.input(3));
  if (call.attribute(count_at)) batch.insert(0, call.attribute(count_at));
  for (std::size_t i = 0; i < 3; ++i) {
    const Tensor& x = call.input(i + 1);
    if (call.attribute(wanted_at) >> i & 1) out.add(x.dtype(), with_matrix(batch, {x.shape()[-2], x.shape()[-1]}));
  }
}
void evaluate_attention_vjp(const Call& call, Outputs& out) {
  std::size_t next = 0;
  Tensor d[3];
  for (std::size_t i = 0; i < 3; ++i)
    if (call.attribute(wanted_at) >> i & 1) d[i] = out[next++];
  loops::attention_vjp(operands_of(call, 1, 6), std::max<std::int64_t>(call.attribute(count_at), 1), call.input(0),
                       call.input(4), call.input(5), d[0], d[1], d[2]);
}
constexpr Primitive attention_vjp_primitive = {
    .rule = {.name = "attention.vjp"}, .infer = infer_attention_vjp, .evaluate = evaluate_attention_vjp};

// ---- attention. Inputs: q, k, v, and the mask if given. Saved: these, y, z.

void gradient_by_blocks(const tape::Record& r, const Tensor& g, const Tensor& mask, std::span<Gradient> dx) {
  std::int64_t wanted = 0;
  std::size_t count = 0;
  for (std::size_t i = 0; i < 3; ++i)
    if (r.wanted(i)) wanted |= std::int64_t{1} << i, ++count;
  const Tensor* const inputs[] = {&g, &r.saved(0), &r.saved(1), &r.saved(2), &r.saved(4), &r.saved(5), &mask};
  Tensor d[3];
  evaluate(attention_vjp_primitive, Inputs(inputs, mask.defined() ? 7 : 6),
           words(r.attributes()[scale_at], r.attributes()[causal_at], wanted, r.batch_rank() ? g.shape()[0] : 0),
           {d, count}, false);
  for (std::size_t i = 0, k = 0; i < 3; ++i)
    if (r.wanted(i)) dx[i] = sum_to(r, d[k++], r.shape(i));
}

void attention_vjp(const tape::Record& r, std::span<const Tensor> cotangents, std::span<Gradient> dx) {
  const Tensor &q = r.saved(0), &k = r.saved(1), &v = r.saved(2), &g = cotangents[0];
  const Tensor mask = r.num_inputs() > 3 ? r.saved(3) : Tensor();
  const bool mask_wanted = mask.defined() && r.wanted(3);
  if (!mask_wanted && !followed(g, q, k, v) && !(mask.defined() && followed(mask)))
    return gradient_by_blocks(r, g, mask, dx);
  const Tensor p = probabilities(q, k, mask, scale_of(r), r.attributes()[causal_at] != 0);
  if (r.wanted(2)) dx[2] = sum_to(r, product(attention_name, p, g, {.transpose_a = true}), r.shape(2));
  if (!r.wanted(0) && !r.wanted(1) && !mask_wanted) return;
  const Tensor slopes = product(attention_name, g, v, {.transpose_b = true});
  const Tensor d = through_softmax(p, slopes);
  if (mask_wanted) dx[3] = sum_to(r, d, r.shape(3));
  const Tensor scaled = d * scale_of(r);
  if (r.wanted(0)) dx[0] = sum_to(r, product(attention_name, scaled, k), r.shape(0));
  if (r.wanted(1)) dx[1] = sum_to(r, product(attention_name, scaled, q, {.transpose_a = true}), r.shape(1));
}

void attention_jvp(const tape::Record& r, std::span<const Tensor> t, std::span<Tensor> dy) {
  const Tensor &q = r.saved(0), &k = r.saved(1), &v = r.saved(2);
  const bool masked = r.num_inputs() > 3;
  const Tensor p = probabilities(q, k, masked ? r.saved(3) : Tensor(), scale_of(r), r.attributes()[causal_at] != 0);
  Tensor scores;
  const auto add_to = [](Tensor& sum, const Tensor& term) { sum = sum.defined() ? sum + term : term; };
  if (r.wanted(0)) add_to(scores, product(attention_name, t[0], k, {.transpose_b = true}));
  if (r.wanted(1)) add_to(scores, product(attention_name, q, t[1], {.transpose_b = true}));
  if (scores.defined()) scores = scores * scale_of(r);
  if (masked && r.wanted(3)) add_to(scores, t[3]);
  if (scores.defined()) add_to(dy[0], product(attention_name, through_softmax(p, scores), v));
  if (r.wanted(2)) add_to(dy[0], product(attention_name, p, t[2]));
}

void infer_attention(const Call& call, Metas& out) {
  const Tensor &q = call.input(0), &v = call.input(2);
  const Shape batch = common_batch(q, call.input(1), v);
  out.add(q.dtype(), with_matrix(batch, {q.shape()[-2], v.shape()[-1]}));
  Shape residual{2};
  for (std::int64_t n : batch) residual.push_back(n);
  out.add(q.dtype(), with_matrix(residual, {q.shape()[-2]}));
}
void evaluate_attention(const Call& call, Outputs& out) { loops::attention(operands_of(call, 0, 3), out[0], out[1]); }
constexpr Primitive attention_primitive = {
    .rule = batched({attention_name, attention_vjp, attention_jvp}),
    .infer = infer_attention,
    .evaluate = evaluate_attention,
    .keeps = {keep_input(0), keep_input(1), keep_input(2), keep_input(3), keep_output(0), keep_output(1)},
    .residuals = 1};

Tensor matrices(const Operand& x, DType wide, const char* name) {
  const Tensor m = to_tensor(attention_name, x, wide, name);
  if (m.rank() < 2)
    fail<ShapeError>(attention_name, "{} has shape {}; it must be [..., rows, columns]", name, m.shape());
  return m;
}

// The mask with at least two axes, in the dtype of the scores unless it is boolean.
Tensor mask_for(Tensor mask, const Shape& scores, DType wide) {
  if (mask.dtype() != DType::boolean && !is_floating(mask.dtype()))
    fail<TypeError>(attention_name, "the mask is {}; it must be boolean, or numbers that are added to the scores",
                    mask.dtype());
  const auto fits = [&] {
    if (mask.rank() > scores.rank()) return false;
    for (int d = 1; d <= mask.rank(); ++d)
      if (mask.shape()[-d] != 1 && mask.shape()[-d] != scores[-d]) return false;
    return true;
  };
  if (!fits())
    fail<ShapeError>(attention_name, "the mask has shape {}, which does not broadcast to {}, that of the scores",
                     mask.shape(), scores);
  while (mask.rank() < 2) mask = expand_dims(mask, 0);
  return mask.dtype() == DType::boolean ? mask : cast_to(mask, wide);
}

}  // namespace

}  // namespace ops

Tensor attention(const Operand& query, const Operand& key, const Operand& value, const AttentionOptions& options) {
  constexpr const char* op = ops::attention_name;
  const tape::OpScope scope(query);
  const auto [result, wide] = ops::promote_operands(op, {&query, &key, &value}, ops::Accept::real);
  const Tensor q = ops::matrices(query, wide, "q"), k = ops::matrices(key, wide, "k"),
               v = ops::matrices(value, wide, "v");
  if (q.shape()[-1] != k.shape()[-1])
    fail<ShapeError>(op, "q has shape {}, k {}; their last axes must agree", q.shape(), k.shape());
  if (k.shape()[-2] != v.shape()[-2])
    fail<ShapeError>(op, "k has shape {}, v {}; there must be a value for each key", k.shape(), v.shape());
  const Shape batch = ops::common_batch(q, k, v), scores = ops::with_matrix(batch, {q.shape()[-2], k.shape()[-2]});
  ops::require_shape(op, ops::with_matrix(batch, {q.shape()[-2], v.shape()[-1]}));
  const double width = static_cast<double>(std::max<std::int64_t>(q.shape()[-1], 1));
  const double scale = options.scale ? *options.scale : 1 / std::sqrt(width);
  Tensor mask;
  if (options.mask.defined()) mask = ops::mask_for(options.mask, scores, wide);
  if (program::Trace::composing())
    return ops::cast_to(ops::product(op, ops::probabilities(q, k, mask, scale, options.causal), v), result);
  const Tensor* const inputs[] = {&q, &k, &v, &mask};
  return ops::cast_to(ops::apply(ops::attention_primitive, ops::Inputs(inputs, mask.defined() ? 4 : 3),
                                 ops::words(scale, options.causal)),
                      result);
}

}  // namespace reel
