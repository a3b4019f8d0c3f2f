// Ops that look at the same elements in another way: reshape, transpose, squeeze, broadcast, flip; and the two that
// change nothing but a tensor's identity. Zero-copy, but for a reshape that the strides do not allow.
#include <algorithm>

#include "ops/shape/view.hpp"

namespace reel {

namespace ops {

namespace {

// Strides of x's elements in another shape, found group by group: axes of x that together hold as many elements as some
// axes of `shape` and lie in memory as one axis. False if a group does not.
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
  // Backwards, so that the innermost stride of each group is met first. Axes of extent 1 belong to no group of x.
  int from = x.rank;
  std::int64_t held = 1, stride = 1;  // elements of the group not yet given to an axis of `shape`, and their stride
  for (int d = shape.rank(); d-- > 0;) {
    const std::int64_t wanted = shape.begin()[d];
    strides.begin()[d] = stride;
    if (wanted == 1) continue;
    if (held == 1) {
      while (x.extents()[from - 1] == 1) --from;
      held = x.extents()[--from];
      stride = x.strides()[from];
      strides.begin()[d] = stride;
    }
    while (held % wanted != 0 || held < wanted) {
      // The group has to grow by the next axis of x, which must lie right outside it.
      while (from > 0 && x.extents()[from - 1] == 1) --from;
      if (from == 0 || x.strides()[from - 1] != stride * held) return false;
      held *= x.extents()[--from];
    }
    held /= wanted;
    stride *= wanted;
  }
  return true;
}

Shape permutation_of(const char* op, const Axes& axes, int rank) {
  Shape order;
  if (axes.all()) {
    for (int i = rank; i-- > 0;) order.push_back(i);
    return order;
  }
  bool seen[max_rank] = {};
  for (std::int64_t a : axes.list()) {
    const int i = normalize(op, a, rank);
    if (seen[i]) fail<ValueError>(op, "{} is not a permutation of the axes: {} is named twice", axes.list(), a);
    seen[i] = true;
    order.push_back(i);
  }
  if (order.rank() != rank)
    fail<ValueError>(op, "{} is not a permutation of the axes: x has rank {}, so {} axes must be named", axes.list(),
                     rank, rank);
  return order;
}

Tensor permuted(const Tensor& x, const Shape& order) {
  const detail::Block* b = detail::block(x);
  Shape shape, strides;
  for (std::int64_t axis : order) {
    shape.push_back(b->extents()[axis]);
    strides.push_back(b->strides()[axis]);
  }
  return view(x, 0, shape, strides);
}

Tensor unpermute(const tape::Record& r, const Tensor& g) {
  Shape inverse = attribute_shape(r.attributes());
  for (int i = 0; i < inverse.rank(); ++i) inverse.begin()[r.attributes()[static_cast<std::size_t>(i)]] = i;
  inverse = r.led_axes(inverse);
  if (r.lead()) inverse.insert(0, 0);
  return transpose(g, inverse);
}
Tensor permute(const tape::Record& r, const Tensor& t) { return transpose(t, attribute_shape(r.attributes())); }

Tensor unbroadcast(const tape::Record& r, const Tensor& g) { return sum_to(r, g, r.shape(0)); }
Tensor broadcast(const tape::Record& r, const Tensor& t) { return broadcast_to(t, r.output_shape()); }

Tensor flip_again(const tape::Record& r, const Tensor& g) {
  return flip(g, r.led_axes(attribute_shape(r.attributes())));
}

Gradient same_slices(const tape::Record&, const IndexedSlices& g) { return g; }
constexpr tape::Rule passing(const char* name) {
  tape::Rule rule = linear<unchanged, unchanged>(name);
  rule.slices = same_slices;
  return rule;
}

constexpr tape::Rule reshape_rule = linear<to_input_shape, to_output_shape>("reshape"),
                     squeeze_rule = linear<to_input_shape, to_output_shape>("squeeze"),
                     expand_rule = linear<to_input_shape, to_output_shape>("expand_dims"),
                     transpose_rule = linear<unpermute, permute>("transpose"),
                     moveaxis_rule = linear<unpermute, permute>("moveaxis"),
                     broadcast_rule = linear<unbroadcast, broadcast>("broadcast_to"),
                     flip_rule = linear<flip_again, flip_again>("flip"), contiguous_rule = passing("contiguous"),
                     identity_rule = passing("identity");

// The shape asked for, with -1 worked out.
Shape resolved(const Tensor& x, const Shape& asked) {
  const std::int64_t size = x.size();
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
  const std::int64_t known = shape.elements();
  if (unknown >= 0 && known != 0 && size % known == 0)
    shape.begin()[unknown] = size / known;
  else if (unknown >= 0 || known != size)
    fail<ShapeError>("reshape", "x has shape {}, so {} elements, which do not fit shape {}", x.shape(), size, asked);
  return shape;
}

}  // namespace

Tensor section(const Tensor& x, int axis, std::int64_t start, std::int64_t count) {
  const detail::Block* b = detail::block(x);
  Shape shape = b->shape();
  shape[axis] = count;
  return view(x, b->strides()[axis] * start, shape, Shape(b->strides(), b->rank));
}

Tensor reshaped_view(const Tensor& x, const Shape& shape) {
  Shape strides;
  return strides_for(*detail::block(x), shape, strides) ? view(x, 0, shape, strides) : Tensor();
}

Tensor reshaped(const Tensor& x, const Shape& shape) {
  if (Tensor y = reshaped_view(x, shape); y.defined()) return y;
  Tensor y = detail::empty(x.dtype(), shape);
  loops::copy(x, reshaped_view(y, x.shape()));
  return y;
}

Tensor broadcast_view(const Tensor& x, const Shape& shape) {
  const detail::Block* b = detail::block(x);
  Shape strides = shape;
  const int lead = shape.rank() - b->rank;
  for (int d = 0; d < shape.rank(); ++d)
    strides.begin()[d] =
        d < lead || (b->extents()[d - lead] == 1 && shape.begin()[d] != 1) ? 0 : b->strides()[d - lead];
  return view(x, 0, shape, strides);
}

Tensor folded(const Tensor& x, int axis) {
  const detail::Block* b = detail::block(x);
  std::int64_t before = 1, behind = 1;
  for (int d = 0; d < axis; ++d) before *= b->extents()[d];
  for (int d = axis + 1; d < b->rank; ++d) behind *= b->extents()[d];
  return reshaped(x, {before, b->extents()[axis], behind});
}

}  // namespace ops

