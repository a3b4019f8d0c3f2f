// Convolution. With the cotangent g of the result, sum(g * conv2d(x, w)) is linear in the image x, the kernel w and g.
// Its derivatives by these three are conv2d_transpose, conv2d_filters and conv2d, each a function of the other two. So
// the derivatives of these three ops are the same three ops, by one rule.
#include <algorithm>
#include <reel/ops/index.hpp>

#include "csource/steps.hpp"
#include "nn/windows.hpp"
#include "ops/apply/apply.hpp"

namespace reel {
namespace ops {
namespace {

// The factors of that sum, in the order in which the ops take them.
enum Role : std::size_t { image, kernel, result };

constexpr Role other(Role a, Role b) { return static_cast<Role>(3 - a - b); }

// The op that computes `role` from the other two factors, in the order of roles.
Tensor apply_role(Role role, const loops::WindowGeometry& c, const Tensor& a, const Tensor& b);

// The batch axis of cotangents is folded into the axis that both operands share and the third factor lacks: images of a
// result, channels of a kernel and an image, filters of a kernel and a result.
struct FoldedAxis {
  int axis;
  std::int64_t groups;
};
FoldedAxis folded_axis(Role role, Role with, std::int64_t groups) {
  const Role missing = other(role, with);
  if (missing == kernel) return {0, 1};                           // images
  if (missing == result) return {1, role == image ? groups : 1};  // channels
  return {role == kernel ? 0 : 1, groups};                        // filters
}
// [batch, ...] with its first axis folded into `at`.
Tensor fold_batch(const Tensor& x, const FoldedAxis& at) {
  const Shape shape = x.shape();
  Shape split(shape.data() + 1, 4), joined = split;
  split.insert(0, shape[0]);
  split.insert(at.axis + 1, at.groups);
  split[at.axis + 2] /= at.groups;
  joined[at.axis] *= shape[0];
  return reshape(moveaxis(reshape(x, split), 0, at.axis + 1), joined);
}
// The inverse.
Tensor unfold_batch(const Tensor& x, const FoldedAxis& at, std::int64_t batch) {
  const Shape shape = x.shape();
  Shape split = shape, joined = shape;
  split.insert(at.axis, at.groups);
  split.insert(at.axis + 1, batch);
  split[at.axis + 2] /= at.groups * batch;
  joined[at.axis] /= batch;
  joined.insert(0, batch);
  return reshape(moveaxis(reshape(x, split), at.axis + 1, 0), joined);
}

// The cotangent of `wanted` from g, the cotangent of `output`; x is the third factor.
Tensor cotangent_of(const tape::Record& r, Role output, Role wanted, const Tensor& g, const Tensor& x) {
  const loops::WindowGeometry c = geometry_of(r.attributes());
  const auto of = [&](const Tensor& cotangent) {
    return output < other(output, wanted) ? apply_role(wanted, c, cotangent, x) : apply_role(wanted, c, x, cotangent);
  };
  if (!r.batch_rank()) return of(g);
  const Tensor folded = of(fold_batch(g, folded_axis(output, wanted, c.groups)));
  return unfold_batch(folded, folded_axis(wanted, output, c.groups), g.shape()[0]);
}

template <Role output>
constexpr Role first = output == image ? kernel : image;
template <Role output>
constexpr Role second = output == result ? kernel : result;

template <Role output>
void vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  if (r.wanted(0)) dx[0] = cotangent_of(r, output, first<output>, g[0], r.saved(1));
  if (r.wanted(1)) dx[1] = cotangent_of(r, output, second<output>, g[0], r.saved(0));
}
template <Role output>
void jvp(const tape::Record& r, std::span<const Tensor> t, std::span<Tensor> dy) {
  const loops::WindowGeometry c = geometry_of(r.attributes());
  if (r.wanted(0)) dy[0] = apply_role(output, c, t[0], r.saved(1));
  if (r.wanted(1)) {
    const Tensor more = apply_role(output, c, r.saved(0), t[1]);
    dy[0] = dy[0].defined() ? dy[0] + more : more;
  }
}

template <Role output>
void infer_shape(const Call& call, Metas& out) {
  const loops::WindowGeometry c = geometry_of(call.attributes);
  const Shape a = call.input(0).shape(), b = call.input(1).shape();
  const DType dtype = call.input(0).dtype();
  if constexpr (output == image)  // from a kernel and a result
    out.add(dtype, {b[0], a[1] * c.groups, c.rows.extent, c.columns.extent});
  else if constexpr (output == kernel)  // from an image and a result
    out.add(dtype, {b[1], a[1] / c.groups, c.rows.taps, c.columns.taps});
  else  // from an image and a kernel
    out.add(dtype, {a[0], b[0], c.rows.results, c.columns.results});
}
template <Role output>
void convolve_as(const Call& call, Outputs& out) {
  const loops::WindowGeometry c = geometry_of(call.attributes);
  const Tensor &a = call.input(0), &b = call.input(1);
  if constexpr (output == image)
    loops::convolve_back(c, b, a, out[0]);
  else if constexpr (output == kernel)
    loops::convolve_filters(c, a, b, out[0]);
  else
    loops::convolve(c, a, b, out[0]);
}

// Numbers: the role, images, channels, filters, the windows.
template <Role output>
void write_convolution(const Call& call, csource::Writer& w) {
  const std::int64_t groups = call.attribute(0);
  const Shape a = call.input(0).shape(), b = call.input(1).shape();
  std::array<std::int64_t, 4 + std::tuple_size_v<WindowAttributes>> numbers{output, 0, 0, 0};
  if constexpr (output == image)
    numbers = {output, b[0], a[1] * groups, a[0]};
  else
    numbers = {output, a[0], a[1], output == kernel ? b[1] : b[0]};
  std::copy(call.attributes.begin(), call.attributes.end(), numbers.begin() + 4);
  csource::write_steps(w, call.input(0).dtype(),
                       "$convolve(i0, i1, o0, #0, #1, #2, #3, #4, #5, #6, #7, #8, #9, #a, #b, #c, #d, #e, #f, #g)",
                       numbers);
}

template <Role output>
constexpr Primitive primitive_of(const char* name) {
  return {.rule = batched({name, vjp<output>, jvp<output>}),
          .infer = infer_shape<output>,
          .evaluate = convolve_as<output>,
          .keeps = {keep_input(0, 0b10), keep_input(1, 0b01)},
          .write_c = write_convolution<output>};
}
constexpr Primitive primitives[] = {primitive_of<image>("conv2d_transpose"), primitive_of<kernel>("conv2d_filters"),
                                    primitive_of<result>("conv2d")};

Tensor apply_role(Role role, const loops::WindowGeometry& c, const Tensor& a, const Tensor& b) {
  if (is_half(a.dtype())) return cast(apply_role(role, c, cast(a, DType::float32), cast(b, DType::float32)), a.dtype());
  return apply(primitives[role], {&a, &b}, attributes_of(c));
}

constexpr const char* kernel_axes = "[filters, channels / groups, height, width]";

}  // namespace
}  // namespace ops

