// Cross-entropies, as functions of rows, and elementwise losses composed of other ops.
#include <reel/nn/convolution.hpp>
#include <reel/nn/cross_entropy.hpp>
#include <reel/nn/normalization.hpp>
#include <reel/ops/index.hpp>
#include <reel/ops/make.hpp>

#include "csource/steps.hpp"
#include "loops/index/classes.hpp"
#include "loops/make/fill.hpp"
#include "loops/reduce/rows.hpp"
#include "nn/last_axis.hpp"

namespace reel {

namespace ops {

namespace {

using loops::RowFunction, loops::by_rows, loops::one_per_row, loops::whole_rows;

// g, with one number per row, broadcast along the axis of classes.
Tensor with_class_axis(const Tensor& g) { return expand_dims(g, -1); }

// The result has one number per row of logits [..., n].
void infer_loss(const Call& call, Metas& out) {
  Shape shape = call.input(0).shape();
  shape.pop_back();
  out.add(call.input(0).dtype(), shape);
}
// The cotangent has the extent n of rows [..., n], and the other axes of g. Inputs: g [...], logits, and labels if
// needed.
void infer_loss_vjp(const Call& call, Metas& out) {
  Shape shape = call.input(0).shape();
  shape.push_back(call.input(1).shape()[-1]);
  out.add(call.input(1).dtype(), shape);
}

// ---- labels that are probabilities: logits and labels [..., n]

void evaluate_logits_vjp(const Call& call, Outputs& out) {
  const Tensor &g = call.input(0), &x = call.input(1), &labels = call.input(2), &to = out[0];
  const std::int64_t n = x.shape()[-1];
  if (to.size() > 0)
    by_rows(RowFunction::cross_entropy_vjp, n, {one_per_row(g), whole_rows(x), whole_rows(labels)}, to, n);
}
void evaluate_labels_vjp(const Call& call, Outputs& out) {
  const Tensor &g = call.input(0), &x = call.input(1), &to = out[0];
  const std::int64_t n = x.shape()[-1];
  if (to.size() > 0) by_rows(RowFunction::cross_entropy_labels_vjp, n, {one_per_row(g), whole_rows(x)}, to, n);
}
void write_rows(const Call& call, csource::Writer& w, std::size_t x, std::string_view text) {
  csource::write_steps(w, call.input(x).dtype(), text,
                       {call.input(x).shape()[-1], call.attributes.size() > 1 ? call.attribute(0) : 0,
                        call.attributes.size() > 1 ? call.attribute(1) : 0});
}
void write_logits_vjp(const Call& call, csource::Writer& w) {
  write_rows(call, w, 1, "for i0:0 i1:1 i2:1 o0:1\n$cross_entropy_vjp(@i0, i1, i2, o0, #0)");
}
void write_labels_vjp(const Call& call, csource::Writer& w) {
  write_rows(call, w, 1, "for i0:0 i1:1 o0:1\n$cross_entropy_labels_vjp(@i0, i1, o0, #0)");
}
constexpr Primitive logits_vjp_primitive = {.rule = {.name = "softmax_cross_entropy.vjp"},
                                            .infer = infer_loss_vjp,
                                            .evaluate = evaluate_logits_vjp,
                                            .write_c = write_logits_vjp};
constexpr Primitive labels_vjp_primitive = {.rule = {.name = "softmax_cross_entropy.labels_vjp"},
                                            .infer = infer_loss_vjp,
                                            .evaluate = evaluate_labels_vjp,
                                            .write_c = write_labels_vjp};

Tensor logits_derivative(const Tensor& x, const Tensor& labels) { return softmax(x) * sum(labels, -1, true) - labels; }
void dense_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  const Tensor& x = r.saved(0);
  if (r.wanted(0)) {
    const Tensor& labels = r.saved(1);
    dx[0] = followed(g[0], x, labels) ? with_class_axis(g[0]) * logits_derivative(x, labels)
                                      : evaluate(logits_vjp_primitive, {&g[0], &x, &labels});
  }
  if (r.wanted(1))
    dx[1] = followed(g[0], x) ? -(with_class_axis(g[0]) * log_softmax(x)) : evaluate(labels_vjp_primitive, {&g[0], &x});
}
void dense_jvp(const tape::Record& r, std::span<const Tensor> t, std::span<Tensor> dy) {
  if (t[0].defined()) dy[0] = sum(t[0] * logits_derivative(r.saved(0), r.saved(1)), -1);
  if (t[1].defined()) {
    const Tensor along = -sum(t[1] * log_softmax(r.saved(0)), -1);
    dy[0] = dy[0].defined() ? dy[0] + along : along;
  }
}

void evaluate_dense(const Call& call, Outputs& out) {
  const Tensor &x = call.input(0), &labels = call.input(1), &y = out[0];
  if (y.size() > 0) by_rows(RowFunction::cross_entropy, x.shape()[-1], {whole_rows(x), whole_rows(labels)}, y, 1);
}
void write_dense(const Call& call, csource::Writer& w) {
  write_rows(call, w, 0, "for i0:1 i1:1 o0:0\n*(o0) = $cross_entropy(i0, i1, #0)");
}
constexpr Primitive dense_primitive = {.rule = batched({"softmax_cross_entropy", dense_vjp, dense_jvp}),
                                       .infer = infer_loss,
                                       .evaluate = evaluate_dense,
                                       .keeps = {keep_input(0), keep_input(1, 0b01)},
                                       .write_c = write_dense};

Tensor dense(const Tensor& x, const Tensor& labels) {
  if (x.shape()[-1] == 0) return sum(x * labels, -1);  // zeros, connected
  return apply(dense_primitive, {&x, &labels});
}

// ---- Labels that are classes: logits [..., n], labels [...] as int64. Attributes: whether a label is ignored, and
// which. Residual: the labels with -1 in place of ignored ones.

constexpr const char* sparse_name = "sparse_softmax_cross_entropy";

void evaluate_sparse_vjp(const Call& call, Outputs& out) {
  const Tensor &g = call.input(0), &x = call.input(1), &labels = call.input(2), &to = out[0];
  const std::int64_t n = x.shape()[-1];
  if (to.size() > 0)
    by_rows(RowFunction::sparse_cross_entropy_vjp, n, {one_per_row(g), whole_rows(x), one_per_row(labels)}, to, n);
}
void write_sparse_vjp(const Call& call, csource::Writer& w) {
  write_rows(call, w, 1, "for i0:0 i1:1 i2:0 o0:1\n$class_entropy_vjp(@i0, i1, @i2, o0, #0)");
}
constexpr Primitive sparse_vjp_primitive = {.rule = {.name = "sparse_softmax_cross_entropy.vjp"},
                                            .infer = infer_loss_vjp,
                                            .evaluate = evaluate_sparse_vjp,
                                            .constants = 1,
                                            .write_c = write_sparse_vjp};

Tensor sparse_derivative(const Tensor& x, const Tensor& labels) {
  return where(with_class_axis(greater_equal(labels, 0)), softmax(x) - one_hot(labels, x.shape()[-1], x.dtype()), 0);
}
void sparse_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  const Tensor &x = r.saved(0), &labels = r.saved(1);
  dx[0] = followed(g[0], x) ? with_class_axis(g[0]) * sparse_derivative(x, labels)
                            : evaluate(sparse_vjp_primitive, {&g[0], &x, &labels});
}
void sparse_jvp(const tape::Record& r, std::span<const Tensor> t, std::span<Tensor> dy) {
  dy[0] = sum(t[0] * sparse_derivative(r.saved(0), r.saved(1)), -1);
}

void infer_sparse(const Call& call, Metas& out) {
  out.add(call.input(0).dtype(), call.input(1).shape());
  out.add(DType::int64, call.input(1).shape());
}
void evaluate_sparse(const Call& call, Outputs& out) {
  const Tensor &x = call.input(0), &y = out[0], &classes = out[1];
  const std::int64_t n = x.shape()[-1], *ignored = call.attribute(0) ? &call.attributes[1] : nullptr;
  const loops::InvalidClass invalid = loops::copy_classes(call.input(1), n, ignored, classes);
  if (invalid.position >= 0)
    fail<IndexError>(sparse_name,
                     "label {} at position {} is out of range for {} classes; give `ignore_index` if it marks "
                     "examples without a label",
                     invalid.label, invalid.position, n);
  if (n == 0)
    loops::fill_zero(y);  // all labels are ignored
  else if (y.size() > 0)
    by_rows(RowFunction::sparse_cross_entropy, n, {whole_rows(x), one_per_row(classes)}, y, 1);
}
void write_sparse(const Call& call, csource::Writer& w) {
  if (call.input(0).shape()[-1] == 0) csource::fail_without_form(w);
  write_rows(call, w, 0,
             call.attribute(0)
                 ? "for i0:1 i1:0 o0:0 o1:0\n*(o1) = @i1 == #2 ? -1 : @i1\n"
                   "refuse *(o1) >= #0 || *(o1) < -1 || (*(o1) == -1 && @i1 != #2)|a label is out of range\n"
                   "*(o0) = *(o1) < 0 ? 0 : $log_sum_exp(i0, #0) - (i0)[*(o1)]"
                 : "for i0:1 i1:0 o0:0 o1:0\n*(o1) = @i1\n"
                   "refuse *(o1) >= #0 || *(o1) < 0|a label is out of range\n"
                   "*(o0) = $log_sum_exp(i0, #0) - (i0)[*(o1)]");
}
constexpr Primitive sparse_primitive = {.rule = batched({sparse_name, sparse_vjp, sparse_jvp}),
                                        .infer = infer_sparse,
                                        .evaluate = evaluate_sparse,
                                        .keeps = {keep_input(0), keep_output(1)},
                                        .constants = 1,
                                        .residuals = 1,
                                        .effects = may_throw,
                                        .write_c = write_sparse};

}  // namespace

}  // namespace ops