Tensor reshape(const Operand& operand, const Shape& shape) {
  const tape::OpScope scope(operand);
  Tensor held;
  const Tensor& x = ops::given("reshape", operand, held);
  return ops::finish(ops::reshape_rule, x, ops::reshaped(x, ops::resolved(x, shape)));
}

Tensor transpose(const Operand& operand, const Axes& permutation) {
  const tape::OpScope scope(operand);
  Tensor held;
  const Tensor& x = ops::given("transpose", operand, held);
  const Shape order = ops::permutation_of("transpose", permutation, x.rank());
  return ops::finish(ops::transpose_rule, x, ops::permuted(x, order), order);
}

Tensor moveaxis(const Operand& operand, std::int64_t source, std::int64_t destination) {
  const tape::OpScope scope(operand);
  Tensor held;
  const Tensor& x = ops::given("moveaxis", operand, held);
  const int from = ops::normalize("moveaxis", source, x.rank()), to = ops::normalize("moveaxis", destination, x.rank());
  Shape order;
  for (int i = 0; i < x.rank(); ++i)
    if (i != from) order.push_back(i);
  order.insert(to, from);
  return ops::finish(ops::moveaxis_rule, x, ops::permuted(x, order), order);
}

Tensor squeeze(const Operand& operand, const Axes& axes) {
  const tape::OpScope scope(operand);
  Tensor held;
  const Tensor& x = ops::given("squeeze", operand, held);
  const detail::Block* b = detail::block(x);
  bool goes[max_rank] = {};
  if (axes.all())
    for (int i = 0; i < b->rank; ++i) goes[i] = b->extents()[i] == 1;
  else
    for (std::int64_t a : ops::normalize("squeeze", axes, b->rank)) {
      if (b->extents()[a] != 1)
        fail<ShapeError>("squeeze", "axis {} of x, of shape {}, has extent {}; only axes of extent 1 can go", a,
                         b->shape(), b->extents()[a]);
      goes[a] = true;
    }
  Shape shape, strides;
  for (int i = 0; i < b->rank; ++i) {
    if (goes[i]) continue;
    shape.push_back(b->extents()[i]);
    strides.push_back(b->strides()[i]);
  }
  return ops::finish(ops::squeeze_rule, x, ops::view(x, 0, shape, strides));
}

