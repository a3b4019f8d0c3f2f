// Convolution and correlation, by sliding windows or by Fourier transforms; recursive filters.
#include <reel/fft/signal.hpp>
#include <reel/fft/transforms.hpp>
#include <reel/ops/index.hpp>
#include <reel/ops/linalg.hpp>
#include <reel/ops/make.hpp>
#include <reel/ops/reduce.hpp>
#include <reel/ops/windows.hpp>

#include "fft/recursive_filters.hpp"
#include "fft/signal.hpp"
#include "ops/apply/apply.hpp"

namespace reel {

namespace ops {

Tensor part_of(const Tensor& x, int axis, std::int64_t begin, std::int64_t end) {
  detail::List<SliceItem> items(static_cast<std::size_t>(axis));
  items.push_back(range(begin, end));
  return slice(x, items);
}
Tensor with_zeros(const Tensor& x, int axis, std::int64_t before, std::int64_t after) {
  Shape front, back;
  for (int d = 0; d < x.rank(); ++d) {
    front.push_back(d == axis ? before : 0);
    back.push_back(d == axis ? after : 0);
  }
  return pad(x, front, back);
}

namespace {

// ---- Convolution

struct ConvolutionOperands {
  Tensor x, h;
  Shape axes;  // ascending
  DType promised = DType::float64;
};

// Operands of one dtype and rank, with nonempty axes.
ConvolutionOperands operands_of(const char* op, const Operand& x, const Operand& h, const Axes& axes) {
  ConvolutionOperands o;
  const auto [promised, d] = promote_operands(op, {&x, &h}, Accept::number);
  o.promised = promised;
  o.x = to_tensor(op, x, d, "x");
  o.h = to_tensor(op, h, d, "h");
  if (o.x.rank() != o.h.rank())
    fail<ShapeError>(op, "x has shape {}, h {}; they must have as many axes", o.x.shape(), o.h.shape());
  o.axes = normalize(op, axes, o.x);
  for (const std::int64_t axis : o.axes)
    if (o.x.shape()[axis] == 0 || o.h.shape()[axis] == 0)
      fail<ShapeError>(op, "x has shape {}, h {}; both need elements on axis {}", o.x.shape(), o.h.shape(), axis);
  return o;
}

// The full convolution.
Tensor by_products(const char* op, const Tensor& x, const Tensor& h, const Shape& axes) {
  require_rank(op, x.rank() + axes.rank());
  Tensor windows = x, taps = h;
  for (int i = 0; i < axes.rank(); ++i) {
    const auto axis = static_cast<int>(axes[i]);
    const std::int64_t m = h.shape()[axis];
    windows = sliding_window(with_zeros(windows, axis, m - 1, m - 1), m, axis);
    taps = moveaxis(expand_dims(flip(taps, axis), axis), axis + 1, -1);
  }
  if (axes.rank() == 1 && !is_complex(x.dtype())) {
    // [..., 1, taps] by [..., taps, 1], the axis itself second to last.
    const auto axis = axes[0];
    return moveaxis(squeeze(matmul(moveaxis(windows, axis, -2), moveaxis(moveaxis(taps, axis, -2), -1, -2)), -1), -1,
                    axis);
  }
  Shape last;
  for (int i = 0; i < axes.rank(); ++i) last.push_back(x.rank() + i);
  return axes.empty() ? x * h : sum(windows * taps, last);
}
Tensor by_transforms(const Tensor& x, const Tensor& h, const Shape& axes) {
  if (axes.empty()) return x * h;
  Shape lengths;
  detail::List<SliceItem> items(static_cast<std::size_t>(x.rank()));
  for (const std::int64_t axis : axes) {
    const std::int64_t n = x.shape()[axis] + h.shape()[axis] - 1;
    std::int64_t length = n;
    for (std::int64_t rest = 0; rest != 1; ++length) {  // the next length without prime factors above 5
      rest = length;
      for (const int prime : {2, 3, 5})
        while (rest % prime == 0) rest /= prime;
    }
    lengths.push_back(length - 1);
    items[static_cast<std::size_t>(axis)] = range(0, n);
  }
  if (is_complex(x.dtype())) return slice(ifftn(fftn(x, lengths, axes) * fftn(h, lengths, axes), lengths, axes), items);
  return slice(irfftn(rfftn(x, lengths, axes) * rfftn(h, lengths, axes), lengths, axes), items);
}

// n elements of each axis, from `from` on.
Tensor convolve_axes(const char* op, ConvolutionOperands o, ConvolveMode mode, ConvolveMethod method) {
  if (mode > ConvolveMode::valid || method > ConvolveMethod::fft)
    fail<ValueError>(op, "mode is {}, method {}; see ConvolveMode and ConvolveMethod", static_cast<int>(mode),
                     static_cast<int>(method));
  const Shape n = o.x.shape(), m = o.h.shape();
  bool x_longer = true, h_longer = true;
  for (const std::int64_t axis : o.axes) {
    x_longer = x_longer && n[axis] >= m[axis];
    h_longer = h_longer && m[axis] >= n[axis];
  }
  if (mode == ConvolveMode::valid && !x_longer && !h_longer)
    fail<ShapeError>(op, "x has shape {}, h {}; of mode valid one must be at least as long on every axis", n, m);
  Tensor y = method == ConvolveMethod::direct ? by_products(op, o.x, o.h, o.axes) : by_transforms(o.x, o.h, o.axes);
  for (const std::int64_t axis : o.axes) {
    const std::int64_t least = std::min(n[axis], m[axis]), most = std::max(n[axis], m[axis]);
    if (mode == ConvolveMode::same)
      y = part_of(y, static_cast<int>(axis), (m[axis] - 1) / 2, (m[axis] - 1) / 2 + n[axis]);
    if (mode == ConvolveMode::valid) y = part_of(y, static_cast<int>(axis), least - 1, most);
  }
  return cast_to(y, o.promised);
}

// ---- Recursive filters; inputs: coefficients [k], signals [..., n]

Tensor recursion(const Tensor& a, const Tensor& x);

// [..., n, k]: the elements 1 to k before each of the last axis.
Tensor earlier(const Tensor& y, std::int64_t order) {
  const int last = y.rank() - 1;
  const Tensor before = with_zeros(y, last, order, 0);
  return flip(sliding_window(part_of(before, last, 0, before.shape()[last] - 1), order), -1);
}
void recursion_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  const Tensor a = r.saved(0);
  const Tensor backwards = flip(recursion(a, flip(g[0], -1)), -1);
  if (r.wanted(0)) {
    const Tensor products = expand_dims(backwards, -1) * earlier(r.saved(1), a.size());
    Shape axes;
    for (int d = r.batch_rank(); d < products.rank() - 1; ++d) axes.push_back(d);
    dx[0] = 0 - sum(products, axes);  // not -0 for a coefficient that no element reads
  }
  if (r.wanted(1)) dx[1] = backwards;
}
void recursion_jvp(const tape::Record& r, std::span<const Tensor> t, std::span<Tensor> dy) {
  const Tensor a = r.saved(0);
  Tensor u = t[1];
  if (t[0].defined()) {
    const Tensor change = -sum(earlier(r.saved(1), a.size()) * t[0], -1);
    u = u.defined() ? u + change : change;
  }
  dy[0] = recursion(a, u);
}
void infer_recursion(const Call& call, Metas& out) { out.add(call.input(1).dtype(), call.input(1).shape()); }
void evaluate_recursion(const Call& call, Outputs& out) { loops::recursion(call.input(0), call.input(1), out[0]); }
constexpr Primitive recursion_primitive = {.rule = batched({"recursion", recursion_vjp, recursion_jvp}),
                                           .infer = infer_recursion,
                                           .evaluate = evaluate_recursion,
                                           .keeps = {keep_input(0), keep_output(0, 1)}};

Tensor recursion(const Tensor& a, const Tensor& x) { return apply(recursion_primitive, {&a, &x}); }

}  // namespace

}  // namespace ops

