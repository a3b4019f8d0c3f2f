// index and the updates by index arrays. Slices are taken first; where the arrays are separated by other items, their
// axes are moved to the front; then the indexed axes are merged into one. What remains is one gather, or one scatter,
// at positions on that axis.
#include <reel/ops/indexing.hpp>
#include <reel/ops/make.hpp>

#include "loops/index/gather.hpp"
#include "ops/apply/operation.hpp"
#include "ops/attributes.hpp"
#include "ops/index/scatter.hpp"
#include "ops/sort/order.hpp"

namespace reel {
namespace ops {
namespace {

// A scatter of terms at positions on an axis.
using UpdateAt = Tensor (*)(const Tensor& x, const Tensor& terms, const Tensor& positions, int axis);
// The same operation on x and the terms as a whole.
using Combining = Tensor (*)(const Operand& x, const Operand& values);

struct UpdateOp {
  const char* name;
  UpdateAt at_positions;
  Combining whole;  // null: the values themselves
  bool in_float32;  // float16 and bfloat16 are combined in float32
  bool ordered;     // complex numbers are refused
};

template <loops::ScatterFunction F>
Tensor extreme_at(const Tensor& x, const Tensor& terms, const Tensor& positions, int axis) {
  return scatter_extreme_at(F, x, terms, positions, axis, Member::yes);
}
constexpr UpdateOp set_op = {"index_update", scatter_set_at, nullptr, false, false};
constexpr UpdateOp add_op = {"index_add", scatter_add_at, reel::add, false, false};
constexpr UpdateOp multiply_op = {"index_multiply", scatter_multiply_at, reel::multiply, true, false};
constexpr UpdateOp max_op = {"index_max", extreme_at<loops::ScatterFunction::max>, reel::maximum, true, true};
constexpr UpdateOp min_op = {"index_min", extreme_at<loops::ScatterFunction::min>, reel::minimum, true, true};

// The elements that the items name.
class Selection {
 public:
  Selection(const char* op, const Tensor& x, IndexItems items) : op_(op), x_(x) {
    sort_items(items);
    sliced_ = changes_ ? slice_part(op, x, parts_) : x;
    if (arrays_.empty()) return;
    merge_axes();
    broadcast_arrays();
  }
  bool by_arrays() const { return !arrays_.empty(); }
  Tensor elements() {
    if (!by_arrays()) return sliced_;
    if (const Tensor y = at_once(); y.defined()) return y;
    find_positions();
    return gather_at(merged_, positions_, axis_);
  }

  Tensor update(const UpdateOp& op, const Operand& values) {
    if (!by_arrays()) {
      const Tensor part = op.whole ? op.whole(sliced_, values_for(op_, x_, values, sliced_.shape()))
                                   : values_for(op_, x_, values, sliced_.shape());
      return put_back(part);
    }
    find_positions();
    Shape region, flat;
    for (int d = 0; d < axis_; ++d) region.push_back(merged_.shape()[d]);
    flat = region;
    for (const std::int64_t extent : positions_.shape()) region.push_back(extent);
    flat.push_back(positions_.size());
    for (int d = axis_ + 1; d < merged_.rank(); ++d) {
      region.push_back(merged_.shape()[d]);
      flat.push_back(merged_.shape()[d]);
    }
    const Tensor terms = reshape(values_for(op_, x_, values, region), flat);
    Tensor y = op.at_positions(merged_, terms, reshape(positions_, {positions_.size()}), axis_);
    y = reshape(y, moved_shape_);
    if (!order_.empty()) {
      Shape back = order_;
      for (int d = 0; d < order_.rank(); ++d) back[order_[d]] = d;
      y = transpose(y, back);
    }
    return put_back(y);
  }

 private:
  struct IndexArray {
    Tensor indices;
    int axis;    // of sliced_
    int x_axis;  // the axis of x, for messages
  };

  Tensor put_back(const Tensor& part) const { return changes_ ? slice_update_part(op_, x_, parts_, part) : part; }

  void sort_items(IndexItems items) {
    using enum SliceItem::Kind;
    int named = 0, ellipses = 0;
    bool arrays = false;
    for (const IndexItem& item : items) {
      named += item.is_array() || (item.part().kind != newaxis && item.part().kind != ellipsis);
      ellipses += !item.is_array() && item.part().kind == ellipsis;
      arrays = arrays || item.is_array();
    }
    if (ellipses > 1) fail<IndexError>(op_, "there are {} ellipses; at most one can stand for the axes left", ellipses);
    if (named > x_.rank())
      fail<IndexError>(op_, "there are {} items for x, of shape {}, which has {} axes", named, x_.shape(), x_.rank());
    int axis = 0, x_axis = 0;
    const auto whole = [&](int count) {
      for (int i = 0; i < count; ++i) parts_.push_back({});
      axis += count;
      x_axis += count;
    };
    for (const IndexItem& item : items) {
      const SliceItem& s = item.part();
      if (item.is_array() || (arrays && s.kind == SliceItem::Kind::index)) {
        add_array(item.is_array() ? item.indices() : scalar(s.start), axis, x_axis);
        whole(1);
      } else if (s.kind == ellipsis) {
        whole(x_.rank() - named);
      } else {
        changes_ = changes_ || s.kind != all;
        parts_.push_back(s);
        axis += s.kind != SliceItem::Kind::index;
        x_axis += s.kind != newaxis;
      }
    }
  }

