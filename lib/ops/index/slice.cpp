// slice: Python's start:stop:step per axis, as a view. Its transpose, place, copies into zeros; each is the other's
// derivative to every order.
#include <algorithm>
#include <reel/ops/index.hpp>
#include <reel/ops/make.hpp>

#include "kernels/table.hpp"
#include "ops/shape/view.hpp"

namespace reel {

namespace ops {

namespace {

// Elements start, start + step, ... of an axis, `count` of them. As attributes: three numbers per axis of x.
struct Cut {
  std::int64_t start, step, count;
};
static_assert(sizeof(Cut) == 3 * sizeof(std::int64_t));

struct Plan {
  Cut cuts[max_rank];
  int rank = 0;
  Shape shape;  // of the result, which may have fewer and more axes of extent 1

  std::span<const std::int64_t> attributes() const { return {&cuts[0].start, static_cast<std::size_t>(3 * rank)}; }
};

Plan plan_of(std::span<const std::int64_t> attributes, const Shape& shape) {
  Plan p;
  p.rank = static_cast<int>(attributes.size() / 3);
  std::copy(attributes.begin(), attributes.end(), &p.cuts[0].start);
  p.shape = shape;
  return p;
}

// The plan for cotangents: their leading axis is taken whole.
Plan led(const tape::Record& r, Plan p) {
  if (!r.lead()) return p;
  p.shape = r.led(p.shape);
  std::copy_backward(p.cuts, p.cuts + p.rank, p.cuts + p.rank + 1);
  p.cuts[0] = {0, 1, p.shape[0]};
  ++p.rank;
  return p;
}

// The part of x, in the shape of the result.
Tensor part(const Tensor& x, const Plan& p) {
  const detail::Block* b = detail::block(x);
  Shape extents, strides;
  std::int64_t offset = 0;
  for (int d = 0; d < p.rank; ++d) {
    const Cut& c = p.cuts[d];
    extents.push_back(c.count);
    strides.push_back(c.count > 1 ? b->strides()[d] * c.step : b->strides()[d]);
    if (c.count > 0) offset += c.start * b->strides()[d];
  }
  if (std::any_of(extents.begin(), extents.end(), [](std::int64_t e) { return e == 0; })) offset = 0;
  const Tensor y = view(x, offset, extents, strides);
  return extents == p.shape ? y : reshaped_view(y, p.shape);  // only axes of extent 1 differ: always a view
}

Tensor take(const Tensor& x, const Plan& p);
Tensor place(const Tensor& g, const Shape& shape, const Plan& p);

// sum's part += g: a loop over the rows of a matrix costs the matrix once in reverse, not once per row.
void add_to_part(const Tensor& sum, const Tensor& g, const Plan& p) {
  const Tensor to = part(sum, p);
  const kernels::Loop add =
      kernels::active().pointwise(kernels::row_of<"add">(), static_cast<kernels::Type>(sum.dtype())).value;
  const Tensor* both[] = {&to, &g};
  const Tensor total = to.is_contiguous() ? to : detail::empty(to.dtype(), to.shape());
  loops::pointwise(add, to.shape(), both, total);
  if (!to.is_contiguous()) loops::copy(total, to);
}

Tensor take_transposed(const tape::Record& r, const Tensor& g) {
  const Plan p = led(r, plan_of(r.attributes(), r.output_shape()));
  if (Tensor sum = r.take_sum(0); sum.defined()) {
    add_to_part(sum, g, p);
    return sum;
  }
  return place(g, r.led(r.shape(0)), p);
}
Tensor take_again(const tape::Record& r, const Tensor& t) { return take(t, plan_of(r.attributes(), r.output_shape())); }
Tensor place_transposed(const tape::Record& r, const Tensor& g) {
  return take(g, led(r, plan_of(r.attributes(), r.shape(0))));
}
Tensor place_again(const tape::Record& r, const Tensor& t) {
  return place(t, r.output_shape(), plan_of(r.attributes(), t.shape()));
}
constexpr tape::Rule slice_rule = linear<take_transposed, take_again>("slice"),
                     place_rule = linear<place_transposed, place_again>("place");

Tensor take(const Tensor& x, const Plan& p) { return finish(slice_rule, x, part(x, p), p.attributes()); }

Tensor place(const Tensor& g, const Shape& shape, const Plan& p) {
  bool whole = true;  // each element of the result is written: no zeros needed
  for (int d = 0; d < p.rank; ++d) whole = whole && p.cuts[d].count == shape.begin()[d];
  const Tensor y = whole ? detail::empty(g.dtype(), shape) : zeros(shape, g.dtype());
  loops::copy(g, part(y, p));
  return finish(place_rule, g, y, p.attributes());
}

Cut index_cut(const SliceItem& item, int axis, const Shape& shape) {
  const std::int64_t n = shape.begin()[axis], i = item.start < 0 ? item.start + n : item.start;
  if (i < 0 || i >= n)
    fail<IndexError>("slice", "index {} is out of range for axis {} of x, of shape {}", item.start, axis, shape);
  return {i, 1, 1};
}

// Python's rules: an end counts from the back when negative, and is then cut to the axis.
Cut range_cut(const SliceItem& item, std::int64_t n) {
  if (item.step == 0) fail<ValueError>("slice", "the step of a range is 0; it must not be");
  const std::int64_t step = std::max(item.step, -INT64_MAX);
  const std::int64_t low = step > 0 ? 0 : -1, high = step > 0 ? n : n - 1;
  const auto end = [&](bool given, std::int64_t at, std::int64_t otherwise) {
    return given ? std::clamp(at < 0 ? at + n : at, low, high) : otherwise;
  };
  const std::int64_t start = end(item.has_start, item.start, step > 0 ? low : high);
  const std::int64_t stop = end(item.has_stop, item.stop, step > 0 ? high : low);
  if (step > 0) return {start, step, stop > start ? (stop - start - 1) / step + 1 : 0};
  return {start, step, start > stop ? (start - stop - 1) / -step + 1 : 0};
}

Plan plan(const Shape& shape, std::span<const SliceItem> items) {
  using enum SliceItem::Kind;
  Plan p;
  int named = 0, ellipses = 0;
  for (const SliceItem& item : items) {
    named += item.kind != newaxis && item.kind != ellipsis;
    ellipses += item.kind == ellipsis;
  }
  if (ellipses > 1)
    fail<IndexError>("slice", "there are {} ellipses; at most one can stand for the axes left", ellipses);
  if (named > shape.rank())
    fail<IndexError>("slice", "there are {} items for x, of shape {}, which has {} axes", named, shape, shape.rank());
  const auto whole_axes = [&](int count) {
    for (int i = 0; i < count; ++i) {
      const std::int64_t n = shape.begin()[p.rank];
      p.cuts[p.rank++] = {0, 1, n};
      p.shape.push_back(n);
    }
  };
  for (const SliceItem& item : items) switch (item.kind) {
      case newaxis:
        p.shape.push_back(1);
        break;
      case ellipsis:
        whole_axes(shape.rank() - named);
        break;
      case all:
        whole_axes(1);
        break;
      case index:
        p.cuts[p.rank] = index_cut(item, p.rank, shape);
        ++p.rank;
        break;
      case range:
        p.cuts[p.rank] = range_cut(item, shape.begin()[p.rank]);
        p.shape.push_back(p.cuts[p.rank++].count);
        break;
    }
  whole_axes(shape.rank() - p.rank);
  return p;
}

}  // namespace

}  // namespace ops

SliceItem::SliceItem(Tensor (*whole_axis)(const Operand&, const Axes&, bool)) {
  if (whole_axis != &reel::all)
    fail<TypeError>("slice", "a function is no item of a slice, but for reel::all, which stands for the whole axis");
}

SliceItem range(std::int64_t start, std::int64_t stop, std::int64_t step) {
  SliceItem item(SliceItem::Kind::range);
  item.has_start = item.has_stop = true;
  item.start = start;
  item.stop = stop;
  item.step = step;
  return item;
}
SliceItem range_from(std::int64_t start, std::int64_t step) {
  SliceItem item = range(start, 0, step);
  item.has_stop = false;
  return item;
}
SliceItem range_to(std::int64_t stop, std::int64_t step) {
  SliceItem item = range(0, stop, step);
  item.has_start = false;
  return item;
}

Tensor slice(const Operand& operand, std::span<const SliceItem> items) {
  const tape::OpScope scope(operand);
  Tensor held;
  const Tensor& x = ops::given("slice", operand, held);
  return ops::take(x, ops::plan(x.shape(), items));
}
Tensor slice(const Operand& operand, std::initializer_list<SliceItem> items) {
  return slice(operand, std::span(items.begin(), items.size()));
}

Tensor Tensor::operator[](detail::Index i) const {
  const SliceItem item(i.value);
  return slice(Operand(*this, i.file, i.line), std::span(&item, 1));
}

}  // namespace reel
