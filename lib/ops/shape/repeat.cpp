// roll, tile, repeat and pad: copies into a larger or shifted result. Their transposes add or cut.
#include <reel/ops/index.hpp>
#include <reel/ops/make.hpp>
#include <reel/ops/pointwise.hpp>
#include <reel/ops/reduce.hpp>

#include "csource/writer.hpp"
#include "loops/make/fill.hpp"
#include "ops/apply/table.hpp"
#include "ops/shape/join.hpp"
#include "ops/shape/view.hpp"

namespace reel {

namespace ops {

namespace {

// ---- roll; attributes: shift, from 0 to below the extent, and axis

// Adds g, rolled back along the axis, to `sum`: the rolled tensor is never in memory.
void add_moved(const Tensor& sum, const Tensor& g, int axis, std::int64_t back) {
  const auto add = loop_of<"add">(sum.dtype());
  const std::int64_t n = sum.shape()[axis];
  const auto part = [&](std::int64_t to, std::int64_t from, std::int64_t count) {
    const Tensor here = section(sum, axis, to, count), there = section(g, axis, from, count);
    const Tensor* both[] = {&here, &there};
    loops::pointwise(add, both, here);
  };
  part(0, back, n - back);
  part(n - back, 0, back);
}

Tensor roll_back(const tape::Record& r, const Tensor& g) {
  const std::int64_t back = r.attributes()[0];
  const int axis = static_cast<int>(r.attributes()[1]) + r.batch_rank();
  const Shape shape = g.shape();
  bool outermost = back > 0;  // then parts along the axis are contiguous
  for (int d = 0; d < axis; ++d) outermost = outermost && shape[d] == 1;
  if (outermost)
    if (Tensor sum = r.take_sum(0); sum.defined()) {
      add_moved(sum, g, axis, back);
      return sum;
    }
  return roll(g, -back, axis);
}
Tensor roll_again(const tape::Record& r, const Tensor& t) { return roll(t, r.attributes()[0], r.attributes()[1]); }

void infer_roll(const Call& call, Metas& out) {
  if (call.attribute(0) == 0)
    add_alias(out, call, 0);
  else
    out.add(call.input(0).dtype(), call.input(0).shape());
}
void evaluate_roll(const Call& call, Outputs& out) {
  const Tensor &x = call.input(0), &y = out[0];
  if (out.is_view(0)) return;
  const auto axis = static_cast<int>(call.attribute(1));
  const std::int64_t shift = call.attribute(0), rest = x.shape()[axis] - shift;
  loops::copy(section(x, axis, 0, rest), section(y, axis, shift, rest));
  loops::copy(section(x, axis, rest, shift), section(y, axis, 0, shift));
}
void write_roll(const Call& call, csource::Writer& w) {
  const csource::Array &x = w.input(0), &y = w.output(0);
  const auto axis = static_cast<int>(call.attribute(1));
  const std::int64_t shift = call.attribute(0), rest = x.shape[axis] - shift;
  w.copy(csource::section(x, axis, 0, rest), csource::section(y, axis, shift, rest));
  w.copy(csource::section(x, axis, rest, shift), csource::section(y, axis, 0, shift));
}
constexpr Primitive roll_primitive = {.rule = linear<roll_back, roll_again>("roll"),
                                      .infer = infer_roll,
                                      .evaluate = evaluate_roll,
                                      .write_c = write_roll};

// ---- tile; attributes: the repeats

// In place of axis i, the repeated result has two axes: repeats, then elements. `added` are the former.
void split_axes(const Shape& shape, const Shape& repeats, Shape& split, Shape& added) {
  for (int i = 0; i < repeats.rank(); ++i) {
    const int own = i - (repeats.rank() - shape.rank());
    const std::int64_t extent = own < 0 ? 1 : shape[own];
    if (repeats[i] != 1 || extent == 1) {
      added.push_back(split.rank());
      split.push_back(repeats[i]);
    }
    if (extent != 1) split.push_back(extent);
  }
}

Tensor tile_transposed(const tape::Record& r, const Tensor& g) {
  Shape split, added;
  split_axes(r.shape(0), attribute_shape(r.attributes()), split, added);
  return reshape(sum(reshape(g, r.batched(split)), r.batched_axes(added)), r.batched(r.shape(0)));
}
Tensor tile_again(const tape::Record& r, const Tensor& t) { return tile(t, attribute_shape(r.attributes())); }

void infer_tile(const Call& call, Metas& out) {
  const detail::Block& x = *detail::block(call.input(0));
  Shape shape = attribute_shape(call.attributes), strides;
  const int added = shape.rank() - x.rank;
  for (int d = 0; d < x.rank; ++d) shape[d + added] *= x.extents()[d];
  if (shape.elements() == x.size && strides_for(x, shape, strides))
    out.add_view(0, x.dtype, 0, shape, strides);
  else
    out.add(x.dtype, shape);
}
void evaluate_tile(const Call& call, Outputs& out) {
  const Tensor &x = call.input(0), &y = out[0];
  if (out.is_view(0)) return;
  Shape split, added;
  split_axes(x.shape(), attribute_shape(call.attributes), split, added);
  Shape aligned = split;  // x in the split shape: its own extents, and 1 on the added axes
  for (std::int64_t d : added) aligned[d] = 1;
  loops::copy(reshaped(x, aligned), reshape_view(y, split));
}
void write_tile(const Call& call, csource::Writer& w) {
  Shape split, added;
  split_axes(w.input(0).shape, attribute_shape(call.attributes), split, added);
  Shape aligned = split;
  for (std::int64_t d : added) aligned[d] = 1;
  w.copy(csource::reshaped(w.dense(w.input(0)), aligned), csource::reshaped(w.output(0), split));
}
constexpr Primitive tile_primitive = {.rule = linear<tile_transposed, tile_again>("tile"),
                                      .infer = infer_tile,
                                      .evaluate = evaluate_tile,
                                      .write_c = write_tile};

// ---- repeat; attributes: count, axis

Shape repeated_shape(Shape shape, std::int64_t count, int axis) {
  if (__builtin_mul_overflow(shape[axis], count, &shape[axis]))
    fail<ShapeError>("repeat", "repeating axis {} {} times exceeds the largest extent", axis, count);
  return shape;
}

Tensor repeat_transposed(const tape::Record& r, const Tensor& g) {
  const Shape shape = r.batched(r.shape(0));
  const std::int64_t count = r.attributes()[0];
  const auto axis = static_cast<int>(r.attributes()[1]) + r.batch_rank();
  std::int64_t before = 1, behind = 1;
  for (int d = 0; d <= axis; ++d) before *= shape[d];
  for (int d = axis + 1; d < shape.rank(); ++d) behind *= shape[d];
  return reshape(sum(reshape(g, {before, count, behind}), 1), shape);
}
Tensor repeat_again(const tape::Record& r, const Tensor& t) { return repeat(t, r.attributes()[0], r.attributes()[1]); }

void infer_repeat(const Call& call, Metas& out) {
  if (call.attribute(0) == 1) return add_alias(out, call, 0);
  const Tensor& x = call.input(0);
  out.add(x.dtype(), repeated_shape(x.shape(), call.attribute(0), static_cast<int>(call.attribute(1))));
}
void evaluate_repeat(const Call& call, Outputs& out) {
  const Tensor &x = call.input(0), &y = out[0];
  if (out.is_view(0) || y.size() == 0) return;
  const Shape shape = x.shape();
  const std::int64_t count = call.attribute(0);
  std::int64_t before = 1;
  for (int d = 0; d <= call.attribute(1); ++d) before *= shape[d];
  const std::int64_t behind = x.size() / before;
  loops::copy(reshaped(x, {before, 1, behind}), reshape_view(y, {before, count, behind}));
}
void write_repeat(const Call& call, csource::Writer& w) {
  const Shape shape = w.input(0).shape;
  std::int64_t before = 1;
  for (int d = 0; d <= call.attribute(1); ++d) before *= shape[d];
  const std::int64_t behind = shape.elements() / before, count = call.attribute(0);
  w.copy(csource::reshaped(w.dense(w.input(0)), {before, 1, behind}),
         csource::reshaped(w.output(0), {before, count, behind}));
}
constexpr Primitive repeat_primitive = {.rule = linear<repeat_transposed, repeat_again>("repeat"),
                                        .infer = infer_repeat,
                                        .evaluate = evaluate_repeat,
                                        .write_c = write_repeat};

// ---- pad; attributes: before, then after; inputs: x, value

Shape first_half(std::span<const std::int64_t> a) { return attribute_shape(a.first(a.size() / 2)); }
Shape second_half(std::span<const std::int64_t> a) { return attribute_shape(a.last(a.size() / 2)); }

Shape inner_shape(const tape::Record& r) {
  Shape shape = r.output_shape();
  const Shape before = first_half(r.attributes()), after = second_half(r.attributes());
  for (int d = 0; d < shape.rank(); ++d) shape[d] -= before[d] + after[d];
  return shape;
}

void pad_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  const Shape before = first_half(r.attributes()), after = second_half(r.attributes());
  if (r.wanted(0)) {
    const Shape shape = r.shape(0);
    detail::List<SliceItem> items(static_cast<std::size_t>(r.batch_rank()));
    for (int d = 0; d < shape.rank(); ++d) items.push_back(range(before[d], before[d] + shape[d]));
    dx[0] = slice(g[0], items);
  }
  // The border is sliced out. The total minus the inside would cancel.
  if (r.wanted(1)) {
    const Tensor border = pad(zeros(inner_shape(r), DType::boolean), before, after, true);
    dx[1] = reshape(sum_to(r, where(border, g[0], 0), {}), r.batched(r.shape(1)));
  }
}
void pad_jvp(const tape::Record& r, std::span<const Tensor> t, std::span<Tensor> dy) {
  const Shape before = first_half(r.attributes()), after = second_half(r.attributes());
  const Tensor x = t[0].defined() ? t[0] : zeros(inner_shape(r), r.output_dtype());
  dy[0] = t[1].defined() ? pad(x, before, after, t[1]) : pad(x, before, after);
}

void infer_pad(const Call& call, Metas& out) {
  Shape shape = call.input(0).shape();
  const Shape before = first_half(call.attributes), after = second_half(call.attributes);
  for (int d = 0; d < shape.rank(); ++d)
    if (__builtin_add_overflow(shape[d], before[d], &shape[d]) || __builtin_add_overflow(shape[d], after[d], &shape[d]))
      fail<ShapeError>("pad", "axis {} exceeds the largest extent", d);
  require_shape("pad", shape);
  out.add(call.input(0).dtype(), shape);
}
void evaluate_pad(const Call& call, Outputs& out) {
  const Tensor &x = call.input(0), &border = call.input(1), &y = out[0];
  const Shape shape = x.shape();
  loops::fill(y, border);
  if (x.size() == 0) return;
  Tensor inside = y;
  for (int d = 0; d < shape.rank(); ++d)
    inside = section(inside, d, call.attribute(static_cast<std::size_t>(d)), shape[d]);
  loops::copy(x, inside);
}
void write_pad(const Call& call, csource::Writer& w) {
  w.fill(w.output(0), w.input(1).value());
  csource::Array inside = w.output(0);
  for (int d = 0; d < inside.rank(); ++d)
    inside = csource::section(inside, d, call.attribute(static_cast<std::size_t>(d)), w.input(0).shape[d]);
  w.copy(w.input(0), inside);
}
constexpr Primitive pad_primitive = {
    .rule = batched({"pad", pad_vjp, pad_jvp}), .infer = infer_pad, .evaluate = evaluate_pad, .write_c = write_pad};

void check_border(const char* which, const Shape& border, const Shape& shape) {
  if (border.rank() != shape.rank())
    fail<ShapeError>("pad", "{} has {} entries, but x, of shape {}, has {} axes", which, border.rank(), shape,
                     shape.rank());
  for (std::int64_t n : border)
    if (n < 0)
      fail<ValueError>("pad", "{} is {}; nothing can be padded with {} elements, use slice to cut", which, border, n);
}

}  // namespace

const Primitive& roll_of_axis() noexcept { return roll_primitive; }
const Primitive& pad_of_borders() noexcept { return pad_primitive; }

}  // namespace ops

