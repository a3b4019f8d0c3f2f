// Diagonals and triangles of the last two axes. A diagonal is a view; its transpose places it into zeros.
#include <algorithm>
#include <reel/ops/index.hpp>
#include <reel/ops/reduce.hpp>

#include "loops/index/triangle.hpp"
#include "ops/attributes.hpp"
#include "ops/index/indices.hpp"
#include "ops/index/write.hpp"
#include "ops/shape/view.hpp"

namespace reel {

namespace ops {

namespace {

// Strides and offset of a diagonal of the last two axes.
struct DiagonalLayout {
  std::int64_t start = 0;
  Shape shape, strides;

  DiagonalLayout(const detail::Block* x, std::int64_t offset)
      : shape(x->extents(), static_cast<std::size_t>(x->rank - 2)),
        strides(x->strides(), static_cast<std::size_t>(x->rank - 2)) {
    const int rank = x->rank;
    const std::int64_t rows = x->extents()[rank - 2], columns = x->extents()[rank - 1];
    const std::int64_t row_stride = x->strides()[rank - 2], column_stride = x->strides()[rank - 1];
    // Outside the matrix the diagonal is empty. Compared before subtracting: the offset may be any int64.
    std::int64_t length = 0;
    if (offset >= 0 && offset < columns) length = std::min(rows, columns - offset);
    if (offset < 0 && offset > -rows) length = std::min(rows + offset, columns);
    shape.push_back(length);
    strides.push_back(row_stride + column_stride);
    if (length > 0 && x->size > 0) start = offset >= 0 ? offset * column_stride : -offset * row_stride;
  }
};

// ---- diagonal and its transpose; attributes: the offset, and of place_diagonal the extents of the result

Tensor take_diagonal(const Tensor& x, std::int64_t offset);

Tensor diagonal_transposed(const tape::Record& r, const Tensor& g) {
  return place_diagonal(g, r.attributes()[0], r.batched(r.shape(0)));
}
Tensor diagonal_again(const tape::Record& r, const Tensor& t) { return take_diagonal(t, r.attributes()[0]); }
Tensor place_diagonal_again(const tape::Record& r, const Tensor& t) {
  return place_diagonal(t, r.attributes()[0], r.output_shape());
}

void infer_diagonal(const Call& call, Metas& out) {
  const detail::Block* x = detail::block(call.input(0));
  const DiagonalLayout layout(x, call.attribute(0));
  out.add_view(0, x->dtype, layout.start, layout.shape, layout.strides);
}
constexpr Primitive diagonal_primitive = {.rule = linear<diagonal_transposed, diagonal_again>("diagonal"),
                                          .infer = infer_diagonal,
                                          .evaluate = evaluate_view};

void infer_place_diagonal(const Call& call, Metas& out) {
  out.add(call.input(0).dtype(), shape_behind(call.attributes, 1));
}
void evaluate_place_diagonal(const Call& call, Outputs& out) {
  const std::int64_t offset = call.attribute(0);
  const std::int64_t row = offset < 0 ? -std::max(offset, -INT64_MAX) : 0;
  loops::place_diagonal(call.input(0), row, std::max<std::int64_t>(offset, 0), out[0]);
}
constexpr Primitive place_diagonal_primitive = {.rule = linear<diagonal_again, place_diagonal_again>("place_diagonal"),
                                                .infer = infer_place_diagonal,
                                                .evaluate = evaluate_place_diagonal,
                                                .write_c = write_place_diagonal},
                    diag_primitive = {.rule = linear<diagonal_again, place_diagonal_again>("diag"),
                                      .infer = infer_place_diagonal,
                                      .evaluate = evaluate_place_diagonal,
                                      .write_c = write_place_diagonal};

Tensor take_diagonal(const Tensor& x, std::int64_t offset) { return apply(diagonal_primitive, {&x}, words(offset)); }
}  // namespace

Tensor place_diagonal(const Tensor& x, std::int64_t offset, const Shape& shape) {
  return apply(place_diagonal_primitive, {&x}, shaped(words(offset), shape));
}

namespace {

// ---- triangles; attributes: the offset

Tensor tril_again(const tape::Record& r, const Tensor& t) { return tril(t, r.attributes()[0]); }
Tensor triu_again(const tape::Record& r, const Tensor& t) { return triu(t, r.attributes()[0]); }

void infer_triangle(const Call& call, Metas& out) { out.add(call.input(0).dtype(), call.input(0).shape()); }
void evaluate_tril(const Call& call, Outputs& out) {
  loops::copy_lower_triangle(call.input(0), call.attribute(0), out[0]);
}
void evaluate_triu(const Call& call, Outputs& out) {
  loops::copy_upper_triangle(call.input(0), call.attribute(0), out[0]);
}
constexpr Primitive tril_primitive = {.rule = linear<tril_again, tril_again>("tril"),
                                      .infer = infer_triangle,
                                      .evaluate = evaluate_tril,
                                      .write_c = write_tril},
                    triu_primitive = {.rule = linear<triu_again, triu_again>("triu"),
                                      .infer = infer_triangle,
                                      .evaluate = evaluate_triu,
                                      .write_c = write_triu};

Tensor triangle(const Primitive& primitive, const Operand& operand, std::int64_t offset) {
  const tape::OpScope scope(operand);
  const char* op = primitive.rule.name;
  const Tensor x = to_tensor(op, operand);
  if (x.rank() < 2) fail<ShapeError>(op, "x has shape {}; it must have at least two axes", x.shape());
  return apply(primitive, {&x}, words(offset));
}

Tensor diagonal_of(const char* op, const Tensor& x, std::int64_t offset) {
  if (x.rank() < 2) fail<ShapeError>(op, "x has shape {}; it must have at least two axes", x.shape());
  return take_diagonal(x, offset);
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
  return ops::apply(ops::diag_primitive, {&x}, ops::shaped(ops::words(offset), {n, n}));
}

Tensor diagonal(const Operand& operand, std::int64_t offset) {
  const tape::OpScope scope(operand);
  return ops::diagonal_of("diagonal", ops::to_tensor("diagonal", operand), offset);
}

Tensor tril(const Operand& x, std::int64_t offset) { return ops::triangle(ops::tril_primitive, x, offset); }
Tensor triu(const Operand& x, std::int64_t offset) { return ops::triangle(ops::triu_primitive, x, offset); }

Tensor trace(const Operand& operand, std::int64_t offset) {
  const tape::OpScope scope(operand);
  return sum(ops::diagonal_of("trace", ops::to_tensor("trace", operand), offset), -1);
}

}  // namespace reel