Tensor expand_dims(const Operand& operand, std::int64_t axis) {
  const tape::OpScope scope(operand);
  Tensor held;
  const Tensor& x = ops::given("expand_dims", operand, held);
  const int at = ops::normalize("expand_dims", axis, x.rank() + 1);
  Shape shape = x.shape(), strides = x.strides();
  strides.insert(at, at < x.rank() ? shape[at] * strides[at] : 1);
  shape.insert(at, 1);
  return ops::finish(ops::expand_rule, x, ops::view(x, 0, shape, strides));
}

Tensor broadcast_to(const Operand& operand, const Shape& shape) {
  const tape::OpScope scope(operand);
  Tensor held;
  const Tensor& x = ops::given("broadcast_to", operand, held);
  ops::require_shape("broadcast_to", shape);
  const Shape own = x.shape();
  const int lead = shape.rank() - own.rank();
  bool fits = lead >= 0;
  for (int d = 0; fits && d < own.rank(); ++d) fits = own[d] == 1 || own[d] == shape[d + lead];
  if (!fits)
    fail<ShapeError>("broadcast_to", "x has shape {}, which does not broadcast to {}: each extent must be 1 or equal",
                     own, shape);
  return ops::finish(ops::broadcast_rule, x, ops::broadcast_view(x, shape));
}

Tensor flip(const Operand& operand, const Axes& axes) {
  const tape::OpScope scope(operand);
  Tensor held;
  const Tensor& x = ops::given("flip", operand, held);
  const Shape chosen = ops::normalize("flip", axes, x.rank());
  const Shape shape = x.shape();
  Shape strides = x.strides();
  std::int64_t offset = 0;
  for (std::int64_t a : chosen) {
    if (x.size() != 0) offset += (shape[a] - 1) * strides[a];
    strides[a] = -strides[a];
  }
  return ops::finish(ops::flip_rule, x, ops::view(x, offset, shape, strides), chosen);
}

Tensor contiguous(const Operand& operand) {
  const tape::OpScope scope(operand);
  Tensor held;
  const Tensor& x = ops::given("contiguous", operand, held);
  if (detail::block(x)->contiguous()) return x;
  return ops::finish(ops::contiguous_rule, x, loops::contiguous(x));
}

Tensor identity(const Operand& operand) {
  const tape::OpScope scope(operand);
  Tensor held;
  const Tensor& x = ops::given("identity", operand, held);
  return ops::finish(ops::identity_rule, x, detail::alias(x));
}

Tensor stop_gradient(const Operand& operand) {
  const tape::OpScope scope(operand);
  Tensor held;
  const Tensor& x = ops::given("stop_gradient", operand, held);
  Tensor y = detail::alias(x);
  if (tape::active()) {
    const Tensor* in[] = {&x};
    tape::note_cut("stop_gradient", in, y, tape::Cut::stopped);
  }
  return y;
}

}  // namespace reel