  void add_array(const Tensor& indices, int axis, int x_axis) {
    require_defined(op_, indices, "indices");
    if (indices.dtype() == DType::boolean)
      fail<TypeError>(op_, "indices must be integers, not boolean; choose by a mask with boolean_mask or where");
    require_integers(op_, indices);
    apart_ = apart_ || (!arrays_.empty() && arrays_.back().axis + 1 != axis);
    arrays_.push_back({indices, axis, x_axis});
  }

  // Moves the axes of the arrays next to each other and merges them.
  void merge_axes() {
    Tensor moved = sliced_;
    axis_ = apart_ ? 0 : arrays_[0].axis;
    const auto count = static_cast<int>(arrays_.size());
    if (apart_) {
      bool taken[max_rank] = {};
      for (const IndexArray& a : arrays_) {
        order_.push_back(a.axis);
        taken[a.axis] = true;
      }
      for (int d = 0; d < sliced_.rank(); ++d)
        if (!taken[d]) order_.push_back(d);
      moved = transpose(sliced_, order_);
    }
    moved_shape_ = moved.shape();
    if (count == 1) {
      merged_ = moved;
      return;
    }
    Shape shape;
    std::int64_t extent = 1;
    for (int d = 0; d < moved_shape_.rank(); ++d) {
      if (d < axis_ || d >= axis_ + count) shape.push_back(moved_shape_[d]);
      if (d >= axis_ && d < axis_ + count) extent *= moved_shape_[d];
      if (d == axis_ + count - 1) shape.push_back(extent);
    }
    merged_ = reshape(moved, shape);
  }

  void broadcast_arrays() {
    Shape common;
    for (const IndexArray& a : arrays_) common = broadcast_shapes(op_, common, a.indices.shape());
    require_rank(op_, merged_.rank() - 1 + common.rank());
    if (arrays_[0].indices.shape() != common) arrays_[0].indices = broadcast_to(arrays_[0].indices, common);
  }
  // Elements of a matrix that nothing follows, at pairs of indices in range: these are checked while they are used.
  // Undefined for others.
  Tensor at_once() const {
    if (arrays_.size() != 2 || merged_.rank() != 1 || merged_.size() == 0 || tape::watching() || followed(merged_))
      return {};
    const Tensor &rows = arrays_[0].indices, &columns = arrays_[1].indices;
    const Tensor* const inputs[] = {&merged_, &rows, &columns};
    if (traced(inputs) || rows.dtype() != DType::int64 || columns.dtype() != DType::int64 ||
        rows.shape() != columns.shape() || !merged_.is_contiguous() || !rows.is_contiguous() ||
        !columns.is_contiguous())
      return {};
    const Tensor y = detail::empty(merged_.dtype(), rows.shape());
    const std::int64_t width = moved_shape_[1];
    return loops::gather_pairs(merged_, merged_.size() / width, width, rows, columns, y) ? y : Tensor();
  }
  void find_positions() {
    detail::List<const Tensor*> in;
    detail::List<std::int64_t> axes_and_extents;
    for (const IndexArray& a : arrays_) {
      in.push_back(&a.indices);
      axes_and_extents.push_back(a.x_axis);
      axes_and_extents.push_back(sliced_.shape()[a.axis]);
    }
    positions_ = check_positions(op_, in, axes_and_extents);
  }