Tensor conv2d(const Operand& x, const Operand& w, const Conv2dOptions& options) {
  const tape::OpScope scope(x);
  const auto [a, b] = ops::image_and_kernel("conv2d", x, w, "[batch, channels, height, width]", ops::kernel_axes);
  const Shape shape = a.shape(), kernel = b.shape();
  const loops::WindowGeometry c = ops::window_geometry(
      "conv2d", shape, {{kernel[2], kernel[3]}, options.stride, options.dilation, options.padding, options.groups});
  ops::check_kernel("conv2d", shape, kernel, c.groups);
  return ops::apply_role(ops::result, c, a, b);
}

Tensor conv2d_transpose(const Operand& x, const Operand& w, const Conv2dTransposeOptions& options) {
  const tape::OpScope scope(x);
  const auto [a, b] =
      ops::image_and_kernel("conv2d_transpose", x, w, "[batch, filters, height, width]", ops::kernel_axes);
  const Shape shape = a.shape(), kernel = b.shape();
  const loops::WindowGeometry c = ops::geometry_from_results(
      "conv2d_transpose", shape,
      {{kernel[2], kernel[3]}, options.stride, options.dilation, options.padding, options.groups}, options.size);
  ops::check_transposed_kernel("conv2d_transpose", shape, kernel, c.groups);
  return ops::apply_role(ops::image, c, b, a);
}

}  // namespace reel
