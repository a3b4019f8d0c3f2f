// Joining and splitting along an axis: concatenate and stack; split and unstack, whose parts are views, recorded as one
// op with many outputs. The two of each pair are each other's transpose.
#include "ops/shape/join.hpp"

#include <reel/ops/index.hpp>
#include <reel/ops/make.hpp>

#include "csource/writer.hpp"
#include "loops/joining.hpp"
#include "ops/shape/view.hpp"

namespace reel {

namespace ops {

namespace {

using Integers = detail::List<std::int64_t>;

// Pointers to the tensors of a list; short lists need no allocation.
struct ListPointers : detail::ShortList<const Tensor*, 8> {
  explicit ListPointers(std::span<const Tensor> list) : ShortList(list.size()) {
    for (std::size_t i = 0; i < list.size(); ++i) (*this)[i] = &list[i];
  }
};

// Part i of x along `axis`, recorded.
Tensor part(const Tensor& x, std::int64_t axis, const SliceItem& item) {
  detail::ShortList<SliceItem, 4> items(static_cast<std::size_t>(axis) + 1);
  items[static_cast<std::size_t>(axis)] = item;
  return slice(x, std::span<const SliceItem>(items));
}

// The list, with zeros for empty handles.
detail::List<Tensor> filled(std::span<const Tensor> list, DType dtype, const auto& shape) {
  detail::List<Tensor> result(list.begin(), list.end());
  for (std::size_t i = 0; i < result.size(); ++i)
    if (!result[i].defined()) result[i] = zeros(shape(i), dtype);
  return result;
}

// ---- concatenate and split; attributes: axis, then the extent of each part

Shape piece_shape(Shape whole, std::span<const std::int64_t> attributes, std::size_t i) {
  whole[attributes[0]] = attributes[i + 1];
  return whole;
}

void infer_concatenate(const Call& call, Metas& out) {
  Shape shape = call.input(0).shape();
  std::int64_t total = 0;
  for (std::int64_t extent : call.attributes.subspan(1)) total += extent;
  shape[call.attribute(0)] = total;
  out.add(call.input(0).dtype(), shape);
}
void evaluate_concatenate(const Call& call, Outputs& out) {
  const Tensor& y = out[0];
  const auto axis = static_cast<int>(call.attribute(0));
  if (axis != 0 && y.size() != 0 && loops::concatenate(call.inputs, axis, y)) return;
  std::int64_t start = 0;
  for (std::size_t i = 0; i < call.inputs.size(); start += call.attribute(++i))
    if (call.input(i).size() != 0) loops::copy(call.input(i), section(y, axis, start, call.attribute(i + 1)));
}

void write_concatenate(const Call& call, csource::Writer& w) {
  std::int64_t start = 0;
  for (std::size_t i = 0; i < call.inputs.size(); start += call.attribute(++i))
    w.copy(w.input(i),
           csource::section(w.output(0), static_cast<int>(call.attribute(0)), start, call.attribute(i + 1)));
}

void concatenate_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  const auto a = r.attributes();
  std::int64_t start = 0;
  for (std::size_t i = 0; i < dx.size(); start += a[++i])
    if (r.wanted(i)) dx[i] = part(g[0], a[0] + r.batch_rank(), range(start, start + a[i + 1]));
}
void concatenate_jvp(const tape::Record& r, std::span<const Tensor> t, std::span<Tensor> dy) {
  dy[0] = concatenate(
      filled(t, r.output_dtype(), [&](std::size_t i) { return piece_shape(r.output_shape(), r.attributes(), i); }),
      r.attributes()[0]);
}
constexpr Primitive concatenate_primitive = {.rule = batched({"concatenate", concatenate_vjp, concatenate_jvp}),
                                             .infer = infer_concatenate,
                                             .evaluate = evaluate_concatenate,
                                             .write_c = write_concatenate};

void infer_split(const Call& call, Metas& out) {
  const detail::Block& x = *detail::block(call.input(0));
  const std::int64_t axis = call.attribute(0);
  const Shape strides(x.strides(), x.rank);
  Shape shape = x.shape();
  std::int64_t start = 0;
  out.reserve(call.attributes.size() - 1, x.rank);
  for (std::int64_t extent : call.attributes.subspan(1)) {
    shape[axis] = extent;
    out.add_view(0, x.dtype, start * strides[axis], shape, strides);
    start += extent;
  }
}
void evaluate_views(const Call&, Outputs& out) {
  for (std::size_t k = 0; k < out.size(); ++k) static_cast<void>(out[k]);
}

// Parts of an empty axis: each takes memory, although x has none. Their number in general: of handles in memory.
constexpr std::int64_t most_empty_parts = std::int64_t{1} << 20, most_parts = std::int64_t{1} << 40;

void require_count(const char* op, std::int64_t parts, bool empty) {
  const std::int64_t most = empty ? most_empty_parts : most_parts;
  if (parts > most)
    fail<ValueError>(op, "{} parts{}; there may be {} at most", parts, empty ? " of an empty axis" : "", most);
}

// The parts of x, recorded if there are any.
std::vector<Tensor> cut(const Primitive& primitive, const Tensor& x, Attributes attributes, std::size_t pieces) {
  std::vector<Tensor> list(pieces);
  if (pieces != 0) {
    const Tensor* in[] = {&x};
    apply(primitive, in, attributes, list);
  }
  return list;
}
std::vector<Tensor> split(const Tensor& x, Attributes attributes);

void split_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  if (r.wanted(0))
    dx[0] = concatenate(filled(g, r.dtype(0), [&](std::size_t i) { return r.batched(r.output_shape(i)); }),
                        r.attributes()[0] + r.batch_rank());
}
void split_jvp(const tape::Record& r, std::span<const Tensor> t, std::span<Tensor> dy) {
  const std::vector<Tensor> pieces = split(t[0], r.attributes());
  std::copy(pieces.begin(), pieces.end(), dy.begin());
}
constexpr Primitive split_primitive = {
    .rule = batched({"split", split_vjp, split_jvp, true}), .infer = infer_split, .evaluate = evaluate_views};

std::vector<Tensor> split(const Tensor& x, Attributes attributes) {
  return cut(split_primitive, x, attributes, attributes.size() - 1);
}

// ---- stack and unstack; attributes: axis

void stack_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  for (std::size_t i = 0; i < dx.size(); ++i)
    if (r.wanted(i)) dx[i] = part(g[0], r.attributes()[0] + r.batch_rank(), SliceItem(i));
}
void stack_jvp(const tape::Record& r, std::span<const Tensor> t, std::span<Tensor> dy) {
  Shape shape = r.output_shape();
  shape.erase(static_cast<int>(r.attributes()[0]));
  dy[0] = stack(filled(t, r.output_dtype(), [&](std::size_t) { return shape; }), r.attributes()[0]);
}
void infer_stack(const Call& call, Metas& out) {
  Shape shape = call.input(0).shape();
  shape.insert(static_cast<int>(call.attribute(0)), static_cast<std::int64_t>(call.inputs.size()));
  out.add(call.input(0).dtype(), shape);
}
void evaluate_stack(const Call& call, Outputs& out) {
  const Tensor& y = out[0];
  if (y.size() == 0) return;
  const Shape shape = call.input(0).shape();
  if (call.attribute(0) == shape.rank() && loops::interleave(call.inputs, y)) return;
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    const Tensor place = section(y, static_cast<int>(call.attribute(0)), static_cast<std::int64_t>(i), 1);
    loops::copy(call.input(i), reshape_view(place, shape));
  }
}
void write_stack(const Call& call, csource::Writer& w) {
  const auto axis = static_cast<int>(call.attribute(0));
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    csource::Array place = csource::section(w.output(0), axis, static_cast<std::int64_t>(i), 1);
    place.shape.erase(axis);
    place.strides.erase(axis);
    w.copy(w.input(i), place);
  }
}
constexpr Primitive stack_primitive = {.rule = batched({"stack", stack_vjp, stack_jvp}),
                                       .infer = infer_stack,
                                       .evaluate = evaluate_stack,
                                       .write_c = write_stack};

