// Borders that repeat elements. A border is filled axis by axis from the inside; later axes also copy the borders of
// earlier ones. The transpose folds the borders back in the opposite order.
#include <algorithm>
#include <reel/ops/windows.hpp>

#include "csource/writer.hpp"
#include "loops/make/fill.hpp"
#include "ops/apply/table.hpp"
#include "ops/shape/view.hpp"

namespace reel {
namespace ops {
namespace {

// ---- pad and its transpose, fold; attributes: mode, then the elements before, then those after each axis

struct Borders {
  PadMode mode;
  Shape before, after;
  explicit Borders(std::span<const std::int64_t> a)
      : mode(static_cast<PadMode>(a[0])),
        before(attribute_shape(a.subspan(1, a.size() / 2))),
        after(attribute_shape(a.last(a.size() / 2))) {}
};

// The element of [0, n) that position k, any integer, repeats.
std::int64_t element_at(std::int64_t k, std::int64_t n, PadMode mode) {
  if (mode == PadMode::edge || n == 1) return std::clamp<std::int64_t>(k, 0, n - 1);
  const std::int64_t period = mode == PadMode::wrap ? n : mode == PadMode::reflect ? 2 * (n - 1) : 2 * n;
  const std::int64_t m = (k % period + period) % period;
  if (m < n) return m;
  return mode == PadMode::reflect ? period - m : period - 1 - m;
}

// `count` positions from `to` on that repeat the elements from, from + step, ...; both count from the first element of
// the axis.
struct Run {
  std::int64_t to, from, step, count;
};

// Calls f(run) for the runs of the border [first, last).
template <class F>
void for_runs(std::int64_t first, std::int64_t last, std::int64_t n, PadMode mode, const F& f) {
  while (first < last) {
    const std::int64_t from = element_at(first, n, mode);
    Run run{first, from, 0, 1};
    if (first + 1 < last) run.step = element_at(first + 1, n, mode) - from;
    if (run.step < -1 || run.step > 1) run.step = 1;  // end of a period: a run of one
    while (run.to + run.count < last && element_at(run.to + run.count, n, mode) == run.from + run.count * run.step)
      ++run.count;
    f(run);
    first += run.count;
  }
}

// Elements of an axis at a step, which may be 0 or negative.
Tensor slice_steps(const Tensor& x, int axis, std::int64_t start, std::int64_t step, std::int64_t count) {
  const detail::Block& b = *detail::block(x);
  Shape shape = x.shape(), strides(b.strides(), b.rank);
  shape[axis] = count;
  const std::int64_t offset = start * strides[axis];
  strides[axis] *= step;
  return view(x, offset, shape, strides);
}

// Calls f(part, run) for each run of the borders of an axis: `part` is y without the borders of later axes.
template <class F>
void for_borders(const Tensor& y, const Borders& b, int axis, const F& f) {
  Tensor part = y;
  for (int d = axis + 1; d < y.rank(); ++d)
    part = section(part, d, b.before[d], y.shape()[d] - b.before[d] - b.after[d]);
  const std::int64_t n = y.shape()[axis] - b.before[axis] - b.after[axis];
  for_runs(-b.before[axis], 0, n, b.mode, [&](const Run& run) { f(part, run); });
  for_runs(n, n + b.after[axis], n, b.mode, [&](const Run& run) { f(part, run); });
}
Tensor inside_of(const Tensor& y, const Borders& b) {
  Tensor inside = y;
  for (int d = 0; d < y.rank(); ++d) inside = section(inside, d, b.before[d], y.shape()[d] - b.before[d] - b.after[d]);
  return inside;
}

Tensor fold(const Tensor& g, PadMode mode, const Shape& before, const Shape& after);
Tensor padded(const Tensor& x, PadMode mode, const Shape& before, const Shape& after);

// Calls f with the borders of the record; cotangents have no border along their leading axis.
template <auto f>
Tensor extend_border(const tape::Record& r, const Tensor& x) {
  const Borders b(r.attributes());
  return f(x, b.mode, b.before, b.after);
}
template <auto f>
Tensor bordered_batch(const tape::Record& r, const Tensor& x) {
  Borders b(r.attributes());
  for (Shape* s : {&b.before, &b.after})
    if (r.batch_rank()) s->insert(0, 0);
  return f(x, b.mode, b.before, b.after);
}
// The input's shape plus (or, for -1, minus) the borders.
template <int sign>
void infer_bordered(const Call& call, Metas& out) {
  const Borders b(call.attributes);
  Shape shape = call.input(0).shape();
  for (int d = 0; d < shape.rank(); ++d) shape[d] += sign * (b.before[d] + b.after[d]);
  out.add(call.input(0).dtype(), shape);
}

void evaluate_bordered(const Call& call, Outputs& out) {
  const Tensor &x = call.input(0), &y = out[0];
  if (y.size() == 0) return;
  const Borders b(call.attributes);
  loops::copy(x, inside_of(y, b));
  for (int d = 0; d < y.rank(); ++d)
    for_borders(y, b, d, [&](const Tensor& part, const Run& run) {
      loops::copy(slice_steps(part, d, b.before[d] + run.from, run.step, run.count),
                  section(part, d, b.before[d] + run.to, run.count));
    });
}
// Loops over the padded array, whose elements repeat those of the other, or are added to them.
void write_borders(const Call& call, csource::Writer& w, bool folds) {
  const Borders b(call.attributes);
  const csource::Array &x = w.input(0), &y = w.output(0), &whole = folds ? x : y;
  if (folds) w.fill(y, csource::Writer::zero(y.dtype));
  const csource::Blocks nest(w);
  const std::vector<csource::Index> at = w.loops(whole.shape);
  std::vector<csource::Index> inside = at;
  for (std::size_t d = 0; d < at.size(); ++d) {
    const std::int64_t before = b.before.begin()[d], n = whole.shape.begin()[d] - before - b.after.begin()[d];
    if (n != whole.shape.begin()[d])
      inside[d] =
          csource::Index(csource::cat({w.helper("border"), "(", (at[d] - before).text(), ", ", std::to_string(n), ", ",
                                       std::to_string(static_cast<int>(b.mode)), ")"}));
  }
  if (folds)
    w.accumulate(y, inside, x.at(at));
  else
    w.store(y, at, x.at(inside));
}
void write_bordered(const Call& call, csource::Writer& w) { write_borders(call, w, false); }
void write_fold(const Call& call, csource::Writer& w) { write_borders(call, w, true); }
constexpr Primitive bordered_primitive = {.rule = linear<bordered_batch<fold>, extend_border<padded>>("pad.mode"),
                                          .infer = infer_bordered<1>,
                                          .evaluate = evaluate_bordered,
                                          .write_c = write_bordered};

void evaluate_fold(const Call& call, Outputs& out) {
  const Tensor &g = call.input(0), &x = out[0];
  if (g.size() == 0) return loops::fill_zero(x);
  const Borders b(call.attributes);
  const auto add = loop_of<"add">(g.dtype());
  const Tensor sum = detail::empty(g.dtype(), g.shape());
  loops::copy(g, sum);
  for (int d = g.rank(); d-- > 0;)
    for_borders(sum, b, d, [&](const Tensor& part, const Run& run) {
      const auto fold_run = [&](std::int64_t to, std::int64_t from, std::int64_t step, std::int64_t count) {
        loops::pointwise_into_view(add, section(part, d, b.before[d] + to, count),
                                   slice_steps(part, d, b.before[d] + from, step, count));
      };
      if (run.step != 0) return fold_run(run.to, run.from, run.step, run.count);
      for (std::int64_t k = 0; k < run.count; ++k) fold_run(run.to + k, run.from, 1, 1);
    });
  loops::copy(inside_of(sum, b), x);
}
constexpr Primitive fold_primitive = {.rule = linear<bordered_batch<padded>, extend_border<fold>>("pad.fold"),
                                      .infer = infer_bordered<-1>,
                                      .evaluate = evaluate_fold,
                                      .write_c = write_fold};

detail::List<std::int64_t> attributes_of(PadMode mode, const Shape& before, const Shape& after) {
  detail::List<std::int64_t> attributes = {static_cast<std::int64_t>(mode)};
  attributes.insert(attributes.end(), before.begin(), before.end());
  attributes.insert(attributes.end(), after.begin(), after.end());
  return attributes;
}
Tensor padded(const Tensor& x, PadMode mode, const Shape& before, const Shape& after) {
  return apply(bordered_primitive, {&x}, attributes_of(mode, before, after));
}
Tensor fold(const Tensor& g, PadMode mode, const Shape& before, const Shape& after) {
  if (is_half(g.dtype())) return in_float32(g, [&](const Tensor& wide) { return fold(wide, mode, before, after); });
  return apply(fold_primitive, {&g}, attributes_of(mode, before, after));
}

void require_border(const char* which, const Shape& border, const Shape& shape) {
  if (border.rank() != shape.rank())
    fail<ShapeError>("pad", "{} has {} entries, but x, of shape {}, has {} axes", which, border.rank(), shape,
                     shape.rank());
  for (int d = 0; d < shape.rank(); ++d) {
    if (border[d] < 0)
      fail<ValueError>("pad", "{} is {}; nothing can be padded with {} elements, use slice to cut", which, border,
                       border[d]);
    if (border[d] > 0 && shape[d] == 0)
      fail<ValueError>("pad", "axis {} of x, of shape {}, has no element that a border could repeat", d, shape);
  }
}

}  // namespace
}  // namespace ops

Tensor pad(const Operand& operand, const Shape& before, const Shape& after, PadMode mode) {
  const tape::OpScope scope(operand);
  const Tensor x = ops::to_tensor("pad", operand);
  if (mode > PadMode::wrap) fail<ValueError>("pad", "there is no such mode");
  const Shape shape = x.shape();
  ops::require_border("before", before, shape);
  ops::require_border("after", after, shape);
  Shape padded = shape;
  for (int d = 0; d < shape.rank(); ++d)
    if (__builtin_add_overflow(padded[d], before[d], &padded[d]) ||
        __builtin_add_overflow(padded[d], after[d], &padded[d]))
      fail<ShapeError>("pad", "axis {} exceeds the largest extent", d);
  ops::require_shape("pad", padded);
  return ops::padded(x, mode, before, after);
}

}  // namespace reel