  const char* op_;
  Tensor x_, sliced_, merged_, positions_;
  detail::List<SliceItem> parts_;
  detail::List<IndexArray> arrays_;
  bool changes_ = false, apart_ = false;  // the slices take a part; the arrays are separated
  Shape order_, moved_shape_;
  int axis_ = 0;
};

Tensor update(const UpdateOp& op, const Operand& operand, IndexItems items, const Operand& values) {
  const tape::OpScope scope(operand);
  const Tensor x = op.ordered ? ordered(op.name, operand) : to_tensor(op.name, operand);
  if (op.in_float32 && is_half(x.dtype()))
    return in_float32(x, [&](const Tensor& wide) { return update(op, wide, items, values); });
  return Selection(op.name, x, items).update(op, values);
}

// ---- along an axis

// Positions in x, as one axis, for indices along an axis of it. Attributes: the address of the op's name, the axis, its
// extent, the shape to which the indices broadcast.
void infer_along(const Call& call, Metas& out) { out.add(DType::int64, shape_behind(call.attributes, 3)); }
void evaluate_along(const Call& call, Outputs& out) {
  const auto axis = static_cast<int>(call.attribute(1));
  const std::int64_t extent = call.attribute(2);
  if (const loops::BadIndex bad = loops::find_places(call.input(0), axis, extent, out[0]))
    fail_index(reinterpret_cast<const char*>(call.attribute(0)), bad.value, bad.at, axis, extent);
}
constexpr Primitive along_primitive = {.rule = {.name = "places_along"},
                                       .infer = infer_along,
                                       .evaluate = evaluate_along,
                                       .constants = 1,
                                       .effects = may_throw};

// Combines terms at indices along an axis, in one pass that checks the indices and computes positions on the way. Only
// where no tape follows an operand: derivatives read the positions. Inputs: x, terms, indices; attributes: axis,
// function, whether x is a member, the address of the op's name.
void infer_scatter_along(const Call& call, Metas& out) { out.add_like(call.input(0)); }
void evaluate_scatter_along(const Call& call, Outputs& out) {
  const auto axis = static_cast<int>(call.attribute(0));
  loops::copy(call.input(0), out[0]);
  const auto run = [&](loops::ScatterFunction f) {
    if (const loops::BadIndex bad = loops::scatter_along(f, call.input(1), call.input(2), axis, out[0]))
      fail_index(reinterpret_cast<const char*>(call.attribute(3)), bad.value, bad.at, axis, out[0].shape()[axis]);
  };
  if (call.attribute(2) == 0) run(loops::ScatterFunction::set);
  run(static_cast<loops::ScatterFunction>(call.attribute(1)));
}
constexpr Primitive scatter_along_primitive = {.rule = {.name = "scatter_along"},
                                               .infer = infer_scatter_along,
                                               .evaluate = evaluate_scatter_along,
                                               .constants = 1,
                                               .effects = may_throw};

// Terms at indices along an axis of x; x and terms agree in all other axes.
class Along {
 public:
  Tensor x, terms;
  Along(const char* op, const Tensor& tensor, const Operand& indices, const Operand& values, std::int64_t axis)
      : x(tensor), op_(op), indices_(to_tensor(op, indices, "indices")), axis_(normalize(op, axis, tensor)) {
    require_integers(op, indices_);
    const Shape chosen = indices_.shape();
    if (chosen.rank() != tensor.rank())
      fail<ShapeError>(op, "x has shape {}, indices {}: they must have the same rank", tensor.shape(), chosen);
    Shape wanted = tensor.shape();
    wanted[axis_] = chosen[axis_];
    if (broadcast_shapes(op, chosen, wanted) != wanted)
      fail<ShapeError>(op, "indices have shape {}, which does not broadcast to {}, that of x along the other axes",
                       chosen, wanted);
    terms = values_for(op, tensor, values, wanted);
  }

  // Where a tape follows an operand, or something observes: x and the terms are seen as one axis each.
  Tensor combine(loops::ScatterFunction f, const Tensor& start, const Tensor& with, bool member = true) {
    if (!followed(start, with) && !tape::watching()) {
      const auto name = reinterpret_cast<std::intptr_t>(op_);
      return apply(scatter_along_primitive, {&start, &with, &indices_}, words(axis_, f, member, name));
    }
    const Tensor whole = reshape(start, {-1}), flat = reshape(with, {-1});
    return reshape(scatter_at(f, whole, flat, places(), 0, member), x.shape());
  }

 private:
  const Tensor& places() {
    if (places_.defined()) return places_;
    const auto first = words(reinterpret_cast<std::intptr_t>(op_), axis_, x.shape()[axis_]);
    return places_ = reshape(apply(along_primitive, {&indices_}, shaped(first, terms.shape())), {-1});
  }

