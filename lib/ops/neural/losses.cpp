// Cross-entropies with fused kernels of rows, and elementwise losses made of other ops.
#include <cmath>
#include <reel/ops/index.hpp>
#include <reel/ops/make.hpp>
#include <reel/ops/neural.hpp>

#include "ops/neural/rows.hpp"
#include "ops/reduce/by_rows.hpp"

namespace reel {

namespace ops {

namespace {

// g, which has one number per row, with the axis of the classes.
Tensor spread(const Tensor& g) { return expand_dims(g, -1); }
Shape without_last(Shape shape) {
  shape.pop_back();
  return shape;
}

// ---- labels that are probabilities; saved: logits, labels, both [..., n]

// By a kernel of rows, when nobody records.
// `in` begins with g, then x.
Tensor fused(const tape::Record& r, kernels::RowLoop kernel, const Tensor& g, std::initializer_list<RowOperand> in) {
  const std::int64_t n = in.begin()[1].width;
  Shape shape = g.shape();
  shape.push_back(n);
  Tensor out = detail::empty(r.saved(0).dtype(), shape);
  if (out.size() > 0) by_rows(kernel, n, in, out, n);
  return out;
}

Tensor slope(const tape::Record& r) {
  const Tensor& labels = r.saved(1);
  return softmax(r.saved(0)) * sum(labels, -1, true) - labels;
}
void dense_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  const Tensor &x = r.saved(0), &labels = r.saved(1);
  const kernels::Rows& rows = row_kernels(r.name(), x.dtype());
  if (r.wanted(0))
    dx[0] = tape::active()
                ? spread(g[0]) * slope(r)
                : fused(r, rows.cross_entropy_product, g[0], {one_per_row(g[0]), whole_rows(x), whole_rows(labels)});
  if (r.wanted(1))
    dx[1] = tape::active() ? -(spread(g[0]) * log_softmax(x))
                           : fused(r, rows.cross_entropy_labels_product, g[0], {one_per_row(g[0]), whole_rows(x)});
}
void dense_jvp(const tape::Record& r, std::span<const Tensor> t, std::span<Tensor> dy) {
  if (t[0].defined()) dy[0] = sum(t[0] * slope(r), -1);
  if (t[1].defined()) {
    const Tensor along = -sum(t[1] * log_softmax(r.saved(0)), -1);
    dy[0] = dy[0].defined() ? dy[0] + along : along;
  }
}
constexpr tape::Rule dense_rule = batched({"softmax_cross_entropy", dense_vjp, dense_jvp});

Tensor dense(const Tensor& x, const Tensor& labels) {
  const std::int64_t n = x.shape()[-1];
  const kernels::Rows& rows = row_kernels(dense_rule.name, x.dtype());
  if (n == 0) return sum(x * labels, -1);  // zeros, connected
  Tensor y = detail::empty(x.dtype(), without_last(x.shape()));
  if (y.size() > 0) by_rows(rows.cross_entropy, n, {whole_rows(x), whole_rows(labels)}, y, 1);
  if (tape::active()) tape::record(dense_rule, {&x, &labels}, y, {&x, &labels});
  return y;
}

// ---- labels that are classes; saved: logits [..., n], labels as int64, -1 for what is ignored

Tensor sparse_slope(const tape::Record& r) {
  const Tensor &x = r.saved(0), &labels = r.saved(1);
  return where(spread(greater_equal(labels, 0)), softmax(x) - one_hot(labels, x.shape()[-1], x.dtype()), 0);
}
void sparse_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  const Tensor& x = r.saved(0);
  if (tape::active())
    dx[0] = spread(g[0]) * sparse_slope(r);
  else
    dx[0] = fused(r, row_kernels(r.name(), x.dtype()).sparse_cross_entropy_product, g[0],
                  {one_per_row(g[0]), whole_rows(x), one_per_row(r.saved(1))});
}
void sparse_jvp(const tape::Record& r, std::span<const Tensor> t, std::span<Tensor> dy) {
  dy[0] = sum(t[0] * sparse_slope(r), -1);
}
constexpr tape::Rule sparse_rule = batched({"sparse_softmax_cross_entropy", sparse_vjp, sparse_jvp});

// The labels as contiguous int64, what is to be ignored as -1.
Tensor checked_labels(const Tensor& given, std::int64_t classes, std::int64_t ignored) {
  const bool any_ignored = ignored != SparseCrossEntropyOptions().ignore_index;
  Tensor cast, copied;
  const Tensor& labels = loops::contiguous(as(given, DType::int64, cast), copied);
  Tensor checked = detail::empty(DType::int64, labels.shape());
  const auto* from = detail::mutable_data<std::int64_t>(labels);
  auto* to = detail::mutable_data<std::int64_t>(checked);
  for (std::int64_t i = 0; i < labels.size(); ++i) {
    const bool is_ignored = any_ignored && from[i] == ignored;
    if (!is_ignored && (from[i] < 0 || from[i] >= classes))
      fail<IndexError>(sparse_rule.name,
                       "label {} at position {} is out of range for {} classes; give `ignore_index` if it marks "
                       "examples without a label",
                       from[i], i, classes);
    to[i] = is_ignored ? -1 : from[i];
  }
  return checked;
}

Tensor sparse(const Tensor& x, const Tensor& labels) {
  const std::int64_t n = x.shape()[-1];
  const kernels::Rows& rows = row_kernels(sparse_rule.name, x.dtype());
  if (n == 0) return sum(x, -1);  // all are ignored
  Tensor y = detail::empty(x.dtype(), labels.shape());
  if (y.size() > 0) by_rows(rows.sparse_cross_entropy, n, {whole_rows(x), one_per_row(labels)}, y, 1);
  if (tape::active()) tape::record(sparse_rule, {&x}, y, {&x, &labels});
  return y;
}

}  // namespace

}  // namespace ops

