// Elements chosen by index tensors: gather, take_along_axis, one_hot, IndexedSlices; the entry of scatter_add. A
// primitive of its own checks the indices; the other primitives read its result, the positions. Terms at equal
// positions are summed in the order of the indices, so that sums do not depend on threads.
#include "loops/index/gather.hpp"

#include <algorithm>
#include <reel/gradient.hpp>
#include <reel/ops/make.hpp>

#include "loops/make/fill.hpp"
#include "ops/apply/operation.hpp"
#include "ops/attributes.hpp"
#include "ops/index/scatter.hpp"
#include "ops/index/write.hpp"

namespace reel {

namespace ops {

namespace {

// ---- Positions for indices: one array per axis gives positions on the axis that these axes make together. Attributes:
// the address of the op's name, a literal, and for each array axis and extent. The arrays broadcast to the shape of the
// first.

void infer_positions(const Call& call, Metas& out) { out.add(DType::int64, call.input(0).shape()); }
void evaluate_positions(const Call& call, Outputs& out) {
  for (std::size_t k = 0; k < call.inputs.size(); ++k) {
    const std::int64_t axis = call.attribute(1 + 2 * k), extent = call.attribute(2 + 2 * k);
    if (const loops::BadIndex bad = loops::find_positions(call.input(k), extent, out[0], k > 0))
      fail_index(reinterpret_cast<const char*>(call.attribute(0)), bad.value, bad.at, axis, extent);
  }
}
constexpr Primitive positions_primitive = {.rule = {.name = "positions"},
                                           .infer = infer_positions,
                                           .evaluate = evaluate_positions,
                                           .constants = 1,
                                           .effects = may_throw,
                                           .write_c = write_positions};

// ---- gather; inputs: x, positions; attributes: axis

int axis_of(const tape::Record& r) { return static_cast<int>(r.attributes()[0]); }

void gather_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  if (!r.wanted(0)) return;
  const Tensor& positions = r.saved(0);
  const Shape shape = r.batched(r.shape(0));
  const int axis = axis_of(r) + r.batch_rank();
  if (axis != 0) {
    dx[0] = scatter_rows(g[0], positions, shape, axis);
    return;
  }
  Shape rows = shape;
  rows[0] = positions.size();
  dx[0] = IndexedSlices{reshape(g[0], rows), reshape(positions, {positions.size()}), shape};
}
void gather_jvp(const tape::Record& r, std::span<const Tensor> t, std::span<Tensor> dy) {
  if (t[0].defined()) dy[0] = gather_at(t[0], r.saved(0), axis_of(r));
}
// Rows of slices: the slices of the result name rows of the positions, and these name rows of x.
Gradient gather_slices(const tape::Record& r, const IndexedSlices& g) {
  const Tensor& positions = r.saved(0);
  if (axis_of(r) != 0 || positions.rank() == 0) return {};
  const Shape shape = r.shape(0);
  const Tensor rows = gather_at(positions, check_indices("IndexedSlices", g.indices, 0, positions.shape()[0]), 0);
  Shape values = shape;
  values[0] = rows.size();
  return IndexedSlices{reshape(g.values, values), reshape(rows, {rows.size()}), shape};
}

void infer_gather(const Call& call, Metas& out) {
  const Shape x = call.input(0).shape(), positions = call.input(1).shape();
  const std::int64_t axis = call.attribute(0);
  Shape shape;
  for (int d = 0; d < axis; ++d) shape.push_back(x[d]);
  for (std::int64_t extent : positions) shape.push_back(extent);
  for (std::int64_t d = axis + 1; d < x.rank(); ++d) shape.push_back(x[d]);
  out.add(call.input(0).dtype(), shape);
}
void evaluate_gather(const Call& call, Outputs& out) {
  loops::gather(call.input(0), call.input(1), static_cast<int>(call.attribute(0)), out[0]);
}
constexpr Primitive gather_primitive = {.rule =
                                            [] {
                                              tape::Rule rule = batched({"gather", gather_vjp, gather_jvp});
                                              rule.slices = gather_slices;
                                              return rule;
                                            }(),
                                        .infer = infer_gather,
                                        .evaluate = evaluate_gather,
                                        .keeps = {keep_input(1)},
                                        .constants = 1,
                                        .write_c = write_gather};

}  // namespace

Tensor gather_at(const Tensor& x, const Tensor& positions, int axis) {
  return apply(gather_primitive, {&x, &positions}, words(axis));
}

namespace {

// ---- its transpose, scatter_rows; inputs: g, positions; attributes: axis, extents of the result

void scatter_rows_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  if (r.wanted(0)) dx[0] = gather_at(g[0], r.saved(0), axis_of(r) + r.batch_rank());
}
void scatter_rows_jvp(const tape::Record& r, std::span<const Tensor> t, std::span<Tensor> dy) {
  if (t[0].defined()) dy[0] = scatter_rows(t[0], r.saved(0), r.output_shape(), axis_of(r));
}

void infer_scatter(const Call& call, Metas& out) { out.add(call.input(0).dtype(), shape_behind(call.attributes, 1)); }
void evaluate_scatter_rows(const Call& call, Outputs& out) {
  loops::fill_zero(out[0]);
  loops::scatter_add(call.input(0), call.input(1), static_cast<int>(call.attribute(0)), out[0]);
}
constexpr Primitive scatter_rows_primitive = {.rule = batched({"scatter_rows", scatter_rows_vjp, scatter_rows_jvp}),
                                              .infer = infer_scatter,
                                              .evaluate = evaluate_scatter_rows,
                                              .keeps = {keep_input(1)},
                                              .constants = 1,
                                              .write_c = write_scatter_rows};

// ---- take_along_axis; inputs: x and positions, of one shape but for the axis; attributes: axis

// The positions, repeated for each cotangent of a batch.
Tensor batched_positions(const tape::Record& r) {
  const Tensor& positions = r.saved(0);
  return r.batch_rank() ? broadcast_to(positions, r.batched(positions.shape())) : positions;
}

void take_along_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  if (r.wanted(0)) dx[0] = put_along(g[0], batched_positions(r), r.batched(r.shape(0)), axis_of(r) + r.batch_rank());
}
void take_along_jvp(const tape::Record& r, std::span<const Tensor> t, std::span<Tensor> dy) {
  if (t[0].defined()) dy[0] = take_along(t[0], r.saved(0), axis_of(r));
}

