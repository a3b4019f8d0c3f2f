// Convolution. With the cotangent g of its result, sum(g * conv2d(x, w)) is linear in x, w and g each: what it is
// multiplied with, of each of the three, is an op of the other two: conv2d, its transpose, and the gradient of its
// kernel. So the derivatives of all three are these three again, by one rule.
#include <reel/ops/index.hpp>

#include "loops/loops.hpp"
#include "ops/neural/windows.hpp"

namespace reel {
namespace ops {
namespace {

// The three, by their place in the sum; also the order of an op's operands.
enum Role : std::size_t { image, kernel, result };

constexpr Role other(Role a, Role b) { return static_cast<Role>(3 - a - b); }

Tensor made(Role role, const loops::Convolved& c, const Tensor& a, const Tensor& b);

// An axis of more tensors that are carried together is made part of the axis that the two have in common who have it:
// images of a result, channels of a kernel and image, filters of a kernel and result.
struct Place {
  int axis;
  std::int64_t groups;
};
Place place(Role role, Role with, std::int64_t groups) {
  const Role missing = other(role, with);
  if (missing == kernel) return {0, 1};                           // images
  if (missing == result) return {1, role == image ? groups : 1};  // channels
  return {role == kernel ? 0 : 1, groups};                        // filters
}
// [more, ...] without its first axis.
Tensor merged(const Tensor& x, const Place& at) {
  const Shape shape = x.shape();
  Shape split(shape.data() + 1, 4), joined = split;
  split.insert(0, shape[0]);
  split.insert(at.axis + 1, at.groups);
  split[at.axis + 2] /= at.groups;
  joined[at.axis] *= shape[0];
  return reshape(moveaxis(reshape(x, split), 0, at.axis + 1), joined);
}
// The inverse.
Tensor parted(const Tensor& x, const Place& at, std::int64_t more) {
  const Shape shape = x.shape();
  Shape split = shape, joined = shape;
  split.insert(at.axis, at.groups);
  split.insert(at.axis + 1, more);
  split[at.axis + 2] /= at.groups * more;
  joined[at.axis] /= more;
  joined.insert(0, more);
  return reshape(moveaxis(reshape(x, split), at.axis + 1, 0), joined);
}

// The derivative with respect to `wanted` of an op that gives `given`: g is its cotangent, x the third.
Tensor pulled(const tape::Record& r, Role given, Role wanted, const Tensor& g, const Tensor& x) {
  const loops::Convolved c = convolved_of(r.attributes());
  const auto of = [&](const Tensor& cotangent) {
    return given < other(given, wanted) ? made(wanted, c, cotangent, x) : made(wanted, c, x, cotangent);
  };
  if (!r.lead()) return of(g);
  return parted(of(merged(g, place(given, wanted, c.groups))), place(wanted, given, c.groups), g.shape()[0]);
}

template <Role given>
constexpr Role first = given == image ? kernel : image;
template <Role given>
constexpr Role second = given == result ? kernel : result;

template <Role given>
void vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  if (r.wanted(0)) dx[0] = pulled(r, given, first<given>, g[0], r.saved(1));
  if (r.wanted(1)) dx[1] = pulled(r, given, second<given>, g[0], r.saved(0));
}
template <Role given>
void jvp(const tape::Record& r, std::span<const Tensor> t, std::span<Tensor> dy) {
  const loops::Convolved c = convolved_of(r.attributes());
  if (r.wanted(0)) dy[0] = made(given, c, t[0], r.saved(1));
  if (r.wanted(1)) {
    const Tensor more = made(given, c, r.saved(0), t[1]);
    dy[0] = dy[0].defined() ? dy[0] + more : more;
  }
}
template <Role given>
constexpr tape::Rule rule_of(const char* name) {
  return batched({name, vjp<given>, jvp<given>});
}
constexpr tape::Rule rules[] = {rule_of<image>("conv2d_transpose"), rule_of<kernel>("conv2d_filters"),
                                rule_of<result>("conv2d")};

// What the other two, in the order of roles, make of this one.
Tensor made(Role role, const loops::Convolved& c, const Tensor& a, const Tensor& b) {
  if (is_half(a.dtype())) return cast(made(role, c, cast(a, DType::float32), cast(b, DType::float32)), a.dtype());
  const Shape sa = a.shape(), sb = b.shape();
  Shape shape;
  if (role == image)  // of a kernel and a result
    shape = {sb[0], sa[1] * c.groups, c.rows.extent, c.columns.extent};
  else if (role == kernel)  // of an image and a result
    shape = {sb[1], sa[1] / c.groups, c.rows.taps, c.columns.taps};
  else
    shape = {sa[0], sb[0], c.rows.results, c.columns.results};
  const Tensor out = detail::empty(a.dtype(), shape);
  if (role == image)
    loops::convolve_back(c, b, a, out);
  else if (role == kernel)
    loops::convolve_filters(c, a, b, out);
  else
    loops::convolve(c, a, b, out);
  if (tape::active()) {
    const WindowAttributes attributes = attributes_of(c);
    tape::record(rules[role], {&a, &b}, out, {tape::followed(b) ? &a : nullptr, tape::followed(a) ? &b : nullptr},
                 attributes);
  }
  return out;
}

struct Pair {
  Tensor x, w;
};
Pair operands(const char* op, const Operand& x, const Operand& w, const char* axes) {
  const Tensor a = image_operand(op, x, "x", axes),
               b = image_operand(op, w, "w", "[filters, channels / groups, height, width]");
  const DType dtype = promote(a.dtype(), b.dtype());
  return {cast_to(a, dtype), cast_to(b, dtype)};
}

}  // namespace
}  // namespace ops

