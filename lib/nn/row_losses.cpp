// Losses per example, composed of other ops: of class labels, and of distances between vectors.
#include <algorithm>
#include <array>
#include <cmath>
#include <reel/nn/losses.hpp>
#include <reel/ops/index.hpp>

#include "loops/index/classes.hpp"
#include "nn/last_axis.hpp"
#include "ops/elementwise/composed.hpp"

namespace reel {

namespace ops {

namespace {

constexpr const char *nll_name = "nll", *multi_margin_name = "multi_margin";

// ---- Labels in range, as int64, with -1 in place of ignored ones. Attributes: the number of classes, whether a label
// is ignored, and which.

void infer_classes(const Call& call, Metas& out) { out.add(DType::int64, call.input(0).shape()); }
template <const char* const& Name>
void evaluate_classes(const Call& call, Outputs& out) {
  const std::int64_t n = call.attribute(0), *ignored = call.attribute(1) ? &call.attributes[2] : nullptr;
  const loops::InvalidClass invalid = loops::copy_classes(call.input(0), n, ignored, out[0]);
  if (invalid.position >= 0)
    fail<IndexError>(
        Name, "label {} at position {} is out of range for {} classes{}", invalid.label, invalid.position, n,
        &Name == &nll_name ? "; give `ignore_index` if it marks examples without a label" : "; labels count from 0");
}
template <const char* const& Name>
constexpr Primitive classes_primitive = {
    .rule = {.name = Name}, .infer = infer_classes, .evaluate = evaluate_classes<Name>, .effects = may_throw};

// x with the classes as last axis, and its elements at the labels.
struct Classes {
  Tensor x, labels;
};
template <const char* const& Name>
Classes classes_of(const Tensor& x, const Operand& labels_operand, std::int64_t along, std::int64_t ignored) {
  const Tensor labels = to_tensor(Name, labels_operand, "labels");
  if (!is_integer(labels.dtype())) fail<TypeError>(Name, "labels must be integers, not {}; cast them", labels.dtype());
  const int axis = normalize(Name, along, x);
  Shape wanted = x.shape();
  wanted.erase(axis);
  if (labels.shape() != wanted)
    fail<ShapeError>(Name,
                     "labels are {}; the first operand is {} with the classes along axis {}, so labels must be {}",
                     labels.shape(), x.shape(), axis, wanted);
  const bool ignores = ignored != SparseCrossEntropyOptions().ignore_index;
  Tensor moved, converted;
  const Tensor& rows = last(x, axis, moved);
  return {rows, apply(classes_primitive<Name>, {&in_dtype(labels, DType::int64, converted)},
                      words(x.shape()[axis], ignores, ignored))};
}

// max(0, margin - own + x)^p of classes other than the label; 0 of the label, which other operand marks with 1.
Lane exceeding(const Lane* x) {
  const Lane h = x[3] - x[1] + x[0];
  return where(equal(x[2], 1) || h <= 0, 0, h);
}
constexpr Composed margins[] = {{"multi_margin", exceeding},
                                {"multi_margin", [](const Lane* x) { return square(exceeding(x)); }}};
constinit const ComposedOps margin_ops(margins);

// ---- distances

// The operands in one dtype and of one shape.
template <std::size_t N>
std::array<Tensor, N> of_one_shape(const char* op, const std::array<const Operand*, N>& operands,
                                   const std::array<const char*, N>& names, DType d) {
  std::array<Tensor, N> all;
  Shape shape;
  for (std::size_t k = 0; k < N; ++k) {
    all[k] = to_tensor(op, *operands[k], d, names[k]);
    shape = k == 0 ? all[k].shape() : broadcast_shapes(op, shape, all[k].shape());
  }
  for (Tensor& x : all)
    if (x.shape() != shape) x = broadcast_to(x, shape);
  return all;
}

// x / norm(x) along the axis; of a vector of zeros 0, with derivative 0.
Tensor unit_vector(const Tensor& x, int axis) {
  const Tensor some = any(x, axis, true);
  const Tensor safe = where(some, x, 1);
  return where(some, safe / norm(safe, 2, axis, true), 0);
}

}  // namespace

}  // namespace ops

Tensor nll(const Operand& operand, const Operand& labels, const SparseCrossEntropyOptions& options) {
  const tape::OpScope scope(operand);
  const auto [x, d] = ops::promote_operand(ops::nll_name, operand, ops::Accept::floating);
  const auto [rows, classes] = ops::classes_of<ops::nll_name>(x, labels, options.axis, options.ignore_index);
  if (rows.shape()[-1] == 0) return ops::cast_to(sum(rows, -1), d);  // all labels are ignored: zeros, connected
  const Tensor picked = squeeze(take_along_axis(rows, expand_dims(maximum(classes, 0), -1), -1), -1);
  return ops::cast_to(where(greater_equal(classes, 0), -picked, 0), d);
}

Tensor multi_margin(const Operand& operand, const Operand& labels, const MultiMarginOptions& options) {
  constexpr const char* op = ops::multi_margin_name;
  const tape::OpScope scope(operand);
  if (options.p != 1 && options.p != 2) fail<ValueError>(op, "p is {}; it must be 1 or 2", options.p);
  const auto [x, d] = ops::promote_operand(op, operand, ops::Accept::floating);
  const auto [rows, classes] =
      ops::classes_of<ops::multi_margin_name>(x, labels, options.axis, SparseCrossEntropyOptions().ignore_index);
  if (rows.size() == 0) return ops::cast_to(sum(rows, -1), d);
  const Tensor own = take_along_axis(rows, expand_dims(classes, -1), -1);
  const Tensor marks = one_hot(classes, rows.shape()[-1], rows.dtype());
  const Operand operands[] = {rows, own, marks, options.margin};
  const Operand* const list[] = {&operands[0], &operands[1], &operands[2], &operands[3]};
  return ops::cast_to(mean(ops::margin_ops.call(static_cast<std::size_t>(options.p - 1), list), -1), d);
}

Tensor cosine_similarity(const Operand& x, const Operand& y, std::int64_t axis) {
  constexpr const char* op = "cosine_similarity";
  const tape::OpScope scope(x);
  const auto [d, wide] = ops::promote_operands(op, {&x, &y}, ops::Accept::floating);
  const auto [a, b] = ops::of_one_shape<2>(op, {&x, &y}, {"x", "y"}, wide);
  const int along = ops::normalize(op, axis, a);
  return ops::cast_to(sum(ops::unit_vector(a, along) * ops::unit_vector(b, along), along), d);
}

Tensor triplet_margin(const Operand& anchor, const Operand& positive, const Operand& negative,
                      const TripletMarginOptions& options) {
  constexpr const char* op = "triplet_margin";
  const tape::OpScope scope(anchor);
  if (!(options.p > 0)) fail<ValueError>(op, "p is {}; it must be greater than 0", options.p);
  const auto [d, wide] = ops::promote_operands(op, {&anchor, &positive, &negative}, ops::Accept::floating);
  const auto [a, b, c] =
      ops::of_one_shape<3>(op, {&anchor, &positive, &negative}, {"anchor", "positive", "negative"}, wide);
  const int axis = ops::normalize(op, options.axis, a);
  const auto distance = [&](const Tensor& x, const Tensor& y) {
    return norm(x - y + options.epsilon, options.p, axis);
  };
  const Tensor near = distance(a, b);
  Tensor far = distance(a, c);
  if (options.swap) far = minimum(far, distance(b, c));
  return ops::cast_to(relu(near - far + options.margin), d);
}

Tensor l2_loss(const Operand& operand) {
  const tape::OpScope scope(operand);
  return ops::in_full_precision("l2_loss", operand, ops::Accept::floating,
                                [](const Tensor& x) { return 0.5 * sum(square(x)); });
}

}  // namespace reel