void unstack_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  if (r.wanted(0))
    dx[0] = stack(filled(g, r.dtype(0), [&](std::size_t i) { return r.batched(r.output_shape(i)); }),
                  r.attributes()[0] + r.batch_rank());
}
void unstack_jvp(const tape::Record& r, std::span<const Tensor> t, std::span<Tensor> dy) {
  const std::vector<Tensor> pieces = unstack(t[0], r.attributes()[0]);
  std::copy(pieces.begin(), pieces.end(), dy.begin());
}
void infer_unstack(const Call& call, Metas& out) {
  const detail::Block& x = *detail::block(call.input(0));
  const auto axis = static_cast<int>(call.attribute(0));
  Shape shape = x.shape(), strides(x.strides(), x.rank);
  const std::int64_t extent = shape[axis], step = strides[axis];
  shape.erase(axis);
  strides.erase(axis);
  out.reserve(static_cast<std::size_t>(extent), shape.rank());
  for (std::int64_t i = 0; i < extent; ++i) out.add_view(0, x.dtype, i * step, shape, strides);
}
constexpr Primitive unstack_primitive = {
    .rule = batched({"unstack", unstack_vjp, unstack_jvp, true}), .infer = infer_unstack, .evaluate = evaluate_views};

// ---- the ops

// The parts, cast to their common dtype.
detail::List<Tensor> promote_parts(const char* op, std::span<const Tensor> parts) {
  if (parts.empty()) fail<ValueError>(op, "there are no tensors to join; pass at least one");
  DType d = DType::boolean;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (!parts[i].defined()) fail<ValueError>(op, "part {} is empty (default-constructed or moved from)", i);
    d = i == 0 ? parts[i].dtype() : promote(d, parts[i].dtype());
  }
  detail::List<Tensor> result;
  result.reserve(parts.size());
  for (const Tensor& p : parts) result.push_back(cast_to(p, d));
  return result;
}

}  // namespace

