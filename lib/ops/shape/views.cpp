// Views of the same elements: reshape, transpose, squeeze, broadcast, flip; and the two ops that change nothing but the
// identity of a tensor. Zero-copy, except for a reshape that the strides do not allow.
#include <algorithm>

#include "csource/writer.hpp"
#include "ops/apply/operation.hpp"
#include "ops/shape/view.hpp"

namespace reel {

namespace ops {

namespace {

// The strides of x broadcast to `shape`: 0 along repeated axes.
void set_broadcast_strides(const detail::Block& x, const Shape& shape, Shape& strides) {
  strides = shape;
  const int added = shape.rank() - x.rank;
  for (int d = 0; d < shape.rank(); ++d)
    strides.begin()[d] =
        d < added || (x.extents()[d - added] == 1 && shape.begin()[d] != 1) ? 0 : x.strides()[d - added];
}

Shape permutation_of(const char* op, const Axes& axes, const Tensor& x) {
  const int rank = x.rank();
  Shape order;
  if (axes.all()) {
    for (int i = rank; i-- > 0;) order.push_back(i);
    return order;
  }
  bool seen[max_rank] = {};
  for (std::int64_t a : axes.list()) {
    const int i = normalize(op, a, x);
    if (seen[i])
      fail<ValueError>(op, "{} is not a permutation of the axes of shape {}: {} is named twice", axes.list(), x.shape(),
                       a);
    seen[i] = true;
    order.push_back(i);
  }
  if (order.rank() != rank)
    fail<ValueError>(op, "{} is not a permutation of the axes of shape {}: {} axes must be named", axes.list(),
                     x.shape(), rank);
  return order;
}

Tensor unpermute(const tape::Record& r, const Tensor& g) {
  Shape inverse = attribute_shape(r.attributes());
  for (int i = 0; i < inverse.rank(); ++i) inverse.begin()[r.attributes()[static_cast<std::size_t>(i)]] = i;
  inverse = r.batched_axes(inverse);
  if (r.batch_rank()) inverse.insert(0, 0);
  return transpose(g, inverse);
}
Tensor permute(const tape::Record& r, const Tensor& t) { return transpose(t, attribute_shape(r.attributes())); }

Tensor unbroadcast(const tape::Record& r, const Tensor& g) { return sum_to(r, g, r.shape(0)); }
Tensor broadcast(const tape::Record& r, const Tensor& t) { return broadcast_to(t, r.output_shape()); }

Tensor flip_again(const tape::Record& r, const Tensor& g) {
  return flip(g, r.batched_axes(attribute_shape(r.attributes())));
}

Gradient same_slices(const tape::Record&, const IndexedSlices& g) { return g; }
constexpr tape::Rule passing(const char* name) {
  tape::Rule rule = linear<unchanged, unchanged>(name);
  rule.slices = same_slices;
  return rule;
}

// ---- the primitives. Attributes: the shape of reshape and broadcast_to, the order of transpose and moveaxis, the axes
// of squeeze, expand_dims and flip.

void infer_reshape(const Call& call, Metas& out) {
  const detail::Block& x = *detail::block(call.input(0));
  Meta& y = out.add_view(0, x.dtype, call.attributes);
  if (!strides_for(x, y.shape, y.strides)) y.view_of = -1;
}
void evaluate_reshape(const Call& call, Outputs& out) {
  const Tensor& y = out[0];
  if (!out.is_view(0)) loops::copy(call.input(0), reshape_view(y, call.input(0).shape()));
}

void write_reshape(const Call&, csource::Writer& w) {
  w.copy(w.input(0), csource::reshaped(w.output(0), w.input(0).shape));
}

void infer_permute(const Call& call, Metas& out) {
  const detail::Block& x = *detail::block(call.input(0));
  Meta& y = out.add_view(0, x.dtype, call.attributes);
  y.strides = y.shape;  // their number; the values follow
  for (int d = 0; d < y.shape.rank(); ++d) {
    const std::int64_t axis = call.attribute(static_cast<std::size_t>(d));
    y.shape.begin()[d] = x.extents()[axis];
    y.strides.begin()[d] = x.strides()[axis];
  }
}

void infer_squeeze(const Call& call, Metas& out) {
  const detail::Block& x = *detail::block(call.input(0));
  Meta& y = out.add_view(0, x.dtype, {});
  std::size_t dropped = 0;  // number of axes dropped so far
  for (int d = 0; d < x.rank; ++d) {
    if (dropped < call.attributes.size() && call.attribute(dropped) == d) {
      ++dropped;
      continue;
    }
    y.shape.push_back(x.extents()[d]);
    y.strides.push_back(x.strides()[d]);
  }
}

void infer_expand_dims(const Call& call, Metas& out) {
  const detail::Block& x = *detail::block(call.input(0));
  const auto at = static_cast<int>(call.attribute(0));
  Shape shape = x.shape(), strides(x.strides(), x.rank);
  strides.insert(at, at < x.rank ? shape[at] * strides[at] : 1);
  shape.insert(at, 1);
  out.add_view(0, x.dtype, 0, shape, strides);
}

void infer_broadcast_to(const Call& call, Metas& out) {
  const detail::Block& x = *detail::block(call.input(0));
  Meta& y = out.add_view(0, x.dtype, call.attributes);
  set_broadcast_strides(x, y.shape, y.strides);
}

void infer_flip(const Call& call, Metas& out) {
  const detail::Block& x = *detail::block(call.input(0));
  Meta& y = out.add_view(0, x.dtype, {x.extents(), x.rank});
  y.strides = Shape(x.strides(), x.rank);
  for (std::int64_t axis : call.attributes) {
    if (x.size != 0) y.offset += (y.shape[axis] - 1) * y.strides[axis];
    y.strides[axis] = -y.strides[axis];
  }
}

void infer_alias(const Call& call, Metas& out) { add_alias(out, call, 0); }

void infer_contiguous(const Call& call, Metas& out) { out.add_like(call.input(0)); }
void evaluate_contiguous(const Call& call, Outputs& out) { loops::copy(call.input(0), out[0]); }
void write_contiguous(const Call&, csource::Writer& w) { w.copy(w.input(0), w.output(0)); }

constexpr Primitive view_primitive(const tape::Rule& rule, void (*infer)(const Call&, Metas&)) {
  return {.rule = rule, .infer = infer, .evaluate = evaluate_view};
}
constexpr Primitive reshape_primitive = {.rule = linear<to_input_shape, to_output_shape>("reshape"),
                                         .infer = infer_reshape,
                                         .evaluate = evaluate_reshape,
                                         .write_c = write_reshape},
                    transpose_primitive = view_primitive(linear<unpermute, permute>("transpose"), infer_permute),
                    moveaxis_primitive = view_primitive(linear<unpermute, permute>("moveaxis"), infer_permute),
                    squeeze_primitive =
                        view_primitive(linear<to_input_shape, to_output_shape>("squeeze"), infer_squeeze),
                    expand_dims_primitive =
                        view_primitive(linear<to_input_shape, to_output_shape>("expand_dims"), infer_expand_dims),
                    broadcast_to_primitive =
                        view_primitive(linear<unbroadcast, broadcast>("broadcast_to"), infer_broadcast_to),
                    flip_primitive = view_primitive(linear<flip_again, flip_again>("flip"), infer_flip),
                    identity_primitive = view_primitive(passing("identity"), infer_alias),
                    stop_gradient_primitive = view_primitive({.name = "stop_gradient"}, infer_alias),
                    contiguous_primitive = {.rule = passing("contiguous"),
                                            .infer = infer_contiguous,
                                            .evaluate = evaluate_contiguous,
                                            .write_c = write_contiguous};

// The requested shape, with -1 inferred.
Shape resolve_shape(const Tensor& x, const Shape& asked) {
  const std::int64_t size = detail::block(x)->size;
  Shape shape = asked;
  int unknown = -1;
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape.begin()[i] != -1) continue;
    if (unknown >= 0)
      fail<ShapeError>("reshape", "{} has more than one extent -1; at most one can be worked out", asked);
    unknown = i;
    shape.begin()[i] = 1;
  }
  require_shape("reshape", shape);
  std::uint64_t elements = 1;  // other extents may overflow it if one is 0
  for (std::int64_t extent : shape) elements *= static_cast<std::uint64_t>(extent);
  const auto known = static_cast<std::int64_t>(elements);
  if (unknown >= 0 && known != 0 && size % known == 0)
    shape.begin()[unknown] = size / known;
  else if (unknown >= 0 || known != size)
    fail<ShapeError>("reshape", "x has shape {}, so {} elements, which do not fit shape {}", x.shape(), size, asked);
  return shape;
}

}  // namespace

