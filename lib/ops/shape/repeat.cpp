// roll, tile, repeat and pad: copies into a larger or shifted result. Their transposes add or cut.
#include <reel/ops/index.hpp>
#include <reel/ops/make.hpp>
#include <reel/ops/pointwise.hpp>
#include <reel/ops/reduce.hpp>

#include "kernels/table.hpp"
#include "ops/shape/view.hpp"

namespace reel {

namespace ops {

namespace {

// ---- roll; attributes: shift, axis

// sum += g moved back along the axis: what is moved is never in memory by itself.
void add_moved(const Tensor& sum, const Tensor& g, int axis, std::int64_t back) {
  const kernels::Loop add =
      kernels::active().pointwise(kernels::row_of<"add">(), static_cast<kernels::Type>(sum.dtype())).value;
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
  const int axis = static_cast<int>(r.attributes()[1]) + r.lead();
  const Shape shape = g.shape();
  bool outermost = back > 0;  // then parts along the axis have no gaps
  for (int d = 0; d < axis; ++d) outermost = outermost && shape[d] == 1;
  if (outermost)
    if (Tensor sum = r.take_sum(0); sum.defined()) {
      add_moved(sum, g, axis, back);
      return sum;
    }
  return roll(g, -back, axis);
}
Tensor roll_again(const tape::Record& r, const Tensor& t) { return roll(t, r.attributes()[0], r.attributes()[1]); }
constexpr tape::Rule roll_rule = linear<roll_back, roll_again>("roll");

// ---- tile; attributes: the repeats

// Where x with repeats has axis i, its copies side by side have two: repeats, then elements. `added` are the former.
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
  return reshape(sum(reshape(g, r.led(split)), r.led_axes(added)), r.led(r.shape(0)));
}
Tensor tile_again(const tape::Record& r, const Tensor& t) { return tile(t, attribute_shape(r.attributes())); }
constexpr tape::Rule tile_rule = linear<tile_transposed, tile_again>("tile");

// ---- repeat; attributes: count, axis

Shape repeated_shape(Shape shape, std::int64_t count, int axis) {
  if (__builtin_mul_overflow(shape[axis], count, &shape[axis]))
    fail<ShapeError>("repeat", "repeating axis {} {} times exceeds the largest extent", axis, count);
  return shape;
}

Tensor repeat_transposed(const tape::Record& r, const Tensor& g) {
  const Shape shape = r.led(r.shape(0));
  const std::int64_t count = r.attributes()[0];
  const auto axis = static_cast<int>(r.attributes()[1]) + r.lead();
  std::int64_t before = 1, behind = 1;
  for (int d = 0; d <= axis; ++d) before *= shape[d];
  for (int d = axis + 1; d < shape.rank(); ++d) behind *= shape[d];
  return reshape(sum(reshape(g, {before, count, behind}), 1), shape);
}
Tensor repeat_again(const tape::Record& r, const Tensor& t) { return repeat(t, r.attributes()[0], r.attributes()[1]); }
constexpr tape::Rule repeat_rule = linear<repeat_transposed, repeat_again>("repeat");

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
    std::vector<SliceItem> items(static_cast<std::size_t>(r.lead()));
    for (int d = 0; d < shape.rank(); ++d) items.push_back(range(before[d], before[d] + shape[d]));
    dx[0] = slice(g[0], items);
  }
  // The border is picked, not the inside subtracted: that would cancel.
  if (r.wanted(1)) {
    const Tensor border = pad(zeros(inner_shape(r), DType::boolean), before, after, true);
    dx[1] = reshape(sum_to(r, where(border, g[0], 0), {}), r.led(r.shape(1)));
  }
}
void pad_jvp(const tape::Record& r, std::span<const Tensor> t, std::span<Tensor> dy) {
  const Shape before = first_half(r.attributes()), after = second_half(r.attributes());
  const Tensor x = t[0].defined() ? t[0] : zeros(inner_shape(r), r.output_dtype());
  dy[0] = t[1].defined() ? pad(x, before, after, t[1]) : pad(x, before, after);
}
constexpr tape::Rule pad_rule = batched({"pad", pad_vjp, pad_jvp});

void check_border(const char* which, const Shape& border, const Shape& shape) {
  if (border.rank() != shape.rank())
    fail<ShapeError>("pad", "{} has {} entries, but x, of shape {}, has {} axes", which, border.rank(), shape,
                     shape.rank());
  for (std::int64_t n : border)
    if (n < 0)
      fail<ValueError>("pad", "{} is {}; nothing can be padded with {} elements, use slice to cut", which, border, n);
}

}  // namespace

}  // namespace ops