Tensor conv2d(const Operand& x, const Operand& w, const Conv2dOptions& options) {
  const tape::OpScope scope(x);
  const auto [a, b] = ops::operands("conv2d", x, w, "[batch, channels, height, width]");
  const Shape shape = a.shape(), kernel = b.shape();
  const loops::Convolved c = ops::convolved(
      "conv2d", shape, {{kernel[2], kernel[3]}, options.stride, options.dilation, options.padding, options.groups});
  if (kernel[1] * c.groups != shape[1])
    fail<ShapeError>("conv2d", "x has {} channels, but w is for {} in each of {} groups: x is {}, w is {}; {}",
                     shape[1], kernel[1], c.groups, shape, kernel,
                     kernel[1] > 0 && shape[1] % kernel[1] == 0 ? fmt::format("set groups to {}", shape[1] / kernel[1])
                     : shape[1] % c.groups == 0 ? fmt::format("w needs {} channels", shape[1] / c.groups)
                                                : std::string("choose groups that divide the channels of x"));
  if (kernel[0] % c.groups != 0)
    fail<ShapeError>("conv2d", "{} filters do not fall into {} groups: w is {}; choose groups that divide them",
                     kernel[0], c.groups, kernel);
  return ops::made(ops::result, c, a, b);
}

Tensor conv2d_transpose(const Operand& x, const Operand& w, const Conv2dTransposeOptions& options) {
  const tape::OpScope scope(x);
  const auto [a, b] = ops::operands("conv2d_transpose", x, w, "[batch, filters, height, width]");
  const Shape shape = a.shape(), kernel = b.shape();
  const loops::Convolved c = ops::convolved_back(
      "conv2d_transpose", shape,
      {{kernel[2], kernel[3]}, options.stride, options.dilation, options.padding, options.groups}, options.size);
  if (kernel[0] != shape[1])
    fail<ShapeError>("conv2d_transpose", "x has {} filters and w has {}: x is {}, w is {}; w needs [{}, ...]", shape[1],
                     kernel[0], shape, kernel, shape[1]);
  if (kernel[0] % c.groups != 0)
    fail<ShapeError>("conv2d_transpose",
                     "{} filters do not fall into {} groups: w is {}; choose groups that divide them", kernel[0],
                     c.groups, kernel);
  return ops::made(ops::image, c, b, a);
}

}  // namespace reel