// Works group by group: axes of x that together have as many elements as some axes of `shape` and are in memory like
// one axis. False if the axes of a group are not.
bool strides_for(const detail::Block& x, const Shape& shape, Shape& strides) {
  strides = shape;
  if (x.size == 0 || x.contiguous()) {
    std::int64_t stride = 1;
    for (int d = shape.rank(); d-- > 0;) {
      strides.begin()[d] = stride;
      stride *= shape.begin()[d];
    }
    return true;
  }
  // Backwards, so that the innermost stride of each group comes first. Axes of extent 1 belong to no group.
  int from = x.rank;
  std::int64_t remaining = 1,
               stride = 1;  // elements of the group not yet assigned to an axis of `shape`, and their stride
  for (int d = shape.rank(); d-- > 0;) {
    const std::int64_t wanted = shape.begin()[d];
    strides.begin()[d] = stride;
    if (wanted == 1) continue;
    if (remaining == 1) {
      while (x.extents()[from - 1] == 1) --from;
      remaining = x.extents()[--from];
      stride = x.strides()[from];
      strides.begin()[d] = stride;
    }
    while (remaining % wanted != 0 || remaining < wanted) {
      // The group needs the next axis of x, whose stride must continue the group's.
      while (from > 0 && x.extents()[from - 1] == 1) --from;
      if (from == 0 || x.strides()[from - 1] != stride * remaining) return false;
      remaining *= x.extents()[--from];
    }
    remaining /= wanted;
    stride *= wanted;
  }
  return true;
}

