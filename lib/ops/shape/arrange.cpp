// Rearrangements composed of other ops: transposes and flips, gathers, and slices. block_diag has a rule.
#include <algorithm>
#include <numeric>
#include <reel/ops/arranging.hpp>
#include <reel/ops/indexing.hpp>
#include <reel/ops/make.hpp>

#include "csource/writer.hpp"
#include "loops/loops.hpp"
#include "loops/make/fill.hpp"
#include "ops/index/indices.hpp"
#include "ops/shape/view.hpp"

namespace reel {
namespace ops {
namespace {

Tensor vector_operand(const char* op, const Operand& operand, const char* name) {
  const Tensor x = to_tensor(op, operand, name);
  if (x.rank() != 1) fail<ShapeError>(op, "{} has shape {}; it must have one axis", name, x.shape());
  return x;
}

// Row indices i and column indices j of matrices [n, m], as a column and a row that broadcast.
Tensor row_numbers(std::int64_t n) { return reshape(arange(n), {n, 1}); }

// The elements of a list at positions that are in range.
Tensor at_places(const Tensor& list, const Tensor& places) { return gather_at(list, contiguous(places), 0); }

// ---- block_diag: matrices of one dtype

struct BlockPlace {
  std::int64_t row = 0, column = 0;
};
void infer_block_diag(const Call& call, Metas& out) {
  Shape shape{0, 0};
  for (const Tensor* block : call.inputs) {
    shape[0] += block->shape()[0];
    shape[1] += block->shape()[1];
  }
  out.add(call.input(0).dtype(), shape);
}
void evaluate_block_diag(const Call& call, Outputs& out) {
  const Tensor& y = out[0];
  BlockPlace at;
  for (const Tensor* block : call.inputs) {
    const std::int64_t rows = block->shape()[0], columns = block->shape()[1];
    const Tensor band = section(y, 0, at.row, rows);
    if (band.size() != 0) loops::fill_zero(band);
    if (block->size() != 0) loops::copy(*block, section(band, 1, at.column, columns));
    at.row += rows;
    at.column += columns;
  }
}
void block_diag_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  BlockPlace at;
  for (std::size_t i = 0; i < dx.size(); ++i) {
    const std::int64_t rows = r.attributes()[2 * i], columns = r.attributes()[2 * i + 1];
    if (r.wanted(i))
      dx[i] = slice(g[0], {ellipsis, range(at.row, at.row + rows), range(at.column, at.column + columns)});
    at.row += rows;
    at.column += columns;
  }
}
void block_diag_jvp(const tape::Record& r, std::span<const Tensor> t, std::span<Tensor> dy) {
  detail::List<Tensor> blocks(t.begin(), t.end());
  for (std::size_t i = 0; i < blocks.size(); ++i)
    if (!blocks[i].defined()) blocks[i] = zeros({r.attributes()[2 * i], r.attributes()[2 * i + 1]}, r.output_dtype());
  dy[0] = block_diag(blocks);
}
void write_block_diag(const Call& call, csource::Writer& w) {
  const csource::Array& y = w.output(0);
  w.fill(y, csource::Writer::zero(y.dtype));
  BlockPlace at;
  for (std::size_t k = 0; k < call.inputs.size(); ++k) {
    const csource::Array& block = w.input(k);
    const std::int64_t rows = block.shape[0], columns = block.shape[1];
    if (block.size() != 0) w.copy(block, csource::section(csource::section(y, 0, at.row, rows), 1, at.column, columns));
    at.row += rows;
    at.column += columns;
  }
}
// Attributes: rows and columns of each block.
constexpr Primitive block_diag_primitive = {.rule = batched({"block_diag", block_diag_vjp, block_diag_jvp}),
                                            .infer = infer_block_diag,
                                            .evaluate = evaluate_block_diag,
                                            .write_c = write_block_diag};

struct Diagonal {
  std::int64_t row, column, count;
  Diagonal(std::int64_t rows, std::int64_t columns, std::int64_t offset)
      : row(std::min(rows, std::max<std::int64_t>(-std::max(offset, -rows), 0))),
        column(std::min(columns, std::max<std::int64_t>(std::min(offset, columns), 0))),
        count(std::min(rows - row, columns - column)) {}
};

Tensor with_diagonal(const Tensor& x, const Operand& values, const Diagonal& d) {
  return index_update(x, {ellipsis, arange(d.row, d.row + d.count), arange(d.column, d.column + d.count)}, values);
}

// The order of transpose that moves axes source to destination.
detail::List<std::int64_t> moved_order(const Tensor& x, const Axes& source, const Axes& destination) {
  constexpr const char* op = "moveaxis";
  constexpr std::int64_t free = -1;
  const Shape &from = source.list(), &to = destination.list();
  if (source.all() || destination.all() || from.rank() != to.rank())
    fail<ValueError>(op, "source {} and destination {} must have as many axes", from, to);
  detail::List<std::int64_t> order(static_cast<std::size_t>(x.rank()), free);
  detail::List<bool> moved(order.size());
  for (int k = 0; k < from.rank(); ++k) {
    const auto a = static_cast<std::size_t>(normalize(op, from[k], x)),
               b = static_cast<std::size_t>(normalize(op, to[k], x));
    if (moved[a] || order[b] != free)
      fail<ValueError>(op, "an axis of shape {} occurs twice in source {} or destination {}", x.shape(), from, to);
    moved[a] = true;
    order[b] = static_cast<std::int64_t>(a);
  }
  std::size_t next = 0;
  for (std::int64_t& axis : order) {
    if (axis != free) continue;
    while (moved[next]) ++next;
    axis = static_cast<std::int64_t>(next++);
  }
  return order;
}

// The shape of x with an axis replaced by `extents`.
Shape unflatten_shape(const Tensor& x, int axis, const Shape& extents) {
  std::int64_t known = 1;
  int unknown = -1;
  for (int d = 0; d < extents.rank(); ++d) {
    if (extents[d] == -1 && unknown < 0)
      unknown = d;
    else if (extents[d] < 0 || __builtin_mul_overflow(known, extents[d], &known))
      fail<ShapeError>("unflatten", "extents {} do not make up axis {} of x, of shape {}", extents, axis, x.shape());
  }
  const std::int64_t n = x.shape()[axis];
  if (unknown < 0 ? known != n : known == 0 || n % known != 0)
    fail<ShapeError>("unflatten", "extents {} do not make up axis {} of x, of shape {}", extents, axis, x.shape());
  require_rank("unflatten", x.rank() - 1 + extents.rank());
  Shape shape;
  for (int d = 0; d < axis; ++d) shape.push_back(x.shape()[d]);
  for (int d = 0; d < extents.rank(); ++d) shape.push_back(d == unknown ? n / known : extents[d]);
  for (int d = axis + 1; d < x.rank(); ++d) shape.push_back(x.shape()[d]);
  return shape;
}

}  // namespace
}  // namespace ops