  const char* op_;
  Tensor indices_, places_;
  int axis_;
};

// In sums and products, elements of x that receive terms are replaced by the neutral element unless x is a member.
Tensor with_start(Along& a, double start, bool member) {
  if (member) return a.x;
  const Tensor value = broadcast_to(full({}, start, a.x.dtype()), a.terms.shape());
  return a.combine(loops::ScatterFunction::set, a.x, value);
}

Tensor reduce_along(Along& a, Reduction reduction, bool member) {
  using loops::ScatterFunction;
  if (reduction == Reduction::prod) return a.combine(ScatterFunction::multiply, with_start(a, 1, member), a.terms);
  if (reduction == Reduction::max) return a.combine(loops::ScatterFunction::max, a.x, a.terms, member);
  if (reduction == Reduction::min) return a.combine(loops::ScatterFunction::min, a.x, a.terms, member);
  const Tensor total = a.combine(loops::ScatterFunction::add, with_start(a, 0, member), a.terms);
  if (reduction == Reduction::sum) return total;
  const Tensor one = ones({}, a.x.dtype());
  const Tensor counts =
      a.combine(loops::ScatterFunction::add, broadcast_to(member ? one : zeros({}, a.x.dtype()), a.x.shape()),
                broadcast_to(one, a.terms.shape()));
  return total / maximum(counts, 1);
}

Tensor flat_positions(const char* op, const Tensor& x, const Operand& indices, IndexMode mode) {
  return positions_in(op, to_tensor(op, indices, "indices"), x.size(), mode);
}

}  // namespace

Tensor positions_in(const char* op, const Tensor& indices, std::int64_t extent, IndexMode mode) {
  if (mode == IndexMode::raise || extent == 0) return check_indices(op, indices, 0, extent);
  require_integers(op, indices);
  const Tensor wide = cast_to(indices, DType::int64);
  return check_indices(op, mode == IndexMode::wrap ? mod(wide, extent) : clip(wide, 0, extent - 1), 0, extent);
}

}  // namespace ops

Tensor index(const Operand& operand, IndexItems items) {
  const tape::OpScope scope(operand);
  return ops::Selection("index", ops::to_tensor("index", operand), items).elements();
}
Tensor index_update(const Operand& x, IndexItems items, const Operand& values) {
  return ops::update(ops::set_op, x, items, values);
}
Tensor index_add(const Operand& x, IndexItems items, const Operand& values) {
  return ops::update(ops::add_op, x, items, values);
}
Tensor index_multiply(const Operand& x, IndexItems items, const Operand& values) {
  return ops::update(ops::multiply_op, x, items, values);
}
Tensor index_max(const Operand& x, IndexItems items, const Operand& values) {
  return ops::update(ops::max_op, x, items, values);
}
Tensor index_min(const Operand& x, IndexItems items, const Operand& values) {
  return ops::update(ops::min_op, x, items, values);
}

Tensor put_along_axis(const Operand& operand, const Operand& indices, const Operand& values, std::int64_t axis) {
  const tape::OpScope scope(operand);
  const Tensor x = ops::to_tensor("put_along_axis", operand);
  ops::Along a("put_along_axis", x, indices, values, axis);
  return a.combine(loops::ScatterFunction::set, a.x, a.terms);
}
Tensor scatter_add_along_axis(const Operand& operand, const Operand& indices, const Operand& values,
                              std::int64_t axis) {
  const tape::OpScope scope(operand);
  const Tensor x = ops::to_tensor("scatter_add_along_axis", operand);
  ops::Along a("scatter_add_along_axis", x, indices, values, axis);
  return a.combine(loops::ScatterFunction::add, a.x, a.terms);
}
Tensor scatter_reduce(const Operand& operand, const Operand& indices, const Operand& values, std::int64_t axis,
                      Reduction reduction, bool include_self) {
  const tape::OpScope scope(operand);
  const Tensor x = ops::to_tensor("scatter_reduce", operand);
  if (!is_floating(x.dtype()))
    fail<TypeError>("scatter_reduce", "x must be of a floating dtype, not {}; cast it first", x.dtype());
  if (reduction > Reduction::min) fail<ValueError>("scatter_reduce", "there is no such reduction");
  if (ops::is_half(x.dtype()))
    return ops::in_float32(
        x, [&](const Tensor& wide) { return scatter_reduce(wide, indices, values, axis, reduction, include_self); });
  ops::Along a("scatter_reduce", x, indices, values, axis);
  return ops::reduce_along(a, reduction, include_self);
}

Tensor take(const Operand& operand, const Operand& indices, IndexMode mode) {
  const tape::OpScope scope(operand);
  const Tensor x = ops::to_tensor("take", operand);
  const Tensor at = ops::flat_positions("take", x, indices, mode);
  return ops::gather_at(reshape(x, {x.size()}), at, 0);
}
Tensor put(const Operand& operand, const Operand& indices, const Operand& values, IndexMode mode) {
  const tape::OpScope scope(operand);
  const Tensor x = ops::to_tensor("put", operand);
  const Tensor at = ops::flat_positions("put", x, indices, mode);
  const Tensor terms = reshape(ops::values_for("put", x, values, at.shape()), {at.size()});
  return reshape(ops::scatter_set_at(reshape(x, {x.size()}), terms, reshape(at, {at.size()}), 0), x.shape());
}

}  // namespace reel