Tensor softmax_cross_entropy(const Operand& logits, const Operand& labels, const SoftmaxCrossEntropyOptions& options) {
  constexpr const char* op = "softmax_cross_entropy";
  const tape::OpScope scope(logits);
  const auto [d, wide] = ops::promote_operands(op, {&logits, &labels}, ops::Accept::floating);
  const Tensor x = ops::to_tensor(op, logits, wide, "logits");
  Tensor p = ops::to_tensor(op, labels, wide, "labels");
  if (x.shape() != p.shape())
    fail<ShapeError>(op,
                     "logits are {}, labels {}; they must have the same shape (for labels that are class numbers use "
                     "sparse_softmax_cross_entropy)",
                     x.shape(), p.shape());
  const double s = options.label_smoothing;
  if (!(s >= 0 && s <= 1)) fail<ValueError>(op, "label_smoothing is {}; it must be between 0 and 1", s);
  const int axis = ops::normalize(op, options.axis, x);
  Tensor moved[2];
  if (s != 0) p = p * (1 - s) + s / static_cast<double>(x.shape()[axis]);
  return ops::cast_to(ops::dense(ops::last(x, axis, moved[0]), ops::last(p, axis, moved[1])), d);
}

Tensor sparse_softmax_cross_entropy(const Operand& logits, const Operand& labels,
                                    const SparseCrossEntropyOptions& options) {
  constexpr const char* op = "sparse_softmax_cross_entropy";
  const tape::OpScope scope(logits);
  const auto [d, wide] = ops::promote_operands(op, {&logits}, ops::Accept::floating);
  Tensor scratch[2];
  const Tensor& x = ops::as_tensor(op, logits, wide, scratch[0], "logits");
  const Tensor& classes = ops::as_tensor(op, labels, scratch[1], "labels");
  if (!is_integer(classes.dtype()))
    fail<TypeError>(op, "labels must be integers, not {}; for probabilities use softmax_cross_entropy",
                    classes.dtype());
  const int axis = ops::normalize(op, options.axis, x);
  Shape wanted = x.shape();
  wanted.erase(axis);
  if (classes.shape() != wanted)
    fail<ShapeError>(op, "labels are {}; logits are {} with the classes along axis {}, so labels must be {}",
                     classes.shape(), x.shape(), axis, wanted);
  Tensor moved, converted;
  const bool ignores = options.ignore_index != SparseCrossEntropyOptions().ignore_index;
  const Tensor y =
      ops::apply(ops::sparse_primitive, {&ops::last(x, axis, moved), &ops::in_dtype(classes, DType::int64, converted)},
                 ops::words(ignores, options.ignore_index));
  return ops::cast_to(y, d);
}