Tensor roll(const Operand& operand, std::int64_t shift, std::int64_t axis) {
  const tape::OpScope scope(operand);
  Tensor scratch;
  const Tensor& x = ops::as_tensor("roll", operand, scratch);
  const int a = ops::normalize("roll", axis, x);
  const std::int64_t n = x.shape()[a], forwards = n == 0 ? 0 : (shift % n + n) % n;
  return ops::apply(ops::roll_primitive, {&x}, ops::words(forwards, a));
}

Tensor tile(const Operand& operand, const Shape& repeats) {
  const tape::OpScope scope(operand);
  Tensor scratch;
  const Tensor& x = ops::as_tensor("tile", operand, scratch);
  const Shape own = x.shape();
  Shape all = repeats;
  while (all.rank() < own.rank()) all.insert(0, 1);
  for (int i = 0; i < all.rank(); ++i) {
    if (all[i] < 0) fail<ValueError>("tile", "repeats is {}; a repeat must be at least 0", repeats);
    const int axis = i - (all.rank() - own.rank());
    std::int64_t extent;
    if (axis >= 0 && __builtin_mul_overflow(all[i], own[axis], &extent))
      fail<ShapeError>("tile", "shape {} repeated {} times exceeds the largest extent", own, repeats);
  }
  return ops::apply(ops::tile_primitive, {&x}, all);
}

