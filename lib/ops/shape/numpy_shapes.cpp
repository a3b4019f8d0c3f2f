// NumPy's stacks, splits, atleast functions and repetitions: composed of concatenate, split, reshape and gather.
#include <algorithm>
#include <reel/ops/arranging.hpp>
#include <reel/ops/index.hpp>
#include <reel/ops/make.hpp>

#include "loops/index/select.hpp"
#include "ops/apply/operation.hpp"
#include "ops/index/indices.hpp"
#include "ops/promote.hpp"
#include "ops/sort/order.hpp"

namespace reel {
namespace ops {
namespace {

using TensorList = detail::List<Tensor>;

// A larger number of parts is taken for a mistake: an extent or a size.
constexpr std::int64_t array_split_parts_max = std::int64_t{1} << 20;

// x with new axes, at their positions in the result.
Tensor with_rank(const char* op, const Operand& operand, int rank) {
  Tensor x = to_tensor(op, operand);
  while (x.rank() < std::min(rank, 2)) x = expand_dims(x, 0);
  return x.rank() < rank ? expand_dims(x, 2) : x;
}

TensorList parts_of(const char* op, std::span<const Tensor> parts, int rank) {
  if (parts.empty()) fail<ValueError>(op, "there are no tensors to join; pass at least one");
  TensorList all;
  for (const Tensor& part : parts) all.push_back(with_rank(op, part, rank));
  return all;
}

// The lengths of reverse_sequence as int64, each in [0, extent].
Tensor check_lengths(const Operand& operand, int axis, std::int64_t extent) {
  constexpr const char* op = "reverse_sequence";
  const Tensor lengths = to_tensor(op, operand, "lengths");
  require_integers(op, lengths);
  const Tensor* const inputs[] = {&lengths};
  // In a traced function the check of indices is recorded. It would count negative ones from the end.
  if (traced(inputs)) return check_indices(op, where(less(lengths, 0), extent + 1, lengths), axis, extent + 1);
  for (const std::int64_t length : cast(lengths, DType::int64).to_vector<std::int64_t>())
    if (length < 0 || length > extent)
      fail<IndexError>(op, "length {} is outside [0, {}], the extent of axis {}", length, extent, axis);
  return cast(lengths, DType::int64);
}

// The matrix whose columns are the given vectors.
TensorList columns_of(const char* op, std::span<const Tensor> parts) {
  TensorList all = parts_of(op, parts, 1);
  for (Tensor& part : all)
    if (part.rank() == 1) part = expand_dims(part, 1);
  return all;
}

std::vector<Tensor> split_axis(const char* op, const Operand& operand, std::int64_t parts, int axis) {
  const Tensor x = to_tensor(op, operand);
  if (x.rank() <= axis) fail<ShapeError>(op, "x has shape {}; it has no axis {}", x.shape(), axis);
  return named(op, [&] { return split(x, parts, axis); });
}

// For each slice of the result, the number of the slice that it repeats. Inputs: counts; attributes: their sum.
void infer_repeated(const Call& call, Metas& out) { out.add(DType::int64, {call.attribute(0)}); }
void evaluate_repeated(const Call& call, Outputs& out) {
  Tensor copied;
  loops::repeat_places(loops::contiguous(call.input(0), copied), out[0]);
}
constexpr Primitive repeated_primitive = {
    .rule = {.name = "repeat.places"}, .infer = infer_repeated, .evaluate = evaluate_repeated, .constants = 1};

// The sum of the counts for an axis. ValueError for a negative count, ShapeError for a wrong number of counts.
std::int64_t total_of(const Tensor& counts) {
  std::int64_t total = 0;
  for (const std::int64_t count : counts.to_vector<std::int64_t>()) {
    if (count < 0) fail<ValueError>("repeat", "a count is {}; counts must be at least 0", count);
    if (__builtin_add_overflow(total, count, &total))
      fail<ShapeError>("repeat", "the counts exceed the largest extent together");
  }
  return total;
}

}  // namespace
}  // namespace ops

Tensor vander(const Operand& operand, std::int64_t n, bool increasing) {
  const tape::OpScope scope(operand);
  const Tensor x = ops::to_tensor("vander", operand);
  if (n < -1) fail<ValueError>("vander", "n is {}; it must be at least 0", n);
  if (n == -1 && x.rank() == 0) fail<ShapeError>("vander", "x has rank 0; give n");
  ops::require_rank("vander", x.rank() + 1);
  Shape shape = x.shape();
  shape.push_back(n == -1 ? x.shape()[-1] : n);
  ops::require_shape("vander", shape);
  // In float64, where fewer powers are subnormal: products with such numbers take a hundred times as long.
  const Tensor wide = x.dtype() == DType::float32 ? cast(x, DType::float64) : x;
  const Tensor powers = ops::cast_to(cumprod(broadcast_to(expand_dims(wide, -1), shape), -1, true), x.dtype());
  return increasing ? powers : flip(powers, -1);
}

Tensor linspace(const Operand& from, const Operand& to, std::int64_t count) {
  const tape::OpScope scope(from);
  const DType dtype = ops::promote_operands("linspace", {&from, &to}, ops::Accept::number).result;
  const Tensor start = ops::to_tensor("linspace", from, dtype, "start"),
               stop = ops::to_tensor("linspace", to, dtype, "stop");
  if (count < 0) fail<ValueError>("linspace", "count is {}; it must be at least 0", count);
  const Shape one = ops::broadcast_shapes("linspace", start.shape(), stop.shape());
  ops::require_rank("linspace", one.rank() + 1);
  Shape column{count}, shape = one;
  while (column.rank() <= one.rank()) column.push_back(1);
  shape.insert(0, count);
  ops::require_shape("linspace", shape);
  const double steps = static_cast<double>(std::max<std::int64_t>(count - 1, 1));
  const Tensor t = reshape(arange(static_cast<double>(count)) / steps, column), last = greater_equal(t, 1.0);
  const Tensor weights = ops::cast_to(t, dtype);
  return where(last, stop, start + weights * (broadcast_to(stop, one) - start));
}

Tensor atleast_1d(const Operand& x) {
  const tape::OpScope scope(x);
  return ops::with_rank("atleast_1d", x, 1);
}
Tensor atleast_2d(const Operand& x) {
  const tape::OpScope scope(x);
  return ops::with_rank("atleast_2d", x, 2);
}
Tensor atleast_3d(const Operand& x) {
  const tape::OpScope scope(x);
  return ops::with_rank("atleast_3d", x, 3);
}

Tensor hstack(std::span<const Tensor> parts, const detail::CallLine& at) {
  const tape::CallScope scope(at);
  const ops::TensorList all = ops::parts_of("hstack", parts, 1);
  return ops::join("hstack", all, all[0].rank() == 1 ? 0 : 1);
}
Tensor vstack(std::span<const Tensor> parts, const detail::CallLine& at) {
  const tape::CallScope scope(at);
  return ops::join("vstack", ops::parts_of("vstack", parts, 2), 0);
}
Tensor dstack(std::span<const Tensor> parts, const detail::CallLine& at) {
  const tape::CallScope scope(at);
  return ops::join("dstack", ops::parts_of("dstack", parts, 3), 2);
}
Tensor column_stack(std::span<const Tensor> parts, const detail::CallLine& at) {
  const tape::CallScope scope(at);
  return ops::join("column_stack", ops::columns_of("column_stack", parts), 1);
}
Tensor hstack(std::initializer_list<Tensor> parts, const detail::CallLine& at) {
  return hstack(std::span(parts.begin(), parts.size()), at);
}
Tensor vstack(std::initializer_list<Tensor> parts, const detail::CallLine& at) {
  return vstack(std::span(parts.begin(), parts.size()), at);
}
Tensor dstack(std::initializer_list<Tensor> parts, const detail::CallLine& at) {
  return dstack(std::span(parts.begin(), parts.size()), at);
}
Tensor column_stack(std::initializer_list<Tensor> parts, const detail::CallLine& at) {
  return column_stack(std::span(parts.begin(), parts.size()), at);
}

Tensor append(const Operand& operand, const Operand& values) {
  const tape::OpScope scope(operand);
  const Tensor both[] = {flatten(ops::to_tensor("append", operand)),
                         flatten(ops::to_tensor("append", values, "values"))};
  return ops::join("append", both, 0);
}
Tensor append(const Operand& operand, const Operand& values, std::int64_t axis) {
  const tape::OpScope scope(operand);
  const Tensor both[] = {ops::to_tensor("append", operand), ops::to_tensor("append", values, "values")};
  return ops::join("append", both, axis);
}

Tensor block(std::span<const std::vector<Tensor>> rows, const detail::CallLine& at) {
  const tape::CallScope scope(at);
  constexpr const char* op = "block";
  ops::TensorList joined;
  for (const std::vector<Tensor>& row : rows) joined.push_back(ops::join(op, ops::parts_of(op, row, 2), -1));
  return ops::join(op, ops::parts_of(op, joined, 2), -2);
}
Tensor block(std::initializer_list<BlockRow> rows, const detail::CallLine& at) {
  return block(std::vector<std::vector<Tensor>>(rows.begin(), rows.end()), at);
}

std::vector<Tensor> array_split(const Operand& operand, std::int64_t parts, std::int64_t axis) {
  const tape::OpScope scope(operand);
  const Tensor x = ops::to_tensor("array_split", operand);
  const int a = ops::normalize("array_split", axis, x);
  if (parts < 1) fail<ValueError>("array_split", "parts is {}; it must be at least 1", parts);
  if (parts > ops::array_split_parts_max)
    fail<ValueError>("array_split", "parts is {}; there may be {} at most", parts, ops::array_split_parts_max);
  const std::int64_t n = x.shape()[a];
  std::vector<Tensor> pieces;
  std::int64_t first = 0;
  detail::List<SliceItem> items(static_cast<std::size_t>(a) + 1);
  for (std::int64_t k = 0; k < parts; ++k) {
    const std::int64_t end = first + n / parts + (k < n % parts ? 1 : 0);
    items.back() = range(first, end);
    pieces.push_back(slice(x, items));
    first = end;
  }
  return pieces;
}
std::vector<Tensor> hsplit(const Operand& operand, std::int64_t parts) {
  const tape::OpScope scope(operand);
  const Tensor x = ops::to_tensor("hsplit", operand);
  return ops::split_axis("hsplit", x, parts, x.rank() == 1 ? 0 : 1);
}
std::vector<Tensor> vsplit(const Operand& x, std::int64_t parts) {
  const tape::OpScope scope(x);
  return ops::split_axis("vsplit", x, parts, 0);
}
std::vector<Tensor> dsplit(const Operand& x, std::int64_t parts) {
  const tape::OpScope scope(x);
  return ops::split_axis("dsplit", x, parts, 2);
}

std::vector<Tensor> broadcast_arrays(std::span<const Tensor> arrays, const detail::CallLine& at) {
  const tape::CallScope scope(at);
  Shape shape;
  for (const Tensor& x : arrays)
    shape = ops::broadcast_shapes("broadcast_arrays", shape, ops::to_tensor("broadcast_arrays", x).shape());
  std::vector<Tensor> all;
  for (const Tensor& x : arrays) all.push_back(broadcast_to(x, shape));
  return all;
}
std::vector<Tensor> broadcast_arrays(std::initializer_list<Tensor> x, const detail::CallLine& at) {
  return broadcast_arrays(std::span(x.begin(), x.size()), at);
}

Tensor repeat(const Operand& operand, const Tensor& counts_operand, std::int64_t axis) {
  const tape::OpScope scope(operand);
  const Tensor x = ops::to_tensor("repeat", operand);
  const int a = ops::normalize("repeat", axis, x);
  Tensor counts = ops::to_tensor("repeat", counts_operand, "counts");
  if (!is_integer(counts.dtype()))
    fail<TypeError>("repeat", "counts must be integers, not {}; cast them to int64", counts.dtype());
  const std::int64_t n = x.shape()[a];
  if (counts.rank() > 1 || (counts.size() != 1 && counts.size() != n))
    fail<ShapeError>("repeat", "counts have shape {}; axis {} of x, of shape {}, takes a vector of {}", counts.shape(),
                     a, x.shape(), n);
  ops::require_extents("repeat", counts, "repeat all alike by a number");
  counts = contiguous(broadcast_to(reshape(cast(counts, DType::int64), {counts.size()}), {n}));
  const std::int64_t total = ops::total_of(counts);
  Shape shape = x.shape();
  shape[a] = total;
  ops::require_shape("repeat", shape);
  return ops::gather_at(x, ops::apply(ops::repeated_primitive, {&counts}, ops::words(total)), a);
}

Tensor reverse_sequence(const Operand& operand, const Operand& lengths_operand, std::int64_t axis,
                        std::int64_t batch_axis) {
  const tape::OpScope scope(operand);
  const Tensor x = ops::to_tensor("reverse_sequence", operand);
  const int a = ops::normalize("reverse_sequence", axis, x), b = ops::normalize("reverse_sequence", batch_axis, x);
  if (a == b) fail<ValueError>("reverse_sequence", "both axes are {}; they must differ", a);
  const std::int64_t n = x.shape()[a], batch = x.shape()[b];
  const Tensor lengths = ops::check_lengths(lengths_operand, a, n);
  if (lengths.rank() != 1 || lengths.size() != batch)
    fail<ShapeError>("reverse_sequence", "lengths have shape {}; axis {} of x, of shape {}, takes a vector of {}",
                     lengths.shape(), b, x.shape(), batch);
  // The rows [batch, n] that remain, gathered by number.
  const Tensor steps = arange(n), ends = reshape(lengths, {batch, 1});
  const Tensor own = where(less(steps, ends), ends - 1 - steps, steps);
  const Tensor rows = reshape(own + reshape(arange(batch), {batch, 1}) * n, {batch * n});
  const Tensor moved = moveaxis(moveaxis(x, b, 0), a < b ? a + 1 : a, 1);
  Shape flat{batch * n};
  for (int d = 2; d < x.rank(); ++d) flat.push_back(moved.shape()[d]);
  const Tensor y = reshape(ops::gather_at(reshape(moved, flat), rows, 0), moved.shape());
  return moveaxis(moveaxis(y, 1, a < b ? a + 1 : a), 0, b);
}

}  // namespace reel
