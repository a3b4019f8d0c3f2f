// Diagonals and triangles of the last two axes. A diagonal is a view; its transpose places it into zeros.
#include <algorithm>
#include <reel/ops/index.hpp>
#include <reel/ops/make.hpp>
#include <reel/ops/reduce.hpp>

#include "kernels/kernels.hpp"
#include "ops/shape/view.hpp"

namespace reel {

namespace ops {

namespace {

Tensor diagonal_view(const Tensor& x, std::int64_t offset) {
  const detail::Block* b = detail::block(x);
  const int rank = b->rank;
  const std::int64_t rows = b->extents()[rank - 2], columns = b->extents()[rank - 1];
  const std::int64_t row_stride = b->strides()[rank - 2], column_stride = b->strides()[rank - 1];
  // Beyond the matrix the diagonal is empty. Comparisons before differences: the offset may be any number.
  std::int64_t length = 0;
  if (offset >= 0 && offset < columns) length = std::min(rows, columns - offset);
  if (offset < 0 && offset > -rows) length = std::min(rows + offset, columns);
  Shape shape(b->extents(), static_cast<std::size_t>(rank - 2)),
      strides(b->strides(), static_cast<std::size_t>(rank - 2));
  shape.push_back(length);
  strides.push_back(row_stride + column_stride);
  std::int64_t start = 0;
  if (length > 0 && b->size > 0) start = offset >= 0 ? offset * column_stride : -offset * row_stride;
  return view(x, start, shape, strides);
}

// ---- diagonal and its transpose; attributes: offset

Tensor place_diagonal(const tape::Rule& rule, const Tensor& g, const Shape& shape, std::int64_t offset);

Tensor diagonal_transposed(const tape::Record& r, const Tensor& g);
Tensor diagonal_again(const tape::Record& r, const Tensor& t) { return diagonal(t, r.attributes()[0]); }
constexpr tape::Rule diagonal_rule = linear<diagonal_transposed, diagonal_again>("diagonal");

Tensor place_diagonal_again(const tape::Record& r, const Tensor& t);
constexpr tape::Rule place_diagonal_rule = linear<diagonal_again, place_diagonal_again>("place_diagonal"),
                     diag_rule = linear<diagonal_again, place_diagonal_again>("diag");
Tensor diagonal_transposed(const tape::Record& r, const Tensor& g) {
  return place_diagonal(place_diagonal_rule, g, r.led(r.shape(0)), r.attributes()[0]);
}
Tensor place_diagonal_again(const tape::Record& r, const Tensor& t) {
  return place_diagonal(place_diagonal_rule, t, r.output_shape(), r.attributes()[0]);
}

Tensor place_diagonal(const tape::Rule& rule, const Tensor& g, const Shape& shape, std::int64_t offset) {
  const Tensor y = zeros(shape, g.dtype());
  loops::copy(g, diagonal_view(y, offset));
  const std::int64_t attributes[] = {offset};
  return finish(rule, g, y, attributes);
}

// ---- triangles; attributes: offset

Tensor tril_again(const tape::Record& r, const Tensor& t) { return tril(t, r.attributes()[0]); }
Tensor triu_again(const tape::Record& r, const Tensor& t) { return triu(t, r.attributes()[0]); }
constexpr tape::Rule tril_rule = linear<tril_again, tril_again>("tril"),
                     triu_rule = linear<triu_again, triu_again>("triu");

// Of row i of each matrix, columns [0, i + offset] are kept (lower), or those from i + offset on. Copied, not
// multiplied by a mask: a NaN outside the triangle leaves no trace.
Tensor triangle(const tape::Rule& rule, const Operand& operand, std::int64_t offset, bool lower) {
  const tape::OpScope scope(operand);
  const Tensor x = to_tensor(rule.name, operand);
  const Shape shape = x.shape();
  if (shape.rank() < 2) fail<ShapeError>(rule.name, "x has shape {}; it must have at least two axes", shape);
  const std::int64_t rows = shape[-2], columns = shape[-1];
  const std::int64_t shift = std::clamp(offset, -rows - 1, columns + 1);
  Tensor y = zeros(shape, x.dtype());
  if (y.size() != 0) {
    Tensor from = reshaped_view(x, {x.size() / rows / columns, rows, columns});
    if (!from.defined()) from = reshaped_view(loops::contiguous(x), {x.size() / rows / columns, rows, columns});
    const std::int64_t* strides = detail::block(from)->strides();
    const std::int64_t outer = strides[0], step = strides[1], inner = strides[2];
    const std::size_t bytes = item_size(x.dtype());
    const auto width = static_cast<std::int64_t>(bytes);
    const std::byte* source = detail::block(from)->data;
    std::byte* target = detail::block(y)->data;
    loops::parallel_for(
        x.size() / columns, std::max<std::int64_t>(1, loops::parallel_threshold / columns),
        [=](std::int64_t begin, std::int64_t end) {
          for (std::int64_t r = begin; r < end; ++r) {
            const std::int64_t i = r % rows, edge = std::clamp<std::int64_t>(i + shift + lower, 0, columns);
            const std::int64_t first = lower ? 0 : edge, last = lower ? edge : columns;
            const std::int64_t at = r / rows * outer + i * step + first * inner;
            kernels::copy({source + at * width, inner}, target + (r * columns + first) * width, 1, last - first, bytes);
          }
        });
  }
  const std::int64_t attributes[] = {offset};
  return finish(rule, x, std::move(y), attributes);
}

Tensor diagonal_of(const char* op, const Tensor& x, std::int64_t offset) {
  if (x.rank() < 2) fail<ShapeError>(op, "x has shape {}; it must have at least two axes", x.shape());
  const std::int64_t attributes[] = {offset};
  return finish(diagonal_rule, x, diagonal_view(x, offset), attributes);
}

}  // namespace

}  // namespace ops

Tensor diag(const Operand& operand, std::int64_t offset) {
  const tape::OpScope scope(operand);
  const Tensor x = ops::to_tensor("diag", operand);
  if (x.rank() == 2) return ops::diagonal_of("diag", x, offset);
  if (x.rank() != 1)
    fail<ShapeError>("diag", "x has shape {}; it must be a vector or a matrix (see diagonal)", x.shape());
  std::int64_t n;
  if (offset == INT64_MIN || __builtin_add_overflow(x.size(), std::abs(offset), &n))
    fail<ShapeError>("diag", "offset {} makes a matrix beyond the largest extent", offset);
  return ops::place_diagonal(ops::diag_rule, x, {n, n}, offset);
}

Tensor diagonal(const Operand& operand, std::int64_t offset) {
  const tape::OpScope scope(operand);
  return ops::diagonal_of("diagonal", ops::to_tensor("diagonal", operand), offset);
}

Tensor tril(const Operand& x, std::int64_t offset) { return ops::triangle(ops::tril_rule, x, offset, true); }
Tensor triu(const Operand& x, std::int64_t offset) { return ops::triangle(ops::triu_rule, x, offset, false); }

Tensor trace(const Operand& operand, std::int64_t offset) {
  const tape::OpScope scope(operand);
  return sum(ops::diagonal_of("trace", ops::to_tensor("trace", operand), offset), -1);
}

}  // namespace reel
