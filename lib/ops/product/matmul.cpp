// Matrix products: matmul, and dot, outer and tensordot as products of reshaped operands. One rule serves all; a
// transposed view is never copied, BLAS reads it as such.
#include "ops/product/matmul.hpp"

#include <array>
#include <reel/ops/index.hpp>
#include <reel/ops/pointwise.hpp>
#include <string>

#include "csource/writer.hpp"
#include "loops/product/matmul.hpp"
#include "ops/apply/apply.hpp"
#include "ops/engine.hpp"

namespace reel {
namespace ops {
namespace {

using reel::detail::block;

// Attributes of the rule.
enum : std::size_t { transposed_a, transposed_b, rank_a, rank_b };

// A vector as a matrix of one row, held in `scratch`. The same for the cotangent of a result that lost an axis.
const Tensor& as_matrix(const Tensor& x, int rank, std::int64_t new_axis, Tensor& scratch) {
  return rank == 1 ? scratch = expand_dims(x, new_axis) : x;
}

// All rows of all batches as one matrix, behind the first `lead` axes.
Tensor flatten(const Tensor& x, int lead = 0) {
  const Shape from = x.shape();
  Shape shape(from.data(), static_cast<std::size_t>(lead));
  shape.push_back(-1);
  shape.push_back(from.back());
  return reshape(x, shape);
}

// The factor as its transpose enters a derivative: conjugated; the caller transposes.
const Tensor& conjugate_into(const Tensor& x, Tensor& scratch) {
  return is_complex(block(x)->dtype) ? scratch = conj(x) : x;
}

// Rows of the identity times a matrix: rows of the matrix, made contiguous for the rules that follow.
Tensor rows_of(const Tensor& x, bool transposed, std::int64_t first, std::int64_t count) {
  Tensor scratch;
  const Tensor& matrix = conjugate_into(x, scratch);
  return contiguous(slice(transposed ? swap_matrix_axes(matrix) : matrix, {range(first, first + count)}));
}

// A matrix product as the cotangent of input i: added to the sum so far, if that may be overwritten.
Tensor contribution(const tape::Record& r, std::size_t i, const Tensor& a, const Tensor& b,
                    const MatmulOptions& options) {
  const bool matrices = block(a)->rank == 2 && block(b)->rank == 2 && r.shape(i).rank() == 2;
  Tensor sum = matrices && !is_half(block(a)->dtype) ? r.take_sum(i) : Tensor();
  if (!sum.defined()) return product("matmul", a, b, options);
  loops::matmul(a, b, {options.transpose_a, options.transpose_b}, sum, loops::Into::add);
  return sum;
}

void matmul_vjp(const tape::Record& r, std::span<const Tensor> cotangents, std::span<Gradient> dx) {
  const auto attributes = r.attributes();
  const int ra = static_cast<int>(attributes[rank_a]), rb = static_cast<int>(attributes[rank_b]);
  // A vector on the right is a transposed row: rows of its cotangents stack to one product.
  const bool ta = attributes[transposed_a], tb = attributes[transposed_b] || rb == 1;
  // reshape cannot infer -1 if an extent is 0.
  const bool empty = cotangents[0].size() == 0;
  Tensor scratch[7];
  const Tensor& row = as_matrix(cotangents[0], ra, rb == 1 ? -1 : -2, scratch[0]);
  const Tensor& g = as_matrix(row, rb, -1, scratch[1]);
  // A Jacobian by, or of, a product with a vector starts with a matrix that is known.
  const std::int64_t unit = r.first_identity_row(cotangents[0]);
  if (r.wanted(0) && unit >= 0 && ra == 1 && rb == 2) {
    dx[0] = rows_of(r.saved(1), !tb, unit, cotangents[0].shape()[0]);
  } else if (r.wanted(0)) {
    const Tensor& b = as_matrix(conjugate_into(r.saved(1), scratch[5]), rb, 0, scratch[2]);
    Tensor da = ta ? contribution(r, 0, b, g, {tb, true}) : contribution(r, 0, g, b, {false, !tb});
    dx[0] = ra == 1 ? reshape(sum_to(r, da, {1, r.shape(0)[0]}), r.batched(r.shape(0)))
                    : sum_to(r, std::move(da), r.shape(0));
  }
  if (r.wanted(1) && unit >= 0 && ra == 2 && rb == 1) {
    dx[1] = rows_of(r.saved(0), ta, unit, cotangents[0].shape()[0]);
  } else if (r.wanted(1)) {
    const Tensor *a = &as_matrix(conjugate_into(r.saved(0), scratch[6]), ra, 0, scratch[3]), *rows = &g;
    if (rb <= 2 && a->rank() > 2 && !ta && !empty && a->size() > 0) {  // one product sums over the batches
      a = &(scratch[3] = flatten(*a));
      rows = &(scratch[4] = flatten(g, r.batch_rank()));
    }
    Tensor db = tb ? contribution(r, 1, *rows, *a, {true, ta}) : contribution(r, 1, *a, *rows, {!ta, false});
    dx[1] = rb == 1 ? reshape(sum_to(r, db, {1, r.shape(1)[0]}), r.batched(r.shape(1)))
                    : sum_to(r, std::move(db), r.shape(1));
  }
}

void matmul_jvp(const tape::Record& r, std::span<const Tensor> dx, std::span<Tensor> dy) {
  const MatmulOptions options{r.attributes()[transposed_a] != 0, r.attributes()[transposed_b] != 0};
  if (r.wanted(0)) dy[0] = product("matmul", dx[0], r.saved(1), options);
  if (r.wanted(1)) {
    const Tensor other = product("matmul", r.saved(0), dx[1], options);
    dy[0] = dy[0].defined() ? add(dy[0], other) : other;
  }
}

std::int64_t extent(const Tensor& x, int from_back) { return block(x)->extents()[block(x)->rank - from_back]; }

[[noreturn, gnu::cold]] void fail_inner(const char* op, const Tensor& a, const Tensor& b, const MatmulOptions& options,
                                        std::int64_t inner_a, std::int64_t inner_b) {
  const auto said = [](const Tensor& x, bool transposed) {
    return to_string(x.shape()) + (transposed ? " transposed" : "");
  };
  std::string remedy;
  const auto suggest = [&](const char* name, const Tensor& x, bool transposed, const char* option) {
    remedy = "; did you mean ";
    if (transposed)
      remedy.append(name).append(" untransposed?");
    else if (x.rank() == 2)
      remedy.append("transpose(").append(name).append(")?");
    else
      remedy.append(option).append("?");
  };
  if (b.rank() >= 2 && (options.transpose_b ? extent(b, 2) : extent(b, 1)) == inner_a)
    suggest("b", b, options.transpose_b, "transpose_b");
  else if (a.rank() >= 2 && (options.transpose_a ? extent(a, 1) : extent(a, 2)) == inner_b)
    suggest("a", a, options.transpose_a, "transpose_a");
  fail<ShapeError>(op, "inner dimensions differ: a is {}, b is {}{}", said(a, options.transpose_a),
                   said(b, options.transpose_b), remedy);
}

// The batch axes of the result.
Shape common_batch(const char* op, const Tensor& a, const Tensor& b) {
  const Shape sa = a.shape(), sb = b.shape();
  const int na = std::max(0, sa.rank() - 2), nb = std::max(0, sb.rank() - 2), n = std::max(na, nb);
  Shape batch;
  for (int d = 0; d < n; ++d) {
    const std::int64_t ea = d - (n - na) < 0 ? 1 : sa[d - (n - na)], eb = d - (n - nb) < 0 ? 1 : sb[d - (n - nb)];
    if (ea != eb && ea != 1 && eb != 1)
      fail<ShapeError>(op, "batch axes do not broadcast: a is {}, b is {} (all but the last two must agree or be 1)",
                       sa, sb);
    batch.push_back(ea == 1 ? eb : ea);
  }
  return batch;
}

Shape product_shape(const Tensor& a, const Tensor& b, bool transpose_a, bool transpose_b) {
  const int ra = block(a)->rank, rb = block(b)->rank;
  Shape shape = ra <= 2 && rb <= 2 ? Shape() : common_batch("matmul", a, b);
  if (ra > 1) shape.push_back(extent(a, transpose_a ? 1 : 2));
  if (rb > 1) shape.push_back(extent(b, transpose_b ? 2 : 1));
  return shape;
}

void infer_matmul(const Call& call, Metas& out) {
  const Tensor &a = call.input(0), &b = call.input(1);
  out.add(block(a)->dtype, product_shape(a, b, call.attribute(transposed_a) != 0, call.attribute(transposed_b) != 0));
}

void evaluate_matmul(const Call& call, Outputs& out) {
  loops::matmul(call.input(0), call.input(1), {call.attribute(transposed_a) != 0, call.attribute(transposed_b) != 0},
                out[0]);
}

// The last two axes of a factor, transposed if it says so; a vector as a row or a column.
csource::Array factor(csource::Array x, bool transposed, bool is_left) {
  if (x.rank() == 1) {
    x.shape.insert(is_left ? 0 : 1, 1);
    x.strides.insert(is_left ? 0 : 1, 0);
  } else if (transposed) {
    const int last = x.rank() - 1;
    std::swap(x.shape.begin()[last], x.shape.begin()[last - 1]);
    std::swap(x.strides.begin()[last], x.strides.begin()[last - 1]);
  }
  return x;
}
void write_matmul(const Call& call, csource::Writer& w) {
  const csource::Array a = factor(w.input(0), call.attribute(transposed_a) != 0, true),
                       b = factor(w.input(1), call.attribute(transposed_b) != 0, false);
  Shape shape = w.output(0).shape;
  if (w.input(0).rank() == 1) shape.insert(shape.rank() - (w.input(1).rank() == 1 ? 0 : 1), 1);
  if (w.input(1).rank() == 1) shape.push_back(1);
  w.batched_product(a, b, csource::reshaped(w.output(0), shape));
}

constexpr Primitive matmul_primitive = {.rule = batched({"matmul", matmul_vjp, matmul_jvp}),
                                        .infer = infer_matmul,
                                        .evaluate = evaluate_matmul,
                                        .keeps = {keep_input(0, 0b10), keep_input(1, 0b01)},
                                        .write_c = write_matmul};

void infer_matmul_added(const Call& call, Metas& out) { out.add_like(call.input(0)); }

void evaluate_matmul_added(const Call& call, Outputs& out) {
  loops::add_matmul(call.input(0), call.input(1), call.input(2),
                    {call.attribute(transposed_a) != 0, call.attribute(transposed_b) != 0}, out[0]);
}

constexpr Primitive matmul_added_primitive = {
    .rule = {"add matmul"}, .infer = infer_matmul_added, .evaluate = evaluate_matmul_added};

}  // namespace

const Primitive& matmul_of_tensors() noexcept { return matmul_primitive; }
const Primitive& matmul_added() noexcept { return matmul_added_primitive; }
bool adds_like_two_ops(const Tensor& a, const Tensor& b, Attributes attributes) {
  if (block(a)->rank != 2 || block(b)->rank != 2) return false;
  const bool ta = attributes[transposed_a], tb = attributes[transposed_b];
  return loops::adds_complete_sums(block(a)->dtype, extent(a, ta ? 1 : 2), extent(b, tb ? 2 : 1),
                                   extent(a, ta ? 2 : 1));
}
std::int64_t terms_of_product(const Tensor& a, Attributes attributes) {
  return extent(a, attributes[transposed_a] ? 2 : 1);
}
bool matmul_then(Inputs inputs, Attributes attributes, const Tensor& out, const loops::RangeFunction* then) {
  return loops::matmul_then(*inputs[0], *inputs[1], {attributes[transposed_a] != 0, attributes[transposed_b] != 0}, out,
                            then);
}

Tensor product(const char* op, const Tensor& a, const Tensor& b, const MatmulOptions& options) {
  const DType dtype = block(a)->dtype;
  if (is_half(dtype)) return cast(product(op, cast(a, DType::float32), cast(b, DType::float32), options), dtype);
  const int ra = block(a)->rank, rb = block(b)->rank;
  if (ra == 0 || rb == 0)
    fail<ShapeError>(op, "{} is a scalar: a is {}, b is {}; use multiply", ra == 0 ? "a" : "b", a.shape(), b.shape());
  if ((options.transpose_a && ra == 1) || (options.transpose_b && rb == 1))
    fail<ShapeError>(op, "a vector cannot be transposed: a is {}, b is {}; leave transpose_{} off", a.shape(),
                     b.shape(), options.transpose_a && ra == 1 ? "a" : "b");
  const std::int64_t *ea = block(a)->extents() + ra, *eb = block(b)->extents() + rb;
  const std::int64_t inner_a = ea[options.transpose_a ? -2 : -1],
                     inner_b = eb[options.transpose_b || rb == 1 ? -1 : -2];
  if (inner_a != inner_b) fail_inner(op, a, b, options, inner_a, inner_b);
  if (ra > 2 || rb > 2) static_cast<void>(common_batch(op, a, b));
  const Shape shape = product_shape(a, b, options.transpose_a, options.transpose_b);
  // Repeated elements take no memory: a product may have more of them than there are addresses.
  constexpr std::int64_t large = std::int64_t{1} << 29;
  if (block(a)->size > large || block(b)->size > large) [[unlikely]]
    require_shape(op, shape);
  const Tensor* const factors[] = {&a, &b};
  return apply_announced(matmul_primitive, factors, words(options.transpose_a, options.transpose_b, ra, rb), dtype,
                         shape);
}

namespace {

// Both operands in one dtype; tensors that have it get no further handle.
struct CommonOperands {
  CommonOperands(const char* op, const Operand& first, const Operand& second)
      : dtype(common_dtype(op, std::array{&first, &second})),
        a(as_tensor(op, first, dtype, scratch[0], "a")),
        b(as_tensor(op, second, dtype, scratch[1], "b")) {}
  CommonOperands(const CommonOperands&) = delete;
  Tensor scratch[2];
  DType dtype;
  const Tensor &a, &b;
};

Shape list_axes(const char* op, const Axes& axes, const Tensor& x) {
  Shape from_front;
  if (axes.all()) {
    for (int d = 0; d < x.rank(); ++d) from_front.push_back(d);
    return from_front;
  }
  for (std::int64_t axis : axes.list()) from_front.push_back(normalize(op, axis, x));
  static_cast<void>(normalize(op, axes, x));  // throws for an axis named twice
  return from_front;
}

Shape others(const Shape& axes, int rank) {
  bool named[max_rank] = {};
  for (std::int64_t axis : axes) named[axis] = true;
  Shape rest;
  for (int d = 0; d < rank; ++d)
    if (!named[d]) rest.push_back(d);
  return rest;
}

std::int64_t chosen_extents(const Shape& shape, const Shape& axes, Shape* list) {
  std::int64_t product = 1;
  for (std::int64_t axis : axes) {
    product *= shape[axis];
    if (list) list->push_back(shape[axis]);
  }
  return product;
}

// x with its axes in the order first, last, as a matrix [first..., last...].
Tensor to_matrix(const Tensor& x, const Shape& first, const Shape& last) {
  Shape order = first;
  for (std::int64_t axis : last) order.push_back(axis);
  bool moved = false;
  for (int d = 0; d < order.rank(); ++d) moved |= order[d] != d;
  const Shape shape = x.shape();
  const Tensor transposed = moved ? transpose(x, order) : x;
  return reshape(transposed, {chosen_extents(shape, first, nullptr), chosen_extents(shape, last, nullptr)});
}

Tensor contract(const char* op, const Tensor& a, const Tensor& b, const Shape& axes_a, const Shape& axes_b) {
  const Shape sa = a.shape(), sb = b.shape();
  if (axes_a.rank() != axes_b.rank())
    fail<ValueError>(op, "{} axes of a, {} of b: they are summed in pairs", axes_a.rank(), axes_b.rank());
  for (int i = 0; i < axes_a.rank(); ++i)
    if (sa[axes_a[i]] != sb[axes_b[i]])
      fail<ShapeError>(op, "axis {} of a and axis {} of b differ: a is {}, b is {}", axes_a[i], axes_b[i], sa, sb);
  const Shape free_a = others(axes_a, a.rank()), free_b = others(axes_b, b.rank());
  require_rank(op, free_a.rank() + free_b.rank());
  Shape shape;
  chosen_extents(sa, free_a, &shape);
  chosen_extents(sb, free_b, &shape);
  return reshape(product(op, to_matrix(a, free_a, axes_a), to_matrix(b, axes_b, free_b)), shape);
}

}  // namespace
}  // namespace ops

Tensor matmul(const Operand& a, const Operand& b, const MatmulOptions& options) {
  const tape::OpScope scope(a);
  const ops::CommonOperands operands("matmul", a, b);
  const Tensor &x = operands.a, &y = operands.b;
  return ops::product("matmul", x, y, options);
}

Tensor dot(const Operand& a, const Operand& b) {
  const tape::OpScope scope(a);
  const ops::CommonOperands operands("dot", a, b);
  const Tensor &x = operands.a, &y = operands.b;
  if (x.rank() == 0 || y.rank() == 0) return multiply(x, y);
  if (x.rank() > 1 && y.rank() > 2) {
    if (x.shape()[-1] != y.shape()[-2])
      fail<ShapeError>("dot", "the last axis of a and the second-to-last of b differ: a is {}, b is {}", x.shape(),
                       y.shape());
    return ops::contract("dot", x, y, {x.rank() - 1}, {y.rank() - 2});
  }
  return ops::product("dot", x, y);
}

Tensor outer(const Operand& a, const Operand& b) {
  const tape::OpScope scope(a);
  const ops::CommonOperands operands("outer", a, b);
  const Tensor &x = operands.a, &y = operands.b;
  return ops::product("outer", reshape(x, {x.size(), 1}), reshape(y, {1, y.size()}));
}

Tensor tensordot(const Operand& a, const Operand& b, std::int64_t count) {
  const tape::OpScope scope(a);
  const ops::CommonOperands operands("tensordot", a, b);
  const Tensor &x = operands.a, &y = operands.b;
  if (count < 0 || count > x.rank() || count > y.rank())
    fail<ValueError>("tensordot", "cannot sum over {} axes: a is {}, b is {}", count, x.shape(), y.shape());
  Shape last, first;
  for (std::int64_t i = 0; i < count; ++i) {
    last.push_back(x.rank() - count + i);
    first.push_back(i);
  }
  return ops::contract("tensordot", x, y, last, first);
}

Tensor tensordot(const Operand& a, const Operand& b, const Axes& axes_a, const Axes& axes_b) {
  const tape::OpScope scope(a);
  const ops::CommonOperands operands("tensordot", a, b);
  const Tensor &x = operands.a, &y = operands.b;
  return ops::contract("tensordot", x, y, ops::list_axes("tensordot", axes_a, x),
                       ops::list_axes("tensordot", axes_b, y));
}

}  // namespace reel