Tensor section(const Tensor& x, int axis, std::int64_t start, std::int64_t count) {
  const detail::Block* b = detail::block(x);
  Shape shape = b->shape();
  shape[axis] = count;
  return view(x, b->strides()[axis] * start, shape, Shape(b->strides(), b->rank));
}

Tensor reshape_view(const Tensor& x, const Shape& shape) {
  Shape strides;
  return strides_for(*detail::block(x), shape, strides) ? view(x, 0, shape, strides) : Tensor();
}

Tensor reshaped(const Tensor& x, const Shape& shape) {
  if (Tensor y = reshape_view(x, shape); y.defined()) return y;
  Tensor y = detail::empty(x.dtype(), shape);
  loops::copy(x, reshape_view(y, x.shape()));
  return y;
}

Tensor broadcast_view(const Tensor& x, const Shape& shape) {
  Shape strides;
  set_broadcast_strides(*detail::block(x), shape, strides);
  return view(x, 0, shape, strides);
}

}  // namespace ops

Tensor reshape(const Operand& operand, const Shape& shape) {
  const tape::OpScope scope(operand);
  Tensor scratch;
  const Tensor& x = ops::as_tensor("reshape", operand, scratch);
  return ops::apply(ops::reshape_primitive, {&x}, ops::resolve_shape(x, shape));
}

Tensor transpose(const Operand& operand, const Axes& permutation) {
  const tape::OpScope scope(operand);
  Tensor scratch;
  const Tensor& x = ops::as_tensor("transpose", operand, scratch);
  const Shape order = ops::permutation_of("transpose", permutation, x);
  return ops::apply(ops::transpose_primitive, {&x}, order);
}