Tensor convolve(const Operand& x, const Operand& h, ConvolveMode mode, ConvolveMethod method, const Axes& axes) {
  const tape::OpScope scope(x);
  return ops::convolve_axes("convolve", ops::operands_of("convolve", x, h, axes), mode, method);
}
Tensor correlate(const Operand& x, const Operand& h, ConvolveMode mode, ConvolveMethod method, const Axes& axes) {
  const tape::OpScope scope(x);
  ops::ConvolutionOperands o = ops::operands_of("correlate", x, h, axes);
  if (!o.axes.empty()) o.h = flip(o.h, o.axes);
  o.h = conj(o.h);
  return ops::convolve_axes("correlate", std::move(o), mode, method);
}

Tensor lfilter(const Operand& b_operand, const Operand& a_operand, const Operand& x_operand, std::int64_t axis) {
  const tape::OpScope scope(x_operand);
  constexpr const char* op = "lfilter";
  const auto [promised, d] = ops::promote_operands(op, {&b_operand, &a_operand, &x_operand}, ops::Accept::real);
  const Tensor b = ops::to_tensor(op, b_operand, d, "b"), a = ops::to_tensor(op, a_operand, d, "a");
  Tensor x = ops::to_tensor(op, x_operand, d, "x");
  if (b.rank() != 1 || a.rank() != 1 || b.size() == 0 || a.size() == 0)
    fail<ShapeError>(op, "b has shape {}, a {}; they must be vectors of at least one number", b.shape(), a.shape());
  const int at = ops::normalize(op, axis, x);
  if (x.size() == 0) return ops::cast_to(x * sum(b) * sum(a), promised);
  x = moveaxis(x, at, -1);
  ops::require_rank(op, x.rank() + 1);
  const std::int64_t taps = b.size(), order = a.size() - 1;
  const Tensor first = a[0];
  // Windows of the signal with what was before it, by the taps in reverse.
  const Tensor windows = sliding_window(ops::with_zeros(x, x.rank() - 1, taps - 1, 0), taps);
  Tensor y = matmul(windows, flip(b / first));
  if (order > 0) y = ops::recursion(slice(a, {range(1, order + 1)}) / first, y);
  return ops::cast_to(moveaxis(y, -1, at), promised);
}

Tensor sosfilt(const Operand& sections_operand, const Operand& x_operand, std::int64_t axis) {
  const tape::OpScope scope(x_operand);
  constexpr const char* op = "sosfilt";
  const auto [promised, d] = ops::promote_operands(op, {&sections_operand, &x_operand}, ops::Accept::real);
  const Tensor sections = ops::to_tensor(op, sections_operand, d, "sections");
  Tensor y = ops::to_tensor(op, x_operand, d, "x");
  if (sections.rank() != 2 || sections.shape()[1] != 6 || sections.shape()[0] == 0)
    fail<ShapeError>(op, "sections have shape {}; they must be [count, 6] with a count of at least 1",
                     sections.shape());
  const int at = ops::normalize(op, axis, y);
  ops::require_rank(op, y.rank() + 1);
  for (std::int64_t k = 0; k < sections.shape()[0]; ++k) {
    const Tensor section = sections[k];
    y = lfilter(slice(section, {range(0, 3)}), slice(section, {range(3, 6)}), y, at);
  }
  return ops::cast_to(y, promised);
}

}  // namespace reel