Tensor matrix_transpose(const Operand& operand) {
  const tape::OpScope scope(operand);
  const Tensor x = ops::to_tensor("matrix_transpose", operand);
  if (x.rank() < 2) fail<ShapeError>("matrix_transpose", "x has shape {}; it must have two axes", x.shape());
  return swapaxes(x, -2, -1);
}

Tensor moveaxis(const Operand& operand, const Axes& source, const Axes& destination) {
  const tape::OpScope scope(operand);
  const Tensor x = ops::to_tensor("moveaxis", operand);
  const detail::List<std::int64_t> order = ops::moved_order(x, source, destination);
  return order.empty() ? identity(x) : transpose(x, order);
}

Tensor unflatten(const Operand& operand, std::int64_t axis, const Shape& extents) {
  const tape::OpScope scope(operand);
  const Tensor x = ops::to_tensor("unflatten", operand);
  return reshape(x, ops::unflatten_shape(x, ops::normalize("unflatten", axis, x), extents));
}

Tensor swapaxes(const Operand& operand, std::int64_t first, std::int64_t second) {
  const tape::OpScope scope(operand);
  const Tensor x = ops::to_tensor("swapaxes", operand);
  detail::List<std::int64_t> order(static_cast<std::size_t>(x.rank()));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  const int a = ops::normalize("swapaxes", first, x), b = ops::normalize("swapaxes", second, x);
  std::swap(order[static_cast<std::size_t>(a)], order[static_cast<std::size_t>(b)]);
  return x.rank() == 0 ? x : transpose(x, order);
}

Tensor flatten(const Operand& operand) {
  const tape::OpScope scope(operand);
  const Tensor x = ops::to_tensor("flatten", operand);
  return reshape(x, {x.size()});
}

Tensor rot90(const Operand& operand, std::int64_t k, std::int64_t first, std::int64_t second) {
  const tape::OpScope scope(operand);
  const Tensor x = ops::to_tensor("rot90", operand);
  const int a = ops::normalize("rot90", first, x), b = ops::normalize("rot90", second, x);
  if (a == b) fail<ValueError>("rot90", "both axes are {}; they must differ", a);
  const std::int64_t quarters = (k % 4 + 4) % 4;
  if (quarters == 0) return identity(x);
  if (quarters == 2) return flip(x, {a, b});
  return quarters == 1 ? swapaxes(flip(x, b), a, b) : flip(swapaxes(x, a, b), b);
}

Tensor diag_embed(const Operand& operand, std::int64_t offset) {
  const tape::OpScope scope(operand);
  const Tensor x = ops::to_tensor("diag_embed", operand);
  if (x.rank() == 0) fail<ShapeError>("diag_embed", "x has rank 0; it needs an axis");
  ops::require_rank("diag_embed", x.rank() + 1);
  constexpr std::int64_t most = std::int64_t{1} << 40;  // its square exceeds the elements of a tensor
  if (offset < -most || offset > most)
    fail<ShapeError>("diag_embed", "offset {} gives matrices that no memory holds", offset);
  const std::int64_t n = x.shape()[-1] + std::abs(offset);
  Shape shape = x.shape();
  shape[-1] = n;
  shape.push_back(n);
  ops::require_shape("diag_embed", shape);
  return ops::place_diagonal(x, offset, shape);
}