Tensor softmax_cross_entropy(const Operand& logits, const Operand& labels, const SoftmaxCrossEntropyOptions& options) {
  constexpr const char* op = "softmax_cross_entropy";
  const tape::OpScope scope(logits);
  const auto [d, wide] = ops::floating_dtypes(op, {&logits, &labels});
  const Tensor x = ops::to_tensor(op, logits, wide, "logits");
  Tensor p = ops::to_tensor(op, labels, wide, "labels");
  if (x.shape() != p.shape())
    fail<ShapeError>(op,
                     "logits are {}, labels {}; they must have the same shape (for labels that are class numbers use "
                     "sparse_softmax_cross_entropy)",
                     x.shape(), p.shape());
  const double s = options.label_smoothing;
  if (!(s >= 0 && s <= 1)) fail<ValueError>(op, "label_smoothing is {}; it must be between 0 and 1", s);
  const int axis = ops::normalize(op, options.axis, x.rank());
  Tensor moved[2];
  if (s != 0) p = p * (1 - s) + s / static_cast<double>(x.shape()[axis]);
  return ops::cast_to(ops::dense(ops::last(x, axis, moved[0]), ops::last(p, axis, moved[1])), d);
}

Tensor sparse_softmax_cross_entropy(const Operand& logits, const Operand& labels,
                                    const SparseCrossEntropyOptions& options) {
  constexpr const char* op = "sparse_softmax_cross_entropy";
  const tape::OpScope scope(logits);
  const auto [d, wide] = ops::floating_dtypes(op, {&logits});
  Tensor held[2];
  const Tensor& x = ops::given(op, logits, wide, held[0], "logits");
  const Tensor& classes = ops::given(op, labels, held[1], "labels");
  if (!is_integer(classes.dtype()))
    fail<TypeError>(op, "labels must be integers, not {}; for probabilities use softmax_cross_entropy",
                    classes.dtype());
  const int axis = ops::normalize(op, options.axis, x.rank());
  Shape wanted = x.shape();
  wanted.erase(axis);
  if (classes.shape() != wanted)
    fail<ShapeError>(op, "labels are {}; logits are {} with the classes along axis {}, so labels must be {}",
                     classes.shape(), x.shape(), axis, wanted);
  Tensor moved;
  const Tensor checked = ops::checked_labels(classes, x.shape()[axis], options.ignore_index);
  return ops::cast_to(ops::sparse(ops::last(x, axis, moved), checked), d);
}

Tensor binary_cross_entropy(const Operand& p, const Operand& labels) {
  constexpr const char* op = "binary_cross_entropy";
  const tape::OpScope scope(p);
  const auto [d, wide] = ops::floating_dtypes(op, {&p, &labels});
  const Tensor x = ops::to_tensor(op, p, wide, "p"), y = ops::to_tensor(op, labels, wide, "labels");
  static_cast<void>(ops::broadcast_shapes(op, x.shape(), y.shape()));
  // 1 in place of what contributes 0 times an infinite logarithm.
  const Tensor no = logical_and(equal(y, 0), equal(x, 0)), yes = logical_and(equal(y, 1), equal(x, 1));
  return ops::cast_to(-(y * log(where(no, 1, x)) + (1 - y) * log1p(-where(yes, 0, x))), d);
}

Tensor kl_divergence(const Operand& target, const Operand& p) {
  constexpr const char* op = "kl_divergence";
  const tape::OpScope scope(target);
  const auto [d, wide] = ops::floating_dtypes(op, {&target, &p});
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
  const auto [dtype, wide] = ops::floating_dtypes(op, {&x, &y});
  const Tensor a = ops::to_tensor(op, x, wide, "x"), b = ops::to_tensor(op, y, wide, "y");
  static_cast<void>(ops::broadcast_shapes(op, a.shape(), b.shape()));
  const Tensor d = a - b;
  const Tensor c = clip(d, -delta, delta);  // whose gradient at the edge is 1: d (c (d - c / 2)) = c everywhere
  return ops::cast_to(c * (d - 0.5 * c), dtype);
}

}  // namespace reel