Tensor moveaxis(const Operand& operand, std::int64_t source, std::int64_t destination) {
  const tape::OpScope scope(operand);
  Tensor scratch;
  const Tensor& x = ops::as_tensor("moveaxis", operand, scratch);
  const int from = ops::normalize("moveaxis", source, x), to = ops::normalize("moveaxis", destination, x);
  Shape order;
  for (int i = 0; i < x.rank(); ++i)
    if (i != from) order.push_back(i);
  order.insert(to, from);
  return ops::apply(ops::moveaxis_primitive, {&x}, order);
}

Tensor squeeze(const Operand& operand, const Axes& axes) {
  const tape::OpScope scope(operand);
  Tensor scratch;
  const Tensor& x = ops::as_tensor("squeeze", operand, scratch);
  const detail::Block* b = detail::block(x);
  Shape dropped;
  if (axes.all()) {
    for (int d = 0; d < b->rank; ++d)
      if (b->extents()[d] == 1) dropped.push_back(d);
  } else {
    dropped = ops::normalize("squeeze", axes, x);
    for (std::int64_t d : dropped)
      if (b->extents()[d] != 1)
        fail<ShapeError>("squeeze", "axis {} of x, of shape {}, has extent {}; only axes of extent 1 can go", d,
                         b->shape(), b->extents()[d]);
  }
  return ops::apply(ops::squeeze_primitive, {&x}, dropped);
}

Tensor expand_dims(const Operand& operand, std::int64_t axis) {
  const tape::OpScope scope(operand);
  Tensor scratch;
  const Tensor& x = ops::as_tensor("expand_dims", operand, scratch);
  const int at = ops::normalize("expand_dims", axis, x, 1);
  return ops::apply(ops::expand_dims_primitive, {&x}, ops::words(at));
}

Tensor broadcast_to(const Operand& operand, const Shape& shape) {
  const tape::OpScope scope(operand);
  Tensor scratch;
  const Tensor& x = ops::as_tensor("broadcast_to", operand, scratch);
  ops::require_shape("broadcast_to", shape);
  const detail::Block& b = *detail::block(x);
  const int added = shape.rank() - b.rank;
  bool fits = added >= 0;
  for (int d = 0; fits && d < b.rank; ++d) fits = b.extents()[d] == 1 || b.extents()[d] == shape.begin()[d + added];
  if (!fits)
    fail<ShapeError>("broadcast_to", "x has shape {}, which does not broadcast to {}: each extent must be 1 or equal",
                     b.shape(), shape);
  return ops::apply(ops::broadcast_to_primitive, {&x}, shape);
}

Tensor flip(const Operand& operand, const Axes& axes) {
  const tape::OpScope scope(operand);
  Tensor scratch;
  const Tensor& x = ops::as_tensor("flip", operand, scratch);
  return ops::apply(ops::flip_primitive, {&x}, ops::normalize("flip", axes, x));
}

Tensor contiguous(const Operand& operand) {
  const tape::OpScope scope(operand);
  Tensor scratch;
  const Tensor& x = ops::as_tensor("contiguous", operand, scratch);
  return detail::block(x)->contiguous() ? x : ops::apply(ops::contiguous_primitive, {&x});
}

Tensor identity(const Operand& operand) {
  const tape::OpScope scope(operand);
  Tensor scratch;
  const Tensor* const x = &ops::as_tensor("identity", operand, scratch);
  return ops::unobserved({&x, 1}) ? detail::alias(*x) : ops::apply(ops::identity_primitive, {&x, 1});
}

Tensor stop_gradient(const Operand& operand) {
  const tape::OpScope scope(operand);
  Tensor scratch;
  return ops::apply(ops::stop_gradient_primitive, {&ops::as_tensor("stop_gradient", operand, scratch)});
}

}  // namespace reel