Tensor repeat(const Operand& operand, std::int64_t count, std::int64_t axis) {
  const tape::OpScope scope(operand);
  Tensor scratch;
  const Tensor& x = ops::as_tensor("repeat", operand, scratch);
  const int a = ops::normalize("repeat", axis, x);
  if (count < 0) fail<ValueError>("repeat", "count is {}; it must be at least 0", count);
  return ops::apply(ops::repeat_primitive, {&x}, ops::words(count, a));
}

Tensor pad(const Operand& operand, const Shape& before, const Shape& after, const Operand& value) {
  const tape::OpScope scope(operand);
  const Operand* both[] = {&operand, &value};
  // 0 and 1 count as booleans beside booleans, instead of promoting them.
  const bool truth = operand.is_tensor() && operand.tensor().defined() && operand.tensor().dtype() == DType::boolean &&
                     value.is_weak() && (value.floating() == 0 || value.floating() == 1);
  const DType dtype = truth ? DType::boolean : ops::common_dtype("pad", both);
  Tensor scratch[2];
  const Tensor &x = ops::as_tensor("pad", operand, dtype, scratch[0], "x"),
               &border = ops::as_tensor("pad", value, dtype, scratch[1], "value");
  const Shape shape = x.shape();
  ops::check_border("before", before, shape);
  ops::check_border("after", after, shape);
  if (border.size() != 1)
    fail<ShapeError>("pad", "value has shape {}; it must be a number or have one element", border.shape());
  detail::List<std::int64_t> attributes(before.begin(), before.end());
  attributes.insert(attributes.end(), after.begin(), after.end());
  return ops::apply(ops::pad_primitive, {&x, &border}, attributes);
}

}  // namespace reel