void infer_take_along(const Call& call, Metas& out) { out.add(call.input(0).dtype(), call.input(1).shape()); }
void evaluate_take_along(const Call& call, Outputs& out) {
  loops::take_along(call.input(0), call.input(1), static_cast<int>(call.attribute(0)), out[0]);
}
constexpr Primitive take_along_primitive = {.rule = batched({"take_along_axis", take_along_vjp, take_along_jvp}),
                                            .infer = infer_take_along,
                                            .evaluate = evaluate_take_along,
                                            .keeps = {keep_input(1)},
                                            .constants = 1,
                                            .write_c = write_take_along};

}  // namespace

Tensor take_along(const Tensor& x, const Tensor& positions, int axis) {
  return apply(take_along_primitive, {&x, &positions}, words(axis));
}

namespace {

// ---- its transpose; inputs: g, positions; attributes: axis, extents of the result

void put_along_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  if (r.wanted(0)) dx[0] = take_along(g[0], batched_positions(r), axis_of(r) + r.batch_rank());
}
void put_along_jvp(const tape::Record& r, std::span<const Tensor> t, std::span<Tensor> dy) {
  if (t[0].defined()) dy[0] = put_along(t[0], r.saved(0), r.output_shape(), axis_of(r));
}

void evaluate_put_along(const Call& call, Outputs& out) {
  loops::fill_zero(out[0]);
  loops::add_along(call.input(0), call.input(1), static_cast<int>(call.attribute(0)), out[0]);
}
constexpr Primitive put_along_primitive = {.rule = batched({"put_add_along_axis", put_along_vjp, put_along_jvp}),
                                           .infer = infer_scatter,
                                           .evaluate = evaluate_put_along,
                                           .keeps = {keep_input(1)},
                                           .constants = 1,
                                           .write_c = write_put_along};

}  // namespace