Tensor roll(const Operand& operand, std::int64_t shift, std::int64_t axis) {
  const tape::OpScope scope(operand);
  const Tensor x = ops::to_tensor("roll", operand);
  const int a = ops::normalize("roll", axis, x.rank());
  const std::int64_t n = x.shape()[a];
  const std::int64_t forwards = n == 0 ? 0 : (shift % n + n) % n;
  const std::int64_t attributes[] = {forwards, a};
  if (forwards == 0) return ops::finish(ops::roll_rule, x, detail::alias(x), attributes);
  const Tensor y = detail::empty(x.dtype(), x.shape());
  loops::copy(ops::section(x, a, 0, n - forwards), ops::section(y, a, forwards, n - forwards));
  loops::copy(ops::section(x, a, n - forwards, forwards), ops::section(y, a, 0, forwards));
  return ops::finish(ops::roll_rule, x, y, attributes);
}

Tensor tile(const Operand& operand, const Shape& repeats) {
  const tape::OpScope scope(operand);
  const Tensor x = ops::to_tensor("tile", operand);
  const Shape own = x.shape();
  Shape all = repeats;
  while (all.rank() < own.rank()) all.insert(0, 1);
  Shape shape = all;
  for (int i = 0; i < all.rank(); ++i) {
    if (all[i] < 0) fail<ValueError>("tile", "repeats is {}; a repeat must be at least 0", repeats);
    const int axis = i - (all.rank() - own.rank());
    if (axis >= 0 && __builtin_mul_overflow(all[i], own[axis], &shape[i]))
      fail<ShapeError>("tile", "shape {} repeated {} times exceeds the largest extent", own, repeats);
  }
  shape.elements();
  Tensor y;
  if (shape.elements() == x.size()) {
    y = ops::reshaped(x, shape);
  } else {
    y = detail::empty(x.dtype(), shape);
    Shape split, added, aligned;
    ops::split_axes(own, all, split, added);
    // x in the split shape: its own extents, and 1 on the added axes.
    aligned = split;
    for (std::int64_t a : added) aligned[a] = 1;
    loops::copy(ops::reshaped(x, aligned), ops::reshaped_view(y, split));
  }
  return ops::finish(ops::tile_rule, x, std::move(y), all);
}

Tensor repeat(const Operand& operand, std::int64_t count, std::int64_t axis) {
  const tape::OpScope scope(operand);
  const Tensor x = ops::to_tensor("repeat", operand);
  const int a = ops::normalize("repeat", axis, x.rank());
  if (count < 0) fail<ValueError>("repeat", "count is {}; it must be at least 0", count);
  const Shape shape = ops::repeated_shape(x.shape(), count, a);
  const std::int64_t attributes[] = {count, a};
  if (count == 1) return ops::finish(ops::repeat_rule, x, detail::alias(x), attributes);
  const Tensor y = detail::empty(x.dtype(), shape);
  if (y.size() != 0) {
    std::int64_t before = 1;
    for (int d = 0; d <= a; ++d) before *= x.shape()[d];
    const std::int64_t behind = x.size() / before;
    loops::copy(ops::reshaped(x, {before, 1, behind}), ops::reshaped_view(y, {before, count, behind}));
  }
  return ops::finish(ops::repeat_rule, x, y, attributes);
}

Tensor pad(const Operand& operand, const Shape& before, const Shape& after, const Operand& value) {
  const tape::OpScope scope(operand);
  const Operand* both[] = {&operand, &value};
  const DType dtype = ops::common_dtype("pad", both);
  const Tensor x = ops::to_tensor("pad", operand, dtype, "x"), border = ops::to_tensor("pad", value, dtype, "value");
  Shape shape = x.shape();
  ops::check_border("before", before, shape);
  ops::check_border("after", after, shape);
  if (border.size() != 1)
    fail<ShapeError>("pad", "value has shape {}; it must be a number or have one element", border.shape());
  for (int d = 0; d < shape.rank(); ++d)
    if (__builtin_add_overflow(shape[d], before[d], &shape[d]) || __builtin_add_overflow(shape[d], after[d], &shape[d]))
      fail<ShapeError>("pad", "axis {} exceeds the largest extent", d);
  Tensor y;
  {
    const tape::Suspend unrecorded;
    y = full(shape, border, dtype);
  }
  if (x.size() != 0) {
    Tensor inside = y;
    for (int d = 0; d < shape.rank(); ++d) inside = ops::section(inside, d, before[d], x.shape()[d]);
    loops::copy(x, inside);
  }
  if (tape::active()) {
    std::vector<std::int64_t> list(before.begin(), before.end());
    list.insert(list.end(), after.begin(), after.end());
    const Tensor* in[] = {&x, &border};
    const Tensor* out[] = {&y};
    if (is_differentiable(dtype))
      tape::record(ops::pad_rule, in, out, {}, list);
    else
      tape::note_cut("pad", in, y, tape::Cut::integer);
  }
  return y;
}

}  // namespace reel
