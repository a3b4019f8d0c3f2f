// Sliding windows, as a view, and their transpose, overlap-add; blocks of axes, by reshape and transpose.
#include <reel/ops/index.hpp>
#include <reel/ops/make.hpp>
#include <reel/ops/windows.hpp>

#include "csource/steps.hpp"
#include "loops/make/fill.hpp"
#include "ops/apply/table.hpp"
#include "ops/shape/view.hpp"

namespace reel {
namespace ops {
namespace {

// ---- windows; attributes: axis, window, stride, dilation; and of overlap_add axis, extent, stride, dilation

struct Windows {
  int axis;
  std::int64_t size, stride, dilation;  // size: of a window, or of the axis
  explicit Windows(std::span<const std::int64_t> a)
      : axis(static_cast<int>(a[0])), size(a[1]), stride(a[2]), dilation(a[3]) {}
};

Tensor windows_of(const Tensor& x, const Windows& w, int axis);
Tensor add_windows(const Tensor& x, int axis, std::int64_t extent, const Windows& w);

Tensor windows_transpose(const tape::Record& r, const Tensor& g) {
  const Windows w(r.attributes());
  return add_windows(g, w.axis + r.batch_rank(), r.shape(0)[w.axis], w);
}
Tensor windows_forward(const tape::Record& r, const Tensor& t) {
  const Windows w(r.attributes());
  return windows_of(t, w, w.axis);
}
// The view of x [..., extent, ...] as windows [..., count, ..., size].
void window_layout(const detail::Block& x, int axis, std::int64_t count, const Windows& w, std::int64_t size,
                   Shape& shape, Shape& strides) {
  shape = x.shape();
  strides = Shape(x.strides(), x.rank);
  shape[axis] = count;
  shape.push_back(size);
  strides.push_back(strides[axis] * w.dilation);
  strides[axis] *= w.stride;
}
void infer_windows(const Call& call, Metas& out) {
  const detail::Block& x = *detail::block(call.input(0));
  const Windows w(call.attributes);
  const std::int64_t count = (x.extents()[w.axis] - (w.size - 1) * w.dilation - 1) / w.stride + 1;
  Shape shape, strides;
  window_layout(x, w.axis, count, w, w.size, shape, strides);
  out.add_view(0, x.dtype, 0, shape, strides);
}
constexpr Primitive windows_primitive = {.rule = linear<windows_transpose, windows_forward>("sliding_window"),
                                         .infer = infer_windows,
                                         .evaluate = evaluate_view};

// The elements behind the last window are cut off: they could hold further windows.
Tensor add_transpose(const tape::Record& r, const Tensor& g) {
  const Shape input = r.shape(0);
  const Windows w(r.attributes());
  const int axis = w.axis + r.batch_rank();
  const std::int64_t covered = (input[w.axis] - 1) * w.stride + (input[-1] - 1) * w.dilation + 1;
  detail::List<SliceItem> items(static_cast<std::size_t>(axis));
  items.push_back(range(0, covered));
  return windows_of(covered < w.size ? slice(g, items) : g, Windows(words(axis, input[-1], w.stride, w.dilation)),
                    axis);
}
Tensor add_forward(const tape::Record& r, const Tensor& t) {
  const Windows w(r.attributes());
  return add_windows(t, w.axis, w.size, w);
}
void infer_add(const Call& call, Metas& out) {
  const Windows w(call.attributes);
  Shape shape = call.input(0).shape();
  shape.pop_back();
  shape[w.axis] = w.size;
  out.add(call.input(0).dtype(), shape);
}
// Adds whole windows one after another, or the k-th elements of all windows, which are strided, whichever is faster: a
// call costs as much as this many elements of a window, and a strided element as much as eight contiguous ones.
constexpr std::int64_t elements_per_addition = 256, elements_per_stride = 8;
void evaluate_add(const Call& call, Outputs& out) {
  const Tensor &x = call.input(0), &y = out[0];
  loops::fill_zero(y);
  if (x.size() == 0) return;
  const Windows w(call.attributes);
  const std::int64_t count = x.shape()[w.axis], size = x.shape()[-1];
  const auto add = loop_of<"add">(x.dtype());
  Shape shape, strides;
  const bool by_window = elements_per_addition * (count - size) < (elements_per_stride - 1) * count * size;
  window_layout(*detail::block(y), w.axis, by_window ? 1 : count, w, by_window ? size : 1, shape, strides);
  const std::int64_t step = detail::block(y)->strides()[w.axis];
  for (std::int64_t k = 0; k < (by_window ? count : size); ++k)
    loops::pointwise_into_view(add, section(x, by_window ? w.axis : x.rank() - 1, k, 1),
                               view(y, k * step * (by_window ? w.stride : w.dilation), shape, strides));
}
void write_add(const Call& call, csource::Writer& w) {
  const Windows windows(call.attributes);
  const Shape shape = call.input(0).shape();
  const DType d = call.input(0).dtype();
  if (!is_differentiable(d) && d != DType::int64) csource::fail_without_form(w);
  std::int64_t inner = 1;
  for (int axis = windows.axis + 1; axis + 1 < shape.rank(); ++axis) inner *= shape[axis];
  const std::string own = std::to_string(shape.rank() - windows.axis),
                    of_sums = std::to_string(shape.rank() - windows.axis - 1);
  csource::write_steps(
      w, d, csource::filled("for i0:? o0:!\n$overlap_add(i0, o0, #0, #1, #2, #3, #4, #5)", "?!", {own, of_sums}),
      {shape[windows.axis], inner, shape[-1], windows.size, windows.stride, windows.dilation});
}
constexpr Primitive overlap_primitive = {.rule = linear<add_transpose, add_forward>("overlap_add"),
                                         .infer = infer_add,
                                         .evaluate = evaluate_add,
                                         .write_c = write_add};

Tensor windows_of(const Tensor& x, const Windows& w, int axis) {
  return apply(windows_primitive, {&x}, words(axis, w.size, w.stride, w.dilation));
}
Tensor add_windows(const Tensor& x, int axis, std::int64_t extent, const Windows& w) {
  if (is_half(x.dtype())) return in_float32(x, [&](const Tensor& wide) { return add_windows(wide, axis, extent, w); });
  return apply(overlap_primitive, {&x}, words(axis, extent, w.stride, w.dilation));
}

// The span of one window on the axis; -1 if it exceeds int64.
std::int64_t span_of(std::int64_t size, std::int64_t step) {
  std::int64_t span;
  return __builtin_mul_overflow(size - 1, step, &span) || __builtin_add_overflow(span, 1, &span) ? -1 : span;
}
void check_steps(const char* op, std::int64_t stride, std::int64_t dilation) {
  if (stride < 1 || dilation < 1)
    fail<ValueError>(op, "stride is {}, dilation {}; both must be at least 1", stride, dilation);
}

// ---- blocks

// The axes [0, rank), permuted.
Shape order_of(std::initializer_list<std::int64_t> last, int rank) {
  Shape order;
  for (int d = 0; d < rank - static_cast<int>(last.size()); ++d) order.push_back(d);
  for (const std::int64_t d : last) order.push_back(rank - static_cast<int>(last.size()) + d);
  return order;
}

// Images [batch, channels, rows, columns] whose r by r pixel blocks become channels, or the inverse.
struct Images {
  Tensor x;
  Shape batch;
  std::int64_t channels, rows, columns;
  Images(const char* op, const Operand& operand, std::int64_t r) : x(to_tensor(op, operand)) {
    if (r < 1) fail<ValueError>(op, "r is {}; it must be at least 1", r);
    batch = x.shape();
    if (batch.rank() < 3)
      fail<ShapeError>(op, "x has shape {}; it must have axes of channels, rows and columns", x.shape());
    constexpr std::int64_t factor_max = 1 << 20;  // its square and twice its square fit std::int64_t
    if (r > factor_max) fail<ShapeError>(op, "r is {}, which does not divide the extents of x, {}", r, x.shape());
    require_rank(op, x.rank() + 2);
    for (std::int64_t* extent : {&columns, &rows, &channels}) {
      *extent = batch[-1];
      batch.pop_back();
    }
  }
  // Splits the axes behind the batch, permutes them, and makes the last ones the axes of the result.
  Tensor rearrange(std::initializer_list<std::int64_t> split, std::initializer_list<std::int64_t> order,
                   std::initializer_list<std::int64_t> last) const {
    Shape blocks = batch, shape = batch;
    for (const std::int64_t extent : split) blocks.push_back(extent);
    for (const std::int64_t extent : last) shape.push_back(extent);
    return reshape(transpose(reshape(x, blocks), order_of(order, blocks.rank())), shape);
  }
};

// Shared by space_to_batch and batch_to_space: axis 0 and the axes of the blocks.
struct BlockAxes {
  int axes;  // number of axes in blocks
  std::int64_t count = 1;
  BlockAxes(const char* op, const Tensor& x, const Shape& block, const Shape& before, const Shape& after)
      : axes(block.rank()) {
    if (before.rank() != axes || after.rank() != axes || x.rank() < axes + 1)
      fail<ShapeError>(op,
                       "block {}, before {} and after {} must have an entry per axis; x, of shape {}, needs one more",
                       block, before, after, x.shape());
    require_rank(op, x.rank() + axes);
    for (int d = 0; d < axes; ++d) {
      if (block[d] < 1 || before[d] < 0 || after[d] < 0)
        fail<ValueError>(op, "block is {}, before {}, after {}: blocks must be positive, the others not negative",
                         block, before, after);
      if (__builtin_mul_overflow(count, block[d], &count))
        fail<ShapeError>(op, "blocks {} exceed the largest extent", block);
    }
  }
};

}  // namespace
}  // namespace ops

Tensor sliding_window(const Operand& operand, std::int64_t window, std::int64_t axis, std::int64_t stride,
                      std::int64_t dilation) {
  const tape::OpScope scope(operand);
  const Tensor x = ops::to_tensor("sliding_window", operand);
  const int a = ops::normalize("sliding_window", axis, x);
  ops::check_steps("sliding_window", stride, dilation);
  if (window < 1) fail<ValueError>("sliding_window", "window is {}; it must be at least 1", window);
  ops::require_rank("sliding_window", x.rank() + 1);
  const std::int64_t span = ops::span_of(window, dilation);
  if (span < 0 || span > x.shape()[a])
    fail<ShapeError>("sliding_window", "a window of {} elements at a dilation of {} does not fit axis {} of x, of {}",
                     window, dilation, a, x.shape());
  return ops::windows_of(x, ops::Windows(ops::words(a, window, stride, dilation)), a);
}

Tensor overlap_add(const Operand& operand, std::int64_t axis, std::int64_t stride, std::int64_t dilation,
                   std::int64_t extent) {
  const tape::OpScope scope(operand);
  const Tensor x = ops::to_tensor("overlap_add", operand);
  if (x.rank() < 2)
    fail<ShapeError>("overlap_add", "x has shape {}; it must have an axis of windows and a last axis of their elements",
                     x.shape());
  const int a = ops::normalize("overlap_add", axis, x, -1);
  ops::check_steps("overlap_add", stride, dilation);
  const std::int64_t count = x.shape()[a], size = x.shape()[-1];
  if (count == 0 || size == 0)
    fail<ShapeError>("overlap_add", "x has shape {}; there must be windows, and elements in them", x.shape());
  std::int64_t covered = 0;
  const std::int64_t starts = ops::span_of(count, stride), span = ops::span_of(size, dilation);
  if (starts < 0 || span < 0 || __builtin_add_overflow(starts, span - 1, &covered))
    fail<ShapeError>("overlap_add", "the windows exceed the largest extent");
  if (extent != -1 && extent < covered)
    fail<ShapeError>("overlap_add", "the extent is {}, but the windows cover {} elements", extent, covered);
  Shape shape = x.shape();
  shape.pop_back();
  shape[a] = std::max(extent, covered);
  ops::require_shape("overlap_add", shape);
  return ops::add_windows(x, a, shape[a], ops::Windows(ops::words(a, size, stride, dilation)));
}

Tensor pixel_shuffle(const Operand& operand, std::int64_t r) {
  const tape::OpScope scope(operand);
  constexpr const char* op = "pixel_shuffle";
  const ops::Images i(op, operand, r);
  const std::int64_t channels = i.channels / (r * r);
  if (channels * r * r != i.channels)
    fail<ShapeError>(op, "x has shape {}: {} channels are no multiple of {}", i.x.shape(), i.channels, r * r);
  return i.rearrange({channels, r, r, i.rows, i.columns}, {0, 3, 1, 4, 2},
                     {channels, ops::multiply_extents(op, i.rows, r), ops::multiply_extents(op, i.columns, r)});
}

Tensor pixel_unshuffle(const Operand& operand, std::int64_t r) {
  const tape::OpScope scope(operand);
  constexpr const char* op = "pixel_unshuffle";
  const ops::Images i(op, operand, r);
  const std::int64_t rows = i.rows / r, columns = i.columns / r;
  if (rows * r != i.rows || columns * r != i.columns)
    fail<ShapeError>(op, "x has shape {}: {} does not divide rows and columns", i.x.shape(), r);
  return i.rearrange({i.channels, rows, r, columns, r}, {0, 2, 4, 1, 3},
                     {ops::multiply_extents(op, i.channels, r * r), rows, columns});
}

Tensor channel_shuffle(const Operand& operand, std::int64_t groups) {
  const tape::OpScope scope(operand);
  constexpr const char* op = "channel_shuffle";
  if (groups < 1) fail<ValueError>(op, "groups is {}; it must be at least 1", groups);
  const ops::Images i(op, operand, 1);
  if (i.channels % groups != 0)
    fail<ShapeError>(op, "x has shape {}: {} channels are no multiple of {}", i.x.shape(), i.channels, groups);
  return i.rearrange({groups, i.channels / groups, i.rows, i.columns}, {1, 0, 2, 3}, {i.channels, i.rows, i.columns});
}

Tensor space_to_batch(const Operand& operand, const Shape& block, const Shape& before, const Shape& after) {
  const tape::OpScope scope(operand);
  Tensor x = ops::to_tensor("space_to_batch", operand);
  const ops::BlockAxes b("space_to_batch", x, block, before, after);
  Shape front, back;
  for (int d = 0; d < x.rank(); ++d) {
    const bool inside = d > 0 && d <= b.axes;
    std::int64_t extent = x.shape()[d];
    if (inside && (__builtin_add_overflow(extent, before[d - 1], &extent) ||
                   __builtin_add_overflow(extent, after[d - 1], &extent)))
      fail<ShapeError>("space_to_batch", "axis {} exceeds the largest extent", d);
    front.push_back(inside ? before[d - 1] : 0);
    back.push_back(inside ? after[d - 1] : 0);
  }
  x = pad(x, front, back);
  Shape split{x.shape()[0]}, order, shape{ops::multiply_extents("space_to_batch", x.shape()[0], b.count)};
  for (int d = 1; d <= b.axes; ++d) {
    if (x.shape()[d] % block[d - 1] != 0)
      fail<ShapeError>("space_to_batch", "block {} does not divide axis {} of x padded, {}", block, d, x.shape());
    split.push_back(x.shape()[d] / block[d - 1]);
    split.push_back(block[d - 1]);
    order.push_back(2 * d);
    shape.push_back(x.shape()[d] / block[d - 1]);
  }
  order.push_back(0);
  for (int d = 1; d <= b.axes; ++d) order.push_back(2 * d - 1);
  for (int d = b.axes + 1; d < x.rank(); ++d) {
    order.push_back(split.rank());
    split.push_back(x.shape()[d]);
    shape.push_back(x.shape()[d]);
  }
  return reshape(transpose(reshape(x, split), order), shape);
}

Tensor batch_to_space(const Operand& operand, const Shape& block, const Shape& before, const Shape& after) {
  const tape::OpScope scope(operand);
  const Tensor x = ops::to_tensor("batch_to_space", operand);
  const ops::BlockAxes b("batch_to_space", x, block, before, after);
  const Shape extents = x.shape();
  if (extents[0] % b.count != 0)
    fail<ShapeError>("batch_to_space", "x has shape {}: axis 0 is no multiple of {}, all of block", extents, b.count);
  Shape split = block, order{b.axes}, shape{extents[0] / b.count};
  split.push_back(extents[0] / b.count);
  detail::List<SliceItem> items(1);
  for (int d = 1; d <= b.axes; ++d) {
    split.push_back(extents[d]);
    order.push_back(b.axes + d);
    order.push_back(d - 1);
    const std::int64_t extent = ops::multiply_extents("batch_to_space", extents[d], block[d - 1]);
    std::int64_t cut;
    if (__builtin_add_overflow(before[d - 1], after[d - 1], &cut) || cut > extent)
      fail<ShapeError>("batch_to_space", "before {} and after {} cut more than the {} elements of axis {}", before,
                       after, extent, d);
    shape.push_back(extent);
    items.push_back(range(before[d - 1], extent - after[d - 1]));
  }
  for (int d = b.axes + 1; d < extents.rank(); ++d) {
    order.push_back(split.rank());
    split.push_back(extents[d]);
    shape.push_back(extents[d]);
  }
  return slice(reshape(transpose(reshape(x, split), order), shape), items);
}

}  // namespace reel
