// Joining and cutting along an axis: concatenate and stack; split and unstack, whose pieces are views and are recorded
// together, as one op with many results. Each pair is the other's transpose.
#include <reel/ops/index.hpp>
#include <reel/ops/make.hpp>

#include "ops/shape/view.hpp"

namespace reel {

namespace ops {

namespace {

using Numbers = std::vector<std::int64_t>;

// Those to a list; few need no memory.
struct Pointers : detail::ShortList<const Tensor*, 8> {
  explicit Pointers(std::span<const Tensor> list) : ShortList(list.size()) {
    for (std::size_t i = 0; i < list.size(); ++i) (*this)[i] = &list[i];
  }
};

// Part i of x along `axis`, recorded.
Tensor part(const Tensor& x, std::int64_t axis, const SliceItem& item) {
  detail::ShortList<SliceItem, 4> items(static_cast<std::size_t>(axis) + 1);
  items[static_cast<std::size_t>(axis)] = item;
  return slice(x, std::span<const SliceItem>(items));
}

// The list with zeros where nothing arrived.
std::vector<Tensor> filled(std::span<const Tensor> list, DType dtype, const auto& shape) {
  std::vector<Tensor> result(list.begin(), list.end());
  for (std::size_t i = 0; i < result.size(); ++i)
    if (!result[i].defined()) result[i] = zeros(shape(i), dtype);
  return result;
}

// ---- concatenate and split; attributes: axis, then the extent of each piece

Shape piece_shape(Shape whole, std::span<const std::int64_t> attributes, std::size_t i) {
  whole[attributes[0]] = attributes[i + 1];
  return whole;
}

std::vector<Tensor> cut(const Tensor& x, std::span<const std::int64_t> attributes);

void concatenate_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  const auto a = r.attributes();
  std::int64_t start = 0;
  for (std::size_t i = 0; i < dx.size(); start += a[++i])
    if (r.wanted(i)) dx[i] = part(g[0], a[0] + r.lead(), range(start, start + a[i + 1]));
}
void concatenate_jvp(const tape::Record& r, std::span<const Tensor> t, std::span<Tensor> dy) {
  dy[0] = concatenate(
      filled(t, r.output_dtype(), [&](std::size_t i) { return piece_shape(r.output_shape(), r.attributes(), i); }),
      r.attributes()[0]);
}
constexpr tape::Rule concatenate_rule = batched({"concatenate", concatenate_vjp, concatenate_jvp});

void split_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  if (r.wanted(0))
    dx[0] = concatenate(filled(g, r.dtype(0), [&](std::size_t i) { return r.led(r.output_shape(i)); }),
                        r.attributes()[0] + r.lead());
}
void split_jvp(const tape::Record& r, std::span<const Tensor> t, std::span<Tensor> dy) {
  const std::vector<Tensor> pieces = cut(t[0], r.attributes());
  std::copy(pieces.begin(), pieces.end(), dy.begin());
}
constexpr tape::Rule split_rule = batched({"split", split_vjp, split_jvp, true});

// ---- stack and unstack; attributes: axis

void stack_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  for (std::size_t i = 0; i < dx.size(); ++i)
    if (r.wanted(i)) dx[i] = part(g[0], r.attributes()[0] + r.lead(), SliceItem(i));
}
void stack_jvp(const tape::Record& r, std::span<const Tensor> t, std::span<Tensor> dy) {
  Shape shape = r.output_shape();
  shape.erase(static_cast<int>(r.attributes()[0]));
  dy[0] = stack(filled(t, r.output_dtype(), [&](std::size_t) { return shape; }), r.attributes()[0]);
}
constexpr tape::Rule stack_rule = batched({"stack", stack_vjp, stack_jvp});

void unstack_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  if (r.wanted(0))
    dx[0] = stack(filled(g, r.dtype(0), [&](std::size_t i) { return r.led(r.output_shape(i)); }),
                  r.attributes()[0] + r.lead());
}
void unstack_jvp(const tape::Record& r, std::span<const Tensor> t, std::span<Tensor> dy) {
  const std::vector<Tensor> pieces = unstack(t[0], r.attributes()[0]);
  std::copy(pieces.begin(), pieces.end(), dy.begin());
}
constexpr tape::Rule unstack_rule = batched({"unstack", unstack_vjp, unstack_jvp, true});

// ---- the ops

// The parts in their common dtype.
std::vector<Tensor> promoted(const char* op, std::span<const Tensor> parts) {
  if (parts.empty()) fail<ValueError>(op, "there are no tensors to join; pass at least one");
  DType d = DType::boolean;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (!parts[i].defined()) fail<ValueError>(op, "part {} is empty (default-constructed or moved from)", i);
    d = i == 0 ? parts[i].dtype() : promote(d, parts[i].dtype());
  }
  std::vector<Tensor> result;
  result.reserve(parts.size());
  for (const Tensor& p : parts) result.push_back(cast_to(p, d));
  return result;
}

Tensor record_join(const tape::Rule& rule, const std::vector<Tensor>& parts, Tensor y, const Numbers& attributes) {
  if (tape::active()) {
    Pointers in(parts);
    const Tensor* out[] = {&y};
    if (is_differentiable(y.dtype()))
      tape::record(rule, in, out, {}, attributes);
    else
      tape::note_cut(rule.name, in, y, tape::Cut::integer);
  }
  return y;
}

std::vector<Tensor> record_cut(const tape::Rule& rule, const Tensor& x, std::vector<Tensor> pieces,
                               std::span<const std::int64_t> attributes) {
  if (tape::active() && !pieces.empty()) {
    const Tensor* in[] = {&x};
    if (is_differentiable(x.dtype())) {
      tape::record(rule, in, Pointers(pieces), {}, attributes);
    } else {
      for (const Tensor& p : pieces) tape::note_cut(rule.name, in, p, tape::Cut::integer);
    }
  }
  return pieces;
}

