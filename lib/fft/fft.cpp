// Fourier transforms. There are three primitives along one axis: complex to complex, real to half spectrum, and half
// spectrum to real. The other transforms are composed of them.
#include <cmath>
#include <reel/fft/transforms.hpp>
#include <reel/ops/index.hpp>
#include <reel/ops/make.hpp>
#include <reel/ops/pointwise.hpp>

#include "core/limits.hpp"
#include "fft/fft_loops.hpp"
#include "fft/signal.hpp"
#include "loops/elementwise/complex.hpp"
#include "ops/apply/apply.hpp"
#include "ops/promote.hpp"

namespace reel {

namespace ops {

namespace {

// ---- Complex; attributes: axis, whether inverse, factor

Tensor complex_transform(const Tensor& x, int axis, bool inverse, double scale);

Tensor fft_transpose(const tape::Record& r, const Tensor& g) {
  const Attributes a = r.attributes();
  return complex_transform(g, static_cast<int>(a[0]) + r.batch_rank(), a[1] == 0, std::bit_cast<double>(a[2]));
}
Tensor fft_forward(const tape::Record& r, const Tensor& t) {
  const Attributes a = r.attributes();
  return complex_transform(t, static_cast<int>(a[0]), a[1] != 0, std::bit_cast<double>(a[2]));
}
void infer_fft(const Call& call, Metas& out) { out.add_like(call.input(0)); }
void evaluate_fft(const Call& call, Outputs& out) {
  loops::fourier(call.input(0), static_cast<int>(call.attribute(0)), call.attribute(1) != 0, call.real(2), out[0]);
}
constexpr Primitive fft_primitive = {
    .rule = linear<fft_transpose, fft_forward>("fft"), .infer = infer_fft, .evaluate = evaluate_fft};

Tensor complex_transform(const Tensor& x, int axis, bool inverse, double scale) {
  return apply(fft_primitive, {&x}, words(axis, inverse, scale));
}

// ---- Real to half a spectrum, and back; attributes: axis, factor of the inner numbers, factor, extent of the result.
// They are transposes of each other: inner numbers count 2 * inner times in the one, inner times in the other.

Tensor half_of_real(const Tensor& x, int axis, double inner, double scale);
Tensor real_of_half(const Tensor& x, int axis, double inner, double scale, std::int64_t n);

Tensor rfft_transpose(const tape::Record& r, const Tensor& g) {
  const Attributes a = r.attributes();
  return real_of_half(g, static_cast<int>(a[0]) + r.batch_rank(), std::bit_cast<double>(a[1]) / 2,
                      std::bit_cast<double>(a[2]), r.shape(0)[a[0]]);
}
Tensor rfft_forward(const tape::Record& r, const Tensor& t) {
  const Attributes a = r.attributes();
  return half_of_real(t, static_cast<int>(a[0]), std::bit_cast<double>(a[1]), std::bit_cast<double>(a[2]));
}
void infer_rfft(const Call& call, Metas& out) {
  Shape shape = call.input(0).shape();
  const std::int64_t axis = call.attribute(0);
  shape[axis] = shape[axis] / 2 + 1;
  out.add(loops::complex_dtype(call.input(0).dtype()), shape);
}
void evaluate_rfft(const Call& call, Outputs& out) {
  loops::fourier_of_real(call.input(0), static_cast<int>(call.attribute(0)), call.real(1), call.real(2), out[0]);
}
constexpr Primitive rfft_primitive = {
    .rule = linear<rfft_transpose, rfft_forward>("rfft"), .infer = infer_rfft, .evaluate = evaluate_rfft};

Tensor irfft_transpose(const tape::Record& r, const Tensor& g) {
  const Attributes a = r.attributes();
  return half_of_real(g, static_cast<int>(a[0]) + r.batch_rank(), std::bit_cast<double>(a[1]) * 2,
                      std::bit_cast<double>(a[2]));
}
Tensor irfft_forward(const tape::Record& r, const Tensor& t) {
  const Attributes a = r.attributes();
  return real_of_half(t, static_cast<int>(a[0]), std::bit_cast<double>(a[1]), std::bit_cast<double>(a[2]), a[3]);
}
void infer_irfft(const Call& call, Metas& out) {
  Shape shape = call.input(0).shape();
  shape[call.attribute(0)] = call.attribute(3);
  out.add(loops::part_dtype(call.input(0).dtype()), shape);
}
void evaluate_irfft(const Call& call, Outputs& out) {
  loops::fourier_to_real(call.input(0), static_cast<int>(call.attribute(0)), call.real(1), call.real(2), out[0]);
}
constexpr Primitive irfft_primitive = {
    .rule = linear<irfft_transpose, irfft_forward>("irfft"), .infer = infer_irfft, .evaluate = evaluate_irfft};

Tensor half_of_real(const Tensor& x, int axis, double inner, double scale) {
  return apply(rfft_primitive, {&x}, words(axis, inner, scale));
}
Tensor real_of_half(const Tensor& x, int axis, double inner, double scale, std::int64_t n) {
  return apply(irfft_primitive, {&x}, words(axis, inner, scale, n));
}

// ---- Operands

double factor_of(const char* op, FftNorm norm, bool inverse, std::int64_t n) {
  if (norm > FftNorm::forward)
    fail<ValueError>(op, "norm is {}; it must be backward, ortho or forward", static_cast<int>(norm));
  if (norm == FftNorm::ortho) return 1 / std::sqrt(static_cast<double>(n));
  return (norm == FftNorm::backward) == inverse ? 1 / static_cast<double>(n) : 1;
}

// The operand as complex numbers, or, `real`, as float32 or float64.
Tensor operand_of(const char* op, const Operand& operand, bool real) {
  const auto [x, d] = promote_operand(op, operand, Accept::number);
  if (!is_complex(d)) return real ? x : cast_to(x, loops::complex_dtype(x.dtype()));
  if (real) fail<TypeError>(op, "x is {}; it must be real: {}", d, remedy(d));
  return x;
}

// x with `n` elements along the axis: cut, or padded with zeros.
Tensor resize_axis(const char* op, const Tensor& x, int axis, std::int64_t n) {
  const std::int64_t extent = x.shape()[axis];
  if (n == extent) return x;
  if (n < extent) return part_of(x, axis, 0, n);
  Shape shape = x.shape();
  shape[axis] = n;
  require_shape(op, shape);
  return with_zeros(x, axis, 0, n - extent);
}

// The length of the transform: n, or for n = -1 the extent of the axis. `halved`: the axis holds a half spectrum.
std::int64_t length_of(const char* op, std::int64_t n, const Tensor& x, int axis, bool halved = false) {
  if (n < 1 && n != -1) fail<ValueError>(op, "the number of elements to transform is {}; it must be at least 1", n);
  if (n != -1) return n;
  const std::int64_t extent = x.shape()[axis], least = halved ? 2 : 1;
  if (extent < least)
    fail<ValueError>(op, "axis {} of x, of shape {}, has too few elements: without n there must be at least {}", axis,
                     x.shape(), least);
  if (halved && extent > detail::elements_max / 2)
    fail<ShapeError>(op, "axis {} of x, of shape {}, has more elements than a half spectrum can have", axis, x.shape());
  return halved ? 2 * (extent - 1) : extent;
}

Tensor complex_along(const char* op, const Tensor& x, std::int64_t n, int axis, FftNorm norm, bool inverse) {
  const std::int64_t length = length_of(op, n, x, axis);
  const double scale = factor_of(op, norm, inverse, length);
  return complex_transform(resize_axis(op, x, axis, length), axis, inverse, scale);
}
Tensor half_along(const char* op, const Tensor& x, std::int64_t n, int axis, FftNorm norm, bool inverse) {
  const std::int64_t length = length_of(op, n, x, axis);
  const double scale = factor_of(op, norm, inverse, length);
  return half_of_real(resize_axis(op, x, axis, length), axis, 1, scale);
}
Tensor real_along(const char* op, const Tensor& x, std::int64_t n, int axis, FftNorm norm, bool inverse) {
  const std::int64_t length = length_of(op, n, x, axis, true);
  const double scale = factor_of(op, norm, inverse, length);
  Shape shape = x.shape();
  shape[axis] = length;
  require_shape(op, shape);
  return real_of_half(resize_axis(op, x, axis, length / 2 + 1), axis, 1, scale, length);
}

// The axes of a transform along several axes, in the order of the caller and counted from the front, and an n for each.
struct TransformAxes {
  detail::List<int> axes;
  detail::List<std::int64_t> n;
  TransformAxes(const char* op, const Shape& shape, const Axes& requested, const Tensor& x) {
    const int entries = shape.rank(), rank = x.rank();
    if (!requested.all()) {
      static_cast<void>(normalize(op, requested, x));  // refuses repeated ones
      for (const std::int64_t axis : requested.list()) axes.push_back(normalize(op, axis, x));
      if (entries != 0 && entries != requested.list().rank())
        fail<ValueError>(op, "shape {} and axes {} must have as many entries", shape, requested.list());
    } else {
      if (entries > rank)
        fail<ValueError>(op, "shape {} has more entries than x, of shape {}, has axes", shape, x.shape());
      for (int axis = entries == 0 ? 0 : rank - entries; axis < rank; ++axis) axes.push_back(axis);
    }
    for (std::size_t i = 0; i < axes.size(); ++i) n.push_back(entries == 0 ? -1 : shape[static_cast<std::int64_t>(i)]);
  }
};

Tensor complex_along_all(const char* op, const Operand& operand, const Shape& shape, const Axes& axes, FftNorm norm,
                         bool inverse) {
  const tape::OpScope scope(operand);
  Tensor x = operand_of(op, operand, false);
  const TransformAxes along(op, shape, axes, x);
  for (std::size_t i = along.axes.size(); i-- > 0;) x = complex_along(op, x, along.n[i], along.axes[i], norm, inverse);
  return along.axes.empty() ? identity(x) : x;
}
Tensor half_along_all(const char* op, const Operand& operand, const Shape& shape, const Axes& axes, FftNorm norm) {
  const tape::OpScope scope(operand);
  Tensor x = operand_of(op, operand, true);
  const TransformAxes along(op, shape, axes, x);
  if (along.axes.empty()) fail<ValueError>(op, "there must be an axis to halve; x has shape {}", x.shape());
  x = half_along(op, x, along.n.back(), along.axes.back(), norm, false);
  for (std::size_t i = along.axes.size() - 1; i-- > 0;)
    x = complex_along(op, x, along.n[i], along.axes[i], norm, false);
  return x;
}
Tensor real_along_all(const char* op, const Operand& operand, const Shape& shape, const Axes& axes, FftNorm norm) {
  const tape::OpScope scope(operand);
  Tensor x = operand_of(op, operand, false);
  const TransformAxes along(op, shape, axes, x);
  if (along.axes.empty()) fail<ValueError>(op, "there must be an axis that was halved; x has shape {}", x.shape());
  for (std::size_t i = 0; i + 1 < along.axes.size(); ++i)
    x = complex_along(op, x, along.n[i], along.axes[i], norm, true);
  return real_along(op, x, along.n.back(), along.axes.back(), norm, true);
}

Tensor shift_axes(const char* op, const Operand& operand, const Axes& axes, bool inverse) {
  const tape::OpScope scope(operand);
  Tensor x = to_tensor(op, operand);
  const Shape all = normalize(op, axes, x);
  for (const std::int64_t axis : all) {
    const std::int64_t half = x.shape()[axis] / 2;
    x = roll(x, inverse ? -half : half, axis);
  }
  return all.empty() ? identity(x) : x;
}

Tensor frequencies(const char* op, std::int64_t n, double step, std::int64_t first, std::int64_t count) {
  if (n < 1) fail<ValueError>(op, "n is {}; it must be at least 1", n);
  if (n > detail::double_elements_max) fail<ShapeError>(op, "n is {}, more than a tensor can have elements", n);
  if (step == 0) fail<ValueError>(op, "the step is 0");
  const double factor = 1 / (static_cast<double>(n) * step);
  const Tensor order = arange(first, first + count);
  return cast(order, DType::float64) * factor;
}

}  // namespace

}  // namespace ops

using ops::complex_along, ops::half_along, ops::real_along, ops::operand_of;

Tensor fft(const Operand& x, std::int64_t n, std::int64_t axis, FftNorm norm) {
  const tape::OpScope scope(x);
  const Tensor z = operand_of("fft", x, false);
  return complex_along("fft", z, n, ops::normalize("fft", axis, z), norm, false);
}
Tensor ifft(const Operand& x, std::int64_t n, std::int64_t axis, FftNorm norm) {
  const tape::OpScope scope(x);
  const Tensor z = operand_of("ifft", x, false);
  return complex_along("ifft", z, n, ops::normalize("ifft", axis, z), norm, true);
}
Tensor rfft(const Operand& x, std::int64_t n, std::int64_t axis, FftNorm norm) {
  const tape::OpScope scope(x);
  const Tensor z = operand_of("rfft", x, true);
  return half_along("rfft", z, n, ops::normalize("rfft", axis, z), norm, false);
}
Tensor irfft(const Operand& x, std::int64_t n, std::int64_t axis, FftNorm norm) {
  const tape::OpScope scope(x);
  const Tensor z = operand_of("irfft", x, false);
  return real_along("irfft", z, n, ops::normalize("irfft", axis, z), norm, true);
}
Tensor hfft(const Operand& x, std::int64_t n, std::int64_t axis, FftNorm norm) {
  const tape::OpScope scope(x);
  const Tensor z = operand_of("hfft", x, false);
  return real_along("hfft", conj(z), n, ops::normalize("hfft", axis, z), norm, false);
}
Tensor ihfft(const Operand& x, std::int64_t n, std::int64_t axis, FftNorm norm) {
  const tape::OpScope scope(x);
  const Tensor z = operand_of("ihfft", x, true);
  return conj(half_along("ihfft", z, n, ops::normalize("ihfft", axis, z), norm, true));
}

Tensor fftn(const Operand& x, const Shape& shape, const Axes& axes, FftNorm norm) {
  return ops::complex_along_all("fftn", x, shape, axes, norm, false);
}
Tensor ifftn(const Operand& x, const Shape& shape, const Axes& axes, FftNorm norm) {
  return ops::complex_along_all("ifftn", x, shape, axes, norm, true);
}
Tensor rfftn(const Operand& x, const Shape& shape, const Axes& axes, FftNorm norm) {
  return ops::half_along_all("rfftn", x, shape, axes, norm);
}
Tensor irfftn(const Operand& x, const Shape& shape, const Axes& axes, FftNorm norm) {
  return ops::real_along_all("irfftn", x, shape, axes, norm);
}
Tensor fft2(const Operand& x, const Shape& shape, const Axes& axes, FftNorm norm) {
  return ops::complex_along_all("fft2", x, shape, axes, norm, false);
}
Tensor ifft2(const Operand& x, const Shape& shape, const Axes& axes, FftNorm norm) {
  return ops::complex_along_all("ifft2", x, shape, axes, norm, true);
}
Tensor rfft2(const Operand& x, const Shape& shape, const Axes& axes, FftNorm norm) {
  return ops::half_along_all("rfft2", x, shape, axes, norm);
}
Tensor irfft2(const Operand& x, const Shape& shape, const Axes& axes, FftNorm norm) {
  return ops::real_along_all("irfft2", x, shape, axes, norm);
}

Tensor fftshift(const Operand& x, const Axes& axes) { return ops::shift_axes("fftshift", x, axes, false); }
Tensor ifftshift(const Operand& x, const Axes& axes) { return ops::shift_axes("ifftshift", x, axes, true); }
Tensor fftfreq(std::int64_t n, double step) {
  const Tensor k = ops::frequencies("fftfreq", n, step, -(n / 2), n);
  return roll(k, -(n / 2), 0);
}
Tensor rfftfreq(std::int64_t n, double step) { return ops::frequencies("rfftfreq", n, step, 0, n / 2 + 1); }

}  // namespace reel
