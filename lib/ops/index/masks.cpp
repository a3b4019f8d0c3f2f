// Elements selected by masks, and rows of tables with a padding row.
#include <reel/ops/indexing.hpp>
#include <reel/ops/make.hpp>

#include "csource/steps.hpp"
#include "loops/index/select.hpp"
#include "ops/index/indices.hpp"
#include "ops/sort/order.hpp"

namespace reel {
namespace ops {
namespace {

// The positions of the true elements in row-major order, followed by -1. Attributes: how many.
void infer_true(const Call& call, Metas& out) { out.add(DType::int64, {call.attribute(0)}); }
void evaluate_true(const Call& call, Outputs& out) { loops::find_true(call.input(0), out[0]); }
void write_true(const Call& call, csource::Writer& w) {
  csource::write_steps(w, DType::float64, "temp t0 int32 i0\ncopy i0 t0\n$where_true(t0, o0, #0, #1)",
                       {call.input(0).size(), call.attribute(0)});
}
constexpr Primitive true_primitive = {
    .rule = {.name = "nonzero"}, .infer = infer_true, .evaluate = evaluate_true, .constants = 1, .write_c = write_true};

// `size` of them; -1: as many as there are.
Tensor true_positions(const char* op, const Tensor& mask, std::int64_t size, const char* instead) {
  if (size < 0) {
    require_extents(op, mask, instead);
    size = loops::count_true(mask);
  }
  return apply(true_primitive, {&mask}, words(size));
}

}  // namespace

Tensor to_mask(const char* op, const Operand& operand, const char* name) {
  const Tensor mask = to_tensor(op, operand, name);
  if (mask.dtype() != DType::boolean)
    fail<TypeError>(op, "{} must be boolean, not {}; compare, or take elements by index with index", name,
                    mask.dtype());
  return mask;
}

}  // namespace ops

Tensor masked_fill(const Operand& operand, const Operand& mask_operand, const Operand& value) {
  const tape::OpScope scope(operand);
  const Tensor x = ops::to_tensor("masked_fill", operand);
  const Tensor mask = ops::to_mask("masked_fill", mask_operand, "mask");
  const Tensor filling = ops::in_dtype_of(x, "masked_fill", value, "value");
  static_cast<void>(ops::broadcast_shapes("masked_fill", ops::broadcast_shapes("masked_fill", mask.shape(), x.shape()),
                                          filling.shape()));
  return where(mask, filling, x);
}

Tensor masked_scatter(const Operand& operand, const Operand& mask_operand, const Operand& values) {
  const tape::OpScope scope(operand);
  constexpr const char* op = "masked_scatter";
  const Tensor x = ops::to_tensor(op, operand);
  const Tensor mask = ops::to_mask(op, mask_operand, "mask");
  Tensor list = ops::in_dtype_of(x, op, values, "values");
  if (ops::broadcast_shapes(op, mask.shape(), x.shape()) != x.shape())
    fail<ShapeError>(op, "the mask has shape {}, which does not broadcast to that of x, {}", mask.shape(), x.shape());
  const Tensor chosen = broadcast_to(mask, x.shape());
  if (list.size() == 0) {  // an index of nothing would be out of range where the mask is false, too
    if (ops::true_positions(op, chosen, -1, "give values").size() > 0)
      fail<IndexError>(op, "there are no values for the true elements of the mask");
    return identity(x);
  }
  list = reshape(list, {list.size()});
  const Tensor earlier = cumsum(ops::cast_to(reshape(chosen, {chosen.size()}), DType::int64), 0, true);
  const Tensor places = where(chosen, reshape(earlier, chosen.shape()), 0);
  return where(chosen, ops::gather_at(list, ops::check_indices(op, places, 0, list.size()), 0), x);
}

Tensor boolean_mask(const Operand& operand, const Operand& mask_operand) {
  const tape::OpScope scope(operand);
  const Tensor x = ops::to_tensor("boolean_mask", operand);
  const Tensor mask = ops::to_mask("boolean_mask", mask_operand, "mask");
  const Shape shape = x.shape();
  ops::require_rank("boolean_mask", std::max(x.rank() - mask.rank(), 0) + 1);
  Shape rows{mask.size()};
  bool fits = mask.rank() <= shape.rank();
  for (int d = 0; fits && d < shape.rank(); ++d) {
    if (d >= mask.rank())
      rows.push_back(shape[d]);
    else
      fits = mask.shape()[d] == shape[d];
  }
  if (!fits)
    fail<ShapeError>("boolean_mask", "x has shape {}, the mask {}: the mask must have the first axes of x", shape,
                     mask.shape());
  const Tensor at = ops::true_positions("boolean_mask", mask, -1, "choose with where, or with nonzero of a given size");
  return ops::gather_at(reshape(x, rows), at, 0);
}

Tensor compress(const Operand& condition, const Operand& operand, std::int64_t axis) {
  const tape::OpScope scope(operand);
  const Tensor x = ops::to_tensor("compress", operand);
  const Tensor mask = ops::to_mask("compress", condition, "condition");
  const int a = ops::normalize("compress", axis, x);
  if (mask.rank() != 1 || mask.size() > x.shape()[a])
    fail<ShapeError>("compress", "the condition has shape {}, x {}: it must have one axis, no longer than axis {} of x",
                     mask.shape(), x.shape(), a);
  const Tensor at = ops::true_positions("compress", mask, -1, "choose with where, or with nonzero of a given size");
  return ops::gather_at(x, at, a);
}

std::vector<Tensor> nonzero(const Operand& operand, const NonzeroOptions& options) {
  const tape::OpScope scope(operand);
  const Tensor x = ops::to_tensor("nonzero", operand);
  if (options.size < -1) fail<ValueError>("nonzero", "size is {}; it must be at least 0", options.size);
  const Tensor mask = ops::cast_to(x, DType::boolean);
  ops::require_shape("nonzero", {std::max<std::int64_t>(options.size, 0)});
  Tensor at = ops::true_positions("nonzero", mask, options.size, "give a size: nonzero(x, {.size = n})");
  const Tensor missing = options.size < 0 ? Tensor() : less(at, 0);
  std::vector<Tensor> indices(static_cast<std::size_t>(x.rank()));
  for (int d = x.rank(); d-- > 0;) {
    const std::int64_t extent = std::max<std::int64_t>(x.shape()[d], 1);
    const Tensor own = d == 0 ? at : mod(at, extent);
    indices[static_cast<std::size_t>(d)] = missing.defined() ? where(missing, options.fill, own) : own;
    if (d > 0) at = floor_divide(at, extent);
  }
  return indices;
}

namespace ops {
namespace {

// The chosen rows of a table, and their positions in it.
struct TableRows {
  Tensor table, positions, rows;
  TableRows(const Operand& operand, const Operand& ids) : table(to_tensor("embedding", operand, "table")) {
    if (table.rank() == 0) fail<ShapeError>("embedding", "the table has rank 0; it needs an axis of rows");
    positions = check_indices("embedding", ids, 0, table.shape()[0]);
    require_rank("embedding", table.rank() - 1 + positions.rank());
    rows = gather_at(table, positions, 0);
  }
};

}  // namespace
}  // namespace ops

Tensor embedding(const Operand& table, const Operand& ids) {
  const tape::OpScope scope(table);
  return ops::TableRows(table, ids).rows;
}
Tensor embedding(const Operand& table, const Operand& ids, std::int64_t padding_id) {
  const tape::OpScope scope(table);
  const ops::TableRows t(table, ids);
  const std::int64_t count = t.table.shape()[0], padding = padding_id < 0 ? padding_id + count : padding_id;
  if (padding < 0 || padding >= count)
    fail<IndexError>("embedding", "padding_id {} is out of range for a table of {} rows", padding_id, count);
  if (!ops::followed(t.rows)) return t.rows;
  Shape per_row = t.positions.shape();
  for (int d = 1; d < t.table.rank(); ++d) per_row.push_back(1);
  return where(reshape(equal(t.positions, padding), per_row), stop_gradient(t.rows), t.rows);
}

}  // namespace reel