std::vector<Tensor> cut(const Tensor& x, std::span<const std::int64_t> attributes) {
  const auto axis = static_cast<int>(attributes[0]);
  std::vector<Tensor> pieces;
  std::int64_t start = 0;
  for (std::int64_t extent : attributes.subspan(1)) {
    pieces.push_back(section(x, axis, start, extent));
    start += extent;
  }
  return record_cut(split_rule, x, std::move(pieces), attributes);
}

}  // namespace

}  // namespace ops

Tensor concatenate(std::span<const Tensor> given, std::int64_t axis) {
  const tape::OpScope scope;
  const std::vector<Tensor> parts = ops::promoted("concatenate", given);
  Shape shape = parts[0].shape();
  if (shape.rank() == 0)
    fail<ShapeError>("concatenate", "the parts have rank 0; join them along a new axis with stack");
  const int a = ops::normalize("concatenate", axis, shape.rank());
  ops::Numbers attributes{a};
  std::int64_t total = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Shape own = parts[i].shape();
    bool fits = own.rank() == shape.rank();
    for (int d = 0; fits && d < own.rank(); ++d) fits = d == a || own[d] == shape[d];
    if (!fits)
      fail<ShapeError>("concatenate", "part {} has shape {}, part 0 {}: they may differ only along axis {}", i, own,
                       shape, a);
    attributes.push_back(own[a]);
    if (__builtin_add_overflow(total, own[a], &total))
      fail<ShapeError>("concatenate", "axis {} exceeds the largest extent", a);
  }
  shape[a] = total;
  const Tensor y = detail::empty(parts[0].dtype(), shape);
  std::int64_t start = 0;
  for (std::size_t i = 0; i < parts.size(); start += attributes[++i])
    if (parts[i].size() != 0) loops::copy(parts[i], ops::section(y, a, start, attributes[i + 1]));
  return ops::record_join(ops::concatenate_rule, parts, y, attributes);
}
Tensor concatenate(std::initializer_list<Tensor> parts, std::int64_t axis) {
  return concatenate(std::span(parts.begin(), parts.size()), axis);
}

Tensor stack(std::span<const Tensor> given, std::int64_t axis) {
  const tape::OpScope scope;
  const std::vector<Tensor> parts = ops::promoted("stack", given);
  Shape shape = parts[0].shape();
  const int a = ops::normalize("stack", axis, shape.rank() + 1);
  for (std::size_t i = 1; i < parts.size(); ++i)
    if (const Shape own = parts[i].shape(); own != shape)
      fail<ShapeError>("stack", "part {} has shape {}, part 0 {}: they must be equal", i, own, shape);
  shape.insert(a, static_cast<std::int64_t>(parts.size()));
  const Tensor y = detail::empty(parts[0].dtype(), shape);
  if (y.size() != 0)
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const Tensor place = ops::section(y, a, static_cast<std::int64_t>(i), 1);
      loops::copy(parts[i], ops::reshaped_view(place, parts[i].shape()));
    }
  return ops::record_join(ops::stack_rule, parts, y, {a});
}
Tensor stack(std::initializer_list<Tensor> parts, std::int64_t axis) {
  return stack(std::span(parts.begin(), parts.size()), axis);
}

std::vector<Tensor> split(const Operand& operand, std::int64_t parts, std::int64_t axis) {
  const tape::OpScope scope(operand);
  const Tensor x = ops::to_tensor("split", operand);
  const int a = ops::normalize("split", axis, x.rank());
  const std::int64_t extent = x.shape()[a];
  if (parts < 1) fail<ValueError>("split", "parts is {}; it must be at least 1", parts);
  if (extent % parts != 0)
    fail<ShapeError>("split", "axis {} of x, of shape {}, cannot be cut into {} equal pieces; use split_sizes", a,
                     x.shape(), parts);
  ops::Numbers attributes(static_cast<std::size_t>(parts) + 1, extent / parts);
  attributes[0] = a;
  return ops::cut(x, attributes);
}

std::vector<Tensor> split_sizes(const Operand& operand, const Shape& extents, std::int64_t axis) {
  const tape::OpScope scope(operand);
  const Tensor x = ops::to_tensor("split_sizes", operand);
  const int a = ops::normalize("split_sizes", axis, x.rank());
  std::int64_t total = 0;
  bool fits = true;
  for (std::int64_t e : extents) fits = fits && e >= 0 && !__builtin_add_overflow(total, e, &total);
  if (!fits || total != x.shape()[a])
    fail<ShapeError>("split_sizes", "extents {} do not add up to {}, the extent of axis {} of x, of shape {}", extents,
                     x.shape()[a], a, x.shape());
  ops::Numbers attributes{a};
  attributes.insert(attributes.end(), extents.begin(), extents.end());
  return ops::cut(x, attributes);
}

std::vector<Tensor> unstack(const Operand& operand, std::int64_t axis) {
  const tape::OpScope scope(operand);
  const Tensor x = ops::to_tensor("unstack", operand);
  const int a = ops::normalize("unstack", axis, x.rank());
  Shape shape = x.shape(), strides = x.strides();
  const std::int64_t extent = shape[a], step = strides[a];
  shape.erase(a);
  strides.erase(a);
  std::vector<Tensor> pieces;
  for (std::int64_t i = 0; i < extent; ++i) pieces.push_back(ops::view(x, i * step, shape, strides));
  return ops::record_cut(ops::unstack_rule, x, std::move(pieces), ops::Numbers{a});
}

}  // namespace reel
