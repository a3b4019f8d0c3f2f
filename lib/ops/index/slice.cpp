// slice: Python's start:stop:step per axis, as a view. Its transpose, place, copies into zeros. Each is the other's
// derivative, to every order.
#include <algorithm>
#include <reel/ops/indexing.hpp>
#include <reel/ops/make.hpp>

#include "csource/writer.hpp"
#include "loops/make/fill.hpp"
#include "ops/apply/table.hpp"
#include "ops/attributes.hpp"
#include "ops/index/indices.hpp"
#include "ops/shape/view.hpp"

namespace reel {

namespace ops {

namespace {

// The elements start, start + step, ... of an axis, `count` of them.
struct AxisRange {
  std::int64_t start, step, count;
};

// The part of x that a slice takes, as attributes: three words per axis of x, then extents. For slice they are the
// extents of the result, which may have fewer axes, and more axes of extent 1; for its transpose, place, those of x.
class SlicePart {
 public:
  SlicePart(Attributes words, int rank) : words_(words), rank_(rank) {}
  int rank() const noexcept { return rank_; }
  AxisRange range(int d) const noexcept {
    const std::int64_t* at = words_.data() + 3 * d;
    return {at[0], at[1], at[2]};
  }
  std::int64_t count(int d) const noexcept { return words_[3 * static_cast<std::size_t>(d) + 2]; }
  Attributes extents() const noexcept { return words_.subspan(range_words()); }
  Attributes ranges() const noexcept { return words_.first(range_words()); }
  // Whether the ranges have these counts.
  bool counts(std::span<const std::int64_t> extents) const noexcept {
    bool all = range_words() == 3 * extents.size();
    for (int d = 0; all && d < rank_; ++d) all = count(d) == extents[static_cast<std::size_t>(d)];
    return all;
  }

 private:
  std::size_t range_words() const noexcept { return 3 * static_cast<std::size_t>(rank_); }
  Attributes words_;
  int rank_;
};

// The words of a part of a tensor of `rank` axes.
class PartWords {
 public:
  explicit PartWords(int rank) noexcept : size_(3 * rank) {}
  // The ranges of a recorded op, followed by other extents. For cotangents, the batch axis is taken whole.
  PartWords(const tape::Record& r, Attributes ranges, const Shape& extents) noexcept
      : PartWords(static_cast<int>(ranges.size()) / 3 + r.batch_rank()) {
    if (r.batch_rank()) add({0, 1, extents.begin()[0]});
    for (const std::int64_t word : ranges) words_[range_words_++] = word;
    for (const std::int64_t extent : extents) add_extent(extent);
  }
  void add(const AxisRange& c) noexcept {
    words_[range_words_] = c.start;
    words_[range_words_ + 1] = c.step;
    words_[range_words_ + 2] = c.count;
    range_words_ += 3;
  }
  void add_extent(std::int64_t extent) noexcept { words_[size_++] = extent; }
  // The number of axes with a range.
  int axes() const noexcept { return range_words_ / 3; }
  operator Attributes() const noexcept { return {words_, static_cast<std::size_t>(size_)}; }