Tensor binary_cross_entropy(const Operand& p, const Operand& labels) {
  constexpr const char* op = "binary_cross_entropy";
  const tape::OpScope scope(p);
  const auto [d, wide] = ops::promote_operands(op, {&p, &labels}, ops::Accept::floating);
  const Tensor x = ops::to_tensor(op, p, wide, "p"), y = ops::to_tensor(op, labels, wide, "labels");
  static_cast<void>(ops::broadcast_shapes(op, x.shape(), y.shape()));
  // 1 in place of probabilities that would contribute 0 times an infinite logarithm.
  const Tensor no = logical_and(equal(y, 0), equal(x, 0)), yes = logical_and(equal(y, 1), equal(x, 1));
  return ops::cast_to(-(y * log(where(no, 1, x)) + (1 - y) * log1p(-where(yes, 0, x))), d);
}

Tensor kl_divergence(const Operand& target, const Operand& p) {
  constexpr const char* op = "kl_divergence";
  const tape::OpScope scope(target);
  const auto [d, wide] = ops::promote_operands(op, {&target, &p}, ops::Accept::floating);
  const Tensor t = ops::to_tensor(op, target, wide, "target"), q = ops::to_tensor(op, p, wide, "p");
  static_cast<void>(ops::broadcast_shapes(op, t.shape(), q.shape()));
  const Tensor at_zero = equal(t, 0);
  const Tensor safe = where(at_zero, 1, t);
  return ops::cast_to(where(at_zero, 0, safe * (log(safe) - log(where(at_zero, 1, q)))), d);
}

Tensor huber(const Operand& x, const Operand& y, double delta) {
  constexpr const char* op = "huber";
  const tape::OpScope scope(x);
  if (!(delta > 0)) fail<ValueError>(op, "delta is {}; it must be greater than 0", delta);
  const auto [dtype, wide] = ops::promote_operands(op, {&x, &y}, ops::Accept::floating);
  const Tensor a = ops::to_tensor(op, x, wide, "x"), b = ops::to_tensor(op, y, wide, "y");
  static_cast<void>(ops::broadcast_shapes(op, a.shape(), b.shape()));
  const Tensor d = a - b;
  const Tensor c = clip(d, -delta, delta);  // its gradient at the edge is 1: d (c (d - c / 2)) = c everywhere
  return ops::cast_to(c * (d - 0.5 * c), dtype);
}

}  // namespace reel