const Primitive& concatenate_of_parts() noexcept { return concatenate_primitive; }
const Primitive& stack_of_parts() noexcept { return stack_primitive; }

}  // namespace ops

std::array<Tensor, 2> ops::halves_of(const Tensor& x, int axis) {
  const std::int64_t half = x.shape()[axis] / 2;
  const Tensor* in[] = {&x};
  std::array<Tensor, 2> halves;
  apply(split_primitive, in, words(axis, half, half), halves);
  return halves;
}

Tensor ops::join(const char* op, std::span<const Tensor> tensors, std::int64_t axis) {
  const detail::List<Tensor> parts = promote_parts(op, tensors);
  Shape shape = parts[0].shape();
  if (shape.rank() == 0) fail<ShapeError>(op, "the parts have rank 0; join them along a new axis with stack");
  const int a = normalize(op, axis, shape);
  Integers attributes;
  attributes.reserve(1 + parts.size());
  attributes.push_back(a);
  std::int64_t total = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Shape own = parts[i].shape();
    bool fits = own.rank() == shape.rank();
    for (int d = 0; fits && d < own.rank(); ++d) fits = d == a || own[d] == shape[d];
    if (!fits)
      fail<ShapeError>(op, "part {} has shape {}, part 0 {}: they may differ only along axis {}", i, own, shape, a);
    attributes.push_back(own[a]);
    if (__builtin_add_overflow(total, own[a], &total)) fail<ShapeError>(op, "axis {} exceeds the largest extent", a);
  }
  return apply(concatenate_primitive, ListPointers(parts), attributes);
}
Tensor concatenate(std::span<const Tensor> parts, std::int64_t axis, const detail::CallLine& at) {
  const tape::CallScope scope(at);
  return ops::join("concatenate", parts, axis);
}
Tensor concatenate(std::initializer_list<Tensor> parts, std::int64_t axis, const detail::CallLine& at) {
  return concatenate(std::span(parts.begin(), parts.size()), axis, at);
}

Tensor stack(std::span<const Tensor> tensors, std::int64_t axis, const detail::CallLine& at) {
  const tape::CallScope scope(at);
  const detail::List<Tensor> parts = ops::promote_parts("stack", tensors);
  Shape shape = parts[0].shape();
  const int a = ops::normalize("stack", axis, shape, 1);
  for (std::size_t i = 1; i < parts.size(); ++i)
    if (const Shape own = parts[i].shape(); own != shape)
      fail<ShapeError>("stack", "part {} has shape {}, part 0 {}: they must be equal", i, own, shape);
  return ops::apply(ops::stack_primitive, ops::ListPointers(parts), ops::words(a));
}
Tensor stack(std::initializer_list<Tensor> parts, std::int64_t axis, const detail::CallLine& at) {
  return stack(std::span(parts.begin(), parts.size()), axis, at);
}

std::vector<Tensor> split(const Operand& operand, std::int64_t parts, std::int64_t axis) {
  const tape::OpScope scope(operand);
  const Tensor x = ops::to_tensor("split", operand);
  const int a = ops::normalize("split", axis, x);
  const std::int64_t extent = x.shape()[a];
  if (parts < 1) fail<ValueError>("split", "parts is {}; it must be at least 1", parts);
  if (extent % parts != 0)
    fail<ShapeError>("split", "axis {} of x, of shape {}, cannot be cut into {} equal pieces; use split_sizes", a,
                     x.shape(), parts);
  ops::require_count("split", parts, extent == 0);
  ops::Integers attributes(static_cast<std::size_t>(parts) + 1, extent / parts);
  attributes[0] = a;
  return ops::split(x, attributes);
}

std::vector<Tensor> split_sizes(const Operand& operand, const Shape& extents, std::int64_t axis) {
  const tape::OpScope scope(operand);
  const Tensor x = ops::to_tensor("split_sizes", operand);
  const int a = ops::normalize("split_sizes", axis, x);
  std::int64_t total = 0;
  bool fits = true;
  for (std::int64_t e : extents) fits = fits && e >= 0 && !__builtin_add_overflow(total, e, &total);
  if (!fits || total != x.shape()[a])
    fail<ShapeError>("split_sizes", "extents {} do not add up to {}, the extent of axis {} of x, of shape {}", extents,
                     x.shape()[a], a, x.shape());
  ops::Integers attributes{a};
  attributes.insert(attributes.end(), extents.begin(), extents.end());
  return ops::split(x, attributes);
}

std::vector<Tensor> unstack(const Operand& operand, std::int64_t axis) {
  const tape::OpScope scope(operand);
  const Tensor x = ops::to_tensor("unstack", operand);
  const int a = ops::normalize("unstack", axis, x);
  ops::require_count("unstack", x.shape()[a], x.size() == 0);
  return ops::cut(ops::unstack_primitive, x, ops::words(a), static_cast<std::size_t>(x.shape()[a]));
}

}  // namespace reel