Tensor put_along(const Tensor& g, const Tensor& positions, const Shape& shape, int axis) {
  return apply(put_along_primitive, {&g, &positions}, shaped(words(axis), shape));
}

namespace {

// ---- one_hot; inputs: indices; attributes: dtype, depth

void infer_one_hot(const Call& call, Metas& out) {
  Shape shape = call.input(0).shape();
  shape.push_back(call.attribute(1));
  out.add(static_cast<DType>(call.attribute(0)), shape);
}
void evaluate_one_hot(const Call& call, Outputs& out) { loops::fill_one_hot(out[0], call.input(0)); }
constexpr Primitive one_hot_primitive = {.rule = {.name = "one_hot"},
                                         .infer = infer_one_hot,
                                         .evaluate = evaluate_one_hot,
                                         .constants = 1,
                                         .write_c = write_one_hot};

}  // namespace

void fail_index(const char* op, std::int64_t index, std::int64_t at, std::int64_t axis, std::int64_t extent) {
  fail<IndexError>(op, "index {} (element {} of indices) is out of range for axis {}, of extent {}", index, at, axis,
                   extent);
}
void require_integers(const char* op, const Tensor& indices) {
  if (!is_integer(indices.dtype()))
    fail<TypeError>(op, "indices must be integers, not {}; cast them to int64{}", indices.dtype(),
                    indices.dtype() == DType::boolean ? ", or choose by a condition with where" : "");
}

Tensor check_indices(const char* op, const Operand& operand, int axis, std::int64_t extent) {
  const Tensor indices = to_tensor(op, operand, "indices");
  require_integers(op, indices);
  const Tensor* const inputs[] = {&indices};
  if (!traced(inputs) && loops::are_positions(indices, extent)) return indices;
  return apply(positions_primitive, inputs, words(reinterpret_cast<std::intptr_t>(op), axis, extent));
}

Tensor check_positions(const char* op, std::span<const Tensor* const> indices, Attributes axes_and_extents) {
  if (indices.size() == 1 && !traced(indices) && loops::are_positions(*indices[0], axes_and_extents[1]))
    return *indices[0];
  detail::ShortList<std::int64_t, 9> attributes(1 + axes_and_extents.size());
  attributes[0] = reinterpret_cast<std::intptr_t>(op);
  std::copy(axes_and_extents.begin(), axes_and_extents.end(), attributes.begin() + 1);
  return apply(positions_primitive, indices, std::span<const std::int64_t>(attributes));
}

Tensor scatter_rows(const Tensor& g, const Tensor& positions, const Shape& shape, int axis) {
  return apply(scatter_rows_primitive, {&g, &positions}, shaped(words(axis), shape));
}

}  // namespace ops

Tensor gather(const Operand& operand, const Operand& indices, std::int64_t axis) {
  const tape::OpScope scope(operand);
  const Tensor x = ops::to_tensor("gather", operand);
  const int a = ops::normalize("gather", axis, x);
  const Tensor at = ops::check_indices("gather", indices, a, x.shape()[a]);
  ops::require_rank("gather", x.rank() - 1 + at.rank());
  return ops::gather_at(x, at, a);
}

Tensor take_along_axis(const Operand& operand, const Operand& indices, std::int64_t axis) {
  const tape::OpScope scope(operand);
  Tensor x = ops::to_tensor("take_along_axis", operand);
  const Shape chosen = ops::to_tensor("take_along_axis", indices, "indices").shape();
  if (chosen.rank() != x.rank())
    fail<ShapeError>("take_along_axis", "x has shape {}, indices {}: they must have the same rank", x.shape(), chosen);
  const int a = ops::normalize("take_along_axis", axis, x);
  Tensor at = ops::check_indices("take_along_axis", indices, a, x.shape()[a]);
  // All other axes broadcast.
  Shape ones_at_axis = x.shape(), common = chosen;
  ones_at_axis[a] = common[a] = 1;
  common = ops::broadcast_shapes("take_along_axis", ones_at_axis, common);
  Shape x_shape = common, at_shape = common;
  x_shape[a] = x.shape()[a];
  at_shape[a] = chosen[a];
  if (x.shape() != x_shape) x = broadcast_to(x, x_shape);
  if (at.shape() != at_shape) at = broadcast_to(at, at_shape);
  return ops::take_along(x, at, a);
}