Tensor set_diagonal(const Operand& operand, const Operand& values, std::int64_t offset) {
  const tape::OpScope scope(operand);
  const Tensor x = ops::to_tensor("set_diagonal", operand);
  if (x.rank() < 2) fail<ShapeError>("set_diagonal", "x has shape {}; it needs two axes", x.shape());
  const ops::Diagonal d(x.shape()[-2], x.shape()[-1], offset);
  Shape shape = x.shape();
  shape.pop_back();
  shape[-1] = d.count;
  return ops::with_diagonal(x, ops::values_for("set_diagonal", x, values, shape), d);
}

Tensor band_part(const Operand& operand, std::int64_t lower, std::int64_t upper) {
  const tape::OpScope scope(operand);
  const Tensor x = ops::to_tensor("band_part", operand);
  if (x.rank() < 2) fail<ShapeError>("band_part", "x has shape {}; it needs two axes", x.shape());
  const Tensor above = lower < 0 ? x : triu(x, -lower);
  return upper < 0 ? lower < 0 ? identity(above) : above : tril(above, upper);
}

Tensor block_diag(std::span<const Tensor> blocks, const detail::CallLine& at) {
  const tape::CallScope scope(at);
  ops::CommonDType common;
  std::int64_t rows = 0, columns = 0;
  for (const Tensor& block : blocks) {
    common.add("block_diag", block);
    if (block.rank() != 2) fail<ShapeError>("block_diag", "a block has shape {}; it must have two axes", block.shape());
    rows += block.shape()[0];
    columns += block.shape()[1];
  }
  if (blocks.empty()) fail<ValueError>("block_diag", "there are no blocks; pass at least one");
  ops::require_shape("block_diag", {rows, columns});
  detail::List<Tensor> cast;
  detail::List<const Tensor*> in;
  detail::List<std::int64_t> extents;
  for (const Tensor& block : blocks) cast.push_back(ops::cast_to(block, common.dtype()));
  for (const Tensor& block : cast) {
    in.push_back(&block);
    for (int d : {0, 1}) extents.push_back(block.shape()[d]);
  }
  return ops::apply(ops::block_diag_primitive, in, extents);
}
Tensor block_diag(std::initializer_list<Tensor> blocks, const detail::CallLine& at) {
  return block_diag(std::span(blocks.begin(), blocks.size()), at);
}

std::vector<Tensor> meshgrid(std::span<const Tensor> vectors, bool ij, const detail::CallLine& at) {
  const tape::CallScope scope(at);
  ops::require_rank("meshgrid", vectors.size() > max_rank ? max_rank + 1 : static_cast<int>(vectors.size()));
  Shape common;
  for (const Tensor& v : vectors) common.push_back(ops::vector_operand("meshgrid", v, "a vector").size());
  ops::require_shape("meshgrid", common);
  std::vector<Tensor> grids;
  for (std::size_t k = 0; k < vectors.size(); ++k) {
    Shape own = common;
    std::fill(own.begin(), own.end(), 1);
    own[static_cast<std::int64_t>(k)] = vectors[k].size();
    const Tensor grid = broadcast_to(reshape(vectors[k], own), common);
    grids.push_back(ij || vectors.size() < 2 ? grid : swapaxes(grid, 0, 1));
  }
  return grids;
}
std::vector<Tensor> meshgrid(std::initializer_list<Tensor> vectors, bool ij, const detail::CallLine& at) {
  return meshgrid(std::span(vectors.begin(), vectors.size()), ij, at);
}

Tensor toeplitz(const Operand& column_operand, const Operand& row_operand) {
  const tape::OpScope scope(column_operand);
  const Tensor column = ops::vector_operand("toeplitz", column_operand, "column"),
               row = ops::vector_operand("toeplitz", row_operand, "row");
  const std::int64_t n = column.size(), m = row.size();
  ops::require_shape("toeplitz", {n, m});
  const Tensor list = concatenate({flip(slice(row, {range_from(1)})), column});
  return ops::at_places(list, ops::row_numbers(n) + flip(arange(m)));
}

Tensor hankel(const Operand& column_operand, const Operand& row_operand) {
  const tape::OpScope scope(column_operand);
  const Tensor column = ops::vector_operand("hankel", column_operand, "column"),
               row = ops::vector_operand("hankel", row_operand, "row");
  const std::int64_t n = column.size(), m = row.size();
  ops::require_shape("hankel", {n, m});
  return ops::at_places(concatenate({column, slice(row, {range_from(1)})}), ops::row_numbers(n) + arange(m));
}

Tensor circulant(const Operand& operand) {
  const tape::OpScope scope(operand);
  const Tensor column = ops::vector_operand("circulant", operand, "column");
  const std::int64_t n = column.size();
  ops::require_shape("circulant", {n, n});
  return ops::at_places(column, mod(ops::row_numbers(n) - arange(n), std::max<std::int64_t>(n, 1)));
}

}  // namespace reel