 private:
  std::int64_t words_[4 * max_rank];
  int range_words_ = 0, size_;
};

// The strides of the part of x, which has `own` strides, in a shape that lacks some axes, and has further axes, of
// extent 1.
void stride_other_axes(const std::int64_t* own, const SlicePart& p, const Shape& shape, std::int64_t* strides) {
  const bool empty = shape.elements() == 0;
  std::int64_t next = 1;  // stride of an axis of extent 1: the span of the axes behind it
  int axis = p.rank();
  for (int k = shape.rank(); k-- > 0;) {
    const std::int64_t extent = shape.begin()[k];
    strides[k] = next;
    if (!empty && extent != 1) {
      do --axis;
      while (p.count(axis) == 1);
      strides[k] = own[axis] * p.range(axis).step;
    }
    next = strides[k] * extent;
  }
}

// The part of x as a view with the shape of the result.
void locate(const std::int64_t* own, const SlicePart& p, const Shape& shape, std::int64_t& offset, Shape& strides) {
  strides = shape;
  offset = 0;
  bool same_axes = p.rank() == shape.rank(), empty = false;
  for (int d = 0; d < p.rank(); ++d) {
    const AxisRange c = p.range(d);
    const std::int64_t stride = own[d];
    empty |= c.count == 0;
    offset += c.start * stride;
    same_axes = same_axes && c.count == shape.begin()[d];
    if (same_axes) strides.begin()[d] = c.count > 1 ? stride * c.step : stride;
  }
  if (empty) offset = 0;
  if (!same_axes) stride_other_axes(own, p, shape, strides.begin());
}

Tensor view_of(const Tensor& x, const SlicePart& p, const Shape& shape) {
  std::int64_t offset;
  Shape strides;
  locate(detail::block(x)->strides(), p, shape, offset, strides);
  return view(x, offset, shape, strides);
}
csource::Array view_of(const csource::Array& x, const SlicePart& p, const Shape& shape) {
  std::int64_t offset;
  Shape strides;
  locate(x.strides.begin(), p, shape, offset, strides);
  return csource::view(x, csource::Index(offset), shape, strides);
}

// ---- slice and its transpose

Tensor take(const Tensor& x, Attributes part);
Tensor place(const Tensor& g, Attributes part);
Tensor place_in_sum(const Tensor& g, Attributes part);

// Adds g to the part of `sum`: in reverse, a loop over the rows of a matrix then costs one pass over the matrix, not
// one per row. Elements outside the part keep a -0, as in a sum with place_in_sum(g).
void add_to_part(const Tensor& sum, const Tensor& g, const SlicePart& p) {
  loops::pointwise_into_view(loop_of<"add">(sum.dtype()), g, view_of(sum, p, g.shape()));
}

Tensor take_transposed(const tape::Record& r, const Tensor& g) {
  Shape x = r.shape(0);
  const Attributes ranges = SlicePart(r.attributes(), x.rank()).ranges();
  if (r.batch_rank()) x = r.batched(x);
  const PartWords part(r, ranges, x);
  if (Tensor sum = r.take_sum(0); sum.defined()) {
    add_to_part(sum, g, {part, part.axes()});
    return sum;
  }
  return r.has_sum(0) ? place_in_sum(g, part) : place(g, part);
}
Tensor take_again(const tape::Record& r, const Tensor& t) { return take(t, r.attributes()); }
Tensor place_transposed(const tape::Record& r, const Tensor& g) {
  const SlicePart part(r.attributes(), r.output_shape().rank());
  return take(g, PartWords(r, part.ranges(), r.batched(r.shape(0))));
}
Tensor place_again(const tape::Record& r, const Tensor& t) { return place(t, r.attributes()); }

void infer_slice(const Call& call, Metas& out) {
  const detail::Block* x = detail::block(call.input(0));
  const SlicePart p(call.attributes, x->rank);
  Meta& y = out.add_view(0, x->dtype, p.extents());
  locate(x->strides(), p, y.shape, y.offset, y.strides);
}
constexpr Primitive slice_primitive = {
    .rule = linear<take_transposed, take_again>("slice"), .infer = infer_slice, .evaluate = evaluate_view};

// Each part has three words per axis, then extents. Programs merge places of several parts, which are added in this
// order; tapes record places of one part only.
SlicePart part_of(const Call& call, std::size_t k) {
  const std::size_t words = call.attributes.size() / call.inputs.size();
  return {call.attributes.subspan(k * words, words), static_cast<int>(words / 4)};
}
void infer_place(const Call& call, Metas& out) {
  const Attributes extents = part_of(call, 0).extents();
  out.add(call.input(0).dtype(), Shape(extents.data(), extents.size()));
}
template <void (*Fill)(const Tensor&)>
void evaluate_place(const Call& call, Outputs& out) {
  const Tensor &g = call.input(0), &y = out[0];
  const SlicePart p = part_of(call, 0);
  const detail::Block* b = detail::block(y);
  if (!p.counts({b->extents(), b->rank})) Fill(y);
  loops::copy(g, view_of(y, p, g.shape()));
  for (std::size_t k = 1; k < call.inputs.size(); ++k) add_to_part(y, call.input(k), part_of(call, k));
}
void write_place(const Call& call, csource::Writer& w) {
  const csource::Array& y = w.output(0);
  const SlicePart p = part_of(call, 0);
  if (!p.counts({y.shape.begin(), y.shape.size()})) w.fill(y, w.zero(y.dtype));
  w.copy(w.input(0), view_of(y, p, w.input(0).shape));
  for (std::size_t k = 1; k < call.inputs.size(); ++k)
    w.add(w.input(k), view_of(y, part_of(call, k), w.input(k).shape));
}
constexpr Primitive place_primitive = {.rule = linear<place_transposed, place_again>("place"),
                                       .infer = infer_place,
                                       .evaluate = evaluate_place<loops::fill_zero>,
                                       .write_c = write_place};
// What is outside of the part keeps the bits of the other term of a sum.
constexpr Primitive place_in_sum_primitive = {.rule = place_primitive.rule,
                                              .infer = infer_place,
                                              .evaluate = evaluate_place<loops::fill_additive_identity>,
                                              .write_c = write_place};

}  // namespace

const Primitive& place_of_parts() noexcept { return place_primitive; }
const Primitive& place_of_term() noexcept { return place_in_sum_primitive; }

namespace {

Tensor take(const Tensor& x, Attributes part) { return apply(slice_primitive, {&x}, part); }
Tensor place(const Tensor& g, Attributes part) { return apply(place_primitive, {&g}, part); }
Tensor place_in_sum(const Tensor& g, Attributes part) { return apply(place_in_sum_primitive, {&g}, part); }

// ---- slice_update. Inputs: x, the part. Attributes: whether x may be overwritten, then those of slice.

Tensor update(const Tensor& x, const Tensor& part, Attributes where, bool given_up = false);

SlicePart updated_part(Attributes attributes, int rank) { return {attributes.subspan(1), rank}; }
void update_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  const SlicePart p = updated_part(r.attributes(), r.output_shape().rank());
  const Shape shape = r.batched(attribute_shape(p.extents()));
  const PartWords where(r, p.ranges(), shape);
  if (r.wanted(0)) dx[0] = update(g[0], broadcast_to(zeros({}, g[0].dtype()), shape), where);
  if (r.wanted(1)) dx[1] = take(g[0], where);
}
void update_jvp(const tape::Record& r, std::span<const Tensor> t, std::span<Tensor> dy) {
  const Shape shape = r.output_shape();
  const auto or_zeros = [&](const Tensor& part, const Shape& of) {
    return part.defined() ? part : broadcast_to(zeros({}, r.output_dtype()), of);
  };
  dy[0] = update(or_zeros(t[0], shape),
                 or_zeros(t[1], attribute_shape(updated_part(r.attributes(), shape.rank()).extents())),
                 r.attributes().subspan(1));
}
void infer_update(const Call& call, Metas& out) { out.add_like(call.input(0)); }
void evaluate_update(const Call& call, Outputs& out) {
  const Tensor &x = call.input(0), &part = call.input(1);
  detail::Block* b = detail::block(x);
  if (call.attribute(0) != 0 && detail::reusable(b)) {
    out.set(0, x);
    detail::renew(b);
  } else {
    loops::copy(x, out[0]);
  }
  loops::copy(part, view_of(out[0], updated_part(call.attributes, x.rank()), part.shape()));
}
void write_update(const Call& call, csource::Writer& w) {
  w.copy(w.input(0), w.output(0));
  w.copy(w.input(1), view_of(w.output(0), updated_part(call.attributes, w.input(0).rank()), w.input(1).shape));
}
constexpr Primitive update_primitive = {.rule = batched({"slice_update", update_vjp, update_jvp}),
                                        .infer = infer_update,
                                        .evaluate = evaluate_update,
                                        .write_c = write_update};

// Those of a part of up to four axes need no allocation.
using UpdateAttributes = detail::ShortList<std::int64_t, 17>;

Tensor update(const Tensor& x, const Tensor& part, Attributes where, bool given_up) {
  UpdateAttributes attributes(1 + where.size());
  attributes[0] = given_up;
  std::copy(where.begin(), where.end(), attributes.begin() + 1);
  return apply(update_primitive, {&x, &part}, attributes);
}

AxisRange index_range(const char* op, const SliceItem& item, int axis, const Shape& shape) {
  const std::int64_t n = shape.begin()[axis], i = item.start < 0 ? item.start + n : item.start;
  if (i < 0 || i >= n)
    fail<IndexError>(op, "index {} is out of range for axis {} of x, of shape {}", item.start, axis, shape);
  return {i, 1, 1};
}

// Python's rules: an end counts from the back when negative, and is then clamped to the axis.
AxisRange python_range(const char* op, const SliceItem& item, std::int64_t n) {
  if (item.step == 0) fail<ValueError>(op, "the step of a range is 0; it must not be");
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

PartWords part(const char* op, const Shape& shape, std::span<const SliceItem> items) {
  using enum SliceItem::Kind;
  PartWords part(shape.rank());
  int named = 0, ellipses = 0;
  for (const SliceItem& item : items) {
    named += item.kind != newaxis && item.kind != ellipsis;
    ellipses += item.kind == ellipsis;
  }
  if (ellipses > 1) fail<IndexError>(op, "there are {} ellipses; at most one can stand for the axes left", ellipses);
  if (named > shape.rank())
    fail<IndexError>(op, "there are {} items for x, of shape {}, which has {} axes", named, shape, shape.rank());
  int rank = 0;  // of the result
  const auto add_axis = [&](std::int64_t extent) {
    if (rank++ == max_rank) detail::fail_rank();
    part.add_extent(extent);
  };
  const auto take_axis = [&](const AxisRange& c) {
    part.add(c);
    add_axis(c.count);
  };
  const auto whole_axes = [&](int count) {
    for (int i = 0; i < count; ++i) take_axis({0, 1, shape.begin()[part.axes()]});
  };
  for (const SliceItem& item : items) switch (item.kind) {
      case newaxis:
        add_axis(1);
        break;
      case ellipsis:
        whole_axes(shape.rank() - named);
        break;
      case all:
        whole_axes(1);
        break;
      case index:
        part.add(index_range(op, item, part.axes(), shape));
        break;
      case range:
        take_axis(python_range(op, item, shape.begin()[part.axes()]));
        break;
    }
  whole_axes(shape.rank() - part.axes());
  return part;
}

}  // namespace

}  // namespace ops

namespace ops {

Tensor slice_part(const char* op, const Tensor& x, std::span<const SliceItem> items) {
  return take(x, part(op, x.shape(), items));
}

Tensor slice_update_part(const char* op, const Tensor& x, std::span<const SliceItem> items, const Tensor& part_of_x) {
  const PartWords where = part(op, x.shape(), items);
  return update(x, part_of_x, where);
}

Tensor in_dtype_of(const Tensor& x, const char* op, const Operand& values, const char* name) {
  const auto category = [](DType d) { return d == DType::boolean ? 0 : is_integer(d) ? 1 : is_complex(d) ? 3 : 2; };
  if (values.is_tensor() && values.tensor().defined() && category(values.tensor().dtype()) > category(x.dtype()))
    fail<TypeError>(op, "{} is {}, which x, {}, cannot hold; cast one of them", name, values.tensor().dtype(),
                    x.dtype());
  return to_tensor(op, values, x.dtype(), name);
}

Tensor values_for(const char* op, const Tensor& x, const Operand& values, const Shape& shape) {
  const Tensor v = in_dtype_of(x, op, values, "values");
  if (v.shape() == shape) return v;
  bool fits = v.rank() <= shape.rank();
  for (int d = 1; fits && d <= v.rank(); ++d) fits = v.shape()[-d] == 1 || v.shape()[-d] == shape[-d];
  if (!fits)
    fail<ShapeError>(op, "values have shape {}, which does not broadcast to {}, that of the elements", v.shape(),
                     shape);
  return broadcast_to(v, shape);
}

}  // namespace ops

Tensor slice_update(const Operand& operand, std::initializer_list<SliceItem> items, const Operand& values) {
  const tape::OpScope scope(operand);
  Tensor scratch;
  const bool given_up = ops::given_up(operand);
  const Tensor& x = ops::as_tensor("slice_update", operand, scratch);
  const ops::PartWords where = ops::part("slice_update", x.shape(), std::span(items.begin(), items.size()));
  const Tensor part =
      ops::values_for("slice_update", x, values, ops::attribute_shape(ops::SlicePart(where, x.rank()).extents()));
  if (given_up) scratch = std::move(const_cast<Tensor&>(operand.tensor()));
  return ops::update(given_up ? scratch : x, part, where, given_up);
}

Tensor slice_add(const Operand& operand, std::initializer_list<SliceItem> items, const Operand& values) {
  const tape::OpScope scope(operand);
  const Tensor x = ops::to_tensor("slice_add", operand);
  const ops::PartWords where = ops::part("slice_add", x.shape(), std::span(items.begin(), items.size()));
  const Tensor part = ops::take(x, where);
  return ops::update(x, part + ops::values_for("slice_add", x, values, part.shape()), where);
}

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
  Tensor scratch;
  const Tensor& x = ops::as_tensor("slice", operand, scratch);
  return ops::take(x, ops::part("slice", x.shape(), items));
}
Tensor slice(const Operand& operand, std::initializer_list<SliceItem> items) {
  return slice(operand, std::span(items.begin(), items.size()));
}

Tensor Tensor::operator[](detail::Index i) const {
  const SliceItem item(i.value);
  return slice(Operand(*this, i.file, i.line), std::span(&item, 1));
}

}  // namespace reel