Tensor scatter_add(const Operand& operand, const Operand& indices, const Operand& updates) {
  const tape::OpScope scope(operand);
  const Operand* both[] = {&operand, &updates};
  const DType dtype = ops::common_dtype("scatter_add", both);
  const Tensor x = ops::to_tensor("scatter_add", operand, dtype, "x");
  if (x.rank() == 0) fail<ShapeError>("scatter_add", "x has rank 0; it needs an axis 0 that the indices name");
  const Tensor at = ops::check_indices("scatter_add", indices, 0, x.shape()[0]);
  Tensor terms = ops::to_tensor("scatter_add", updates, dtype, "updates");
  Shape wanted = at.shape();
  for (int d = 1; d < x.rank(); ++d) wanted.push_back(x.shape()[d]);
  if (terms.shape() != wanted) {
    if (ops::broadcast_shapes("scatter_add", terms.shape(), wanted) != wanted)
      fail<ShapeError>(
          "scatter_add",
          "updates have shape {}, which does not broadcast to {}: that of indices, {}, then x's, {}, without axis 0",
          terms.shape(), wanted, at.shape(), x.shape());
    terms = broadcast_to(terms, wanted);
  }
  return ops::scatter_add_at(x, terms, at, 0);
}

Tensor one_hot(const Operand& operand, std::int64_t depth, DType dtype) {
  const tape::OpScope scope(operand);
  const Tensor uncast = ops::to_tensor("one_hot", operand, "indices");
  if (!is_integer(uncast.dtype()))
    fail<TypeError>("one_hot", "indices must be integers, not {}; cast them to int64", uncast.dtype());
  if (depth < 0) fail<ValueError>("one_hot", "depth is {}; it must be at least 0", depth);
  const Tensor indices = ops::cast_to(uncast, DType::int64);
  Shape shape = indices.shape();
  shape.push_back(depth);
  ops::require_dtype("one_hot", dtype);
  ops::require_shape("one_hot", shape);
  return ops::apply(ops::one_hot_primitive, {&indices}, ops::words(dtype, depth));
}

namespace {
constexpr const char* slices_op = "IndexedSlices.dense";
}

void ops::check_slices(const char* op, const IndexedSlices& s) {
  if (!s.values.defined() || !s.indices.defined()) fail<ValueError>(op, "values or indices are empty handles");
  if (s.dense_shape.rank() == 0)
    fail<ValueError>(op, "Tensor conversion requested for IndexedSlices without dense_shape: values have shape {}",
                     s.values.shape());
  Shape wanted = s.dense_shape;
  wanted[0] = s.indices.size();
  if (s.indices.rank() != 1 || s.values.shape() != wanted)
    fail<ShapeError>(
        op, "values of shape {} and indices of shape {} do not fit dense_shape {}: indices [n] go with values {} of it",
        s.values.shape(), s.indices.shape(), s.dense_shape, "[n, rest]");
  detail::require_known(op, s.values);
  detail::require_known(op, s.indices);
}

Tensor IndexedSlices::dense() const {
  ops::check_slices(slices_op, *this);
  if (const std::int64_t elements = dense_shape.elements(); elements >= 100'000'000)
    detail::warn("Converting sparse IndexedSlices to a dense Tensor with " + std::to_string(elements) +
                 " elements. This may consume a large amount of memory.");
  return ops::scatter_rows(values, ops::check_indices(slices_op, indices, 0, dense_shape[0]), dense_shape, 0);
}

Tensor IndexedSlices::dense(DType dtype) const {
  if (values.defined() && values.dtype() != dtype)
    fail<ValueError>(slices_op,
                     "Tensor conversion requested dtype {} for IndexedSlices with dtype {}; cast what dense() gives",
                     dtype, values.dtype());
  return dense();
}

}  // namespace reel
