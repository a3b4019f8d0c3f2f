// Cosine, sine, Hadamard and short-time Fourier transforms, composed of other ops; window functions; unwrap; detrend.
#include <cmath>
#include <numbers>
#include <reel/fft/signal.hpp>
#include <reel/fft/transforms.hpp>
#include <reel/ops/index.hpp>
#include <reel/ops/make.hpp>
#include <reel/ops/pointwise.hpp>
#include <reel/ops/reduce.hpp>
#include <reel/ops/windows.hpp>
#include <reel/special.hpp>
#include <vector>

#include "core/block.hpp"
#include "core/limits.hpp"
#include "fft/signal.hpp"
#include "loops/elementwise/elements.hpp"
#include "loops/loops.hpp"
#include "ops/apply/apply.hpp"

namespace reel {

namespace ops {

Frames::Frames(const char* op, const Operand& operand, DType d, std::int64_t hop)
    : window(cast_to(promote_operand(op, operand, Accept::real, "window").x, d)) {
  if (window.rank() != 1 || window.size() == 0)
    fail<ShapeError>(op, "window has shape {}; it must be a vector of at least one number", window.shape());
  n = window.size();
  if (hop < 1 || hop > n) fail<ValueError>(op, "hop is {}; it must be from 1 to {}, the length of the window", hop, n);
}

namespace {

using std::numbers::pi;

// ---- Cosine and sine transforms along the last axis

// exp(i angle (first + k step)), k < n, in the complex dtype of x.
Tensor phases(const Tensor& x, std::int64_t n, double angle, double first = 0) {
  const Tensor all = (arange(n) * 1.0 + first) * angle;
  return make_complex(cast(cos(all), x.dtype()), cast(sin(all), x.dtype()));
}
Tensor last_part(const Tensor& x, std::int64_t begin, std::int64_t end) { return part_of(x, x.rank() - 1, begin, end); }
// The element k of the last axis times a factor, the others unchanged.
Tensor with_factor(const Tensor& x, std::int64_t k, double factor) {
  const std::int64_t n = x.shape()[-1];
  return x * cast(where(equal(arange(n), k), factor, 1.0), x.dtype());
}

// The sums of SciPy without factors.
Tensor sums(const Tensor& x, int type, bool sine) {
  const int last = x.rank() - 1;
  const std::int64_t n = x.shape()[last];
  const double angle = pi / (2 * static_cast<double>(n));
  if (type == 1 && sine) {
    const Tensor odd = concatenate({with_zeros(x, last, 1, 1), -flip(x, -1)}, -1);
    return last_part(-imag(rfft(odd)), 1, n + 1);
  }
  if (type == 1) return real(rfft(concatenate({x, flip(last_part(x, 1, n - 1), -1)}, -1)));
  if (type == 2) {
    const Tensor mirror = flip(x, -1), spectrum = rfft(concatenate({x, sine ? -mirror : mirror}, -1));
    const Tensor rotated = last_part(spectrum, sine, n + sine) * phases(x, n, -angle, sine);
    return sine ? -imag(rotated) : real(rotated);
  }
  if (type == 3) {
    const Tensor rotated = x * phases(x, n, angle, sine);
    const Tensor spectrum = sine ? with_zeros(make_complex(imag(rotated), -real(rotated)), last, 1, 0) : rotated;
    return last_part(irfft(spectrum, 2 * n, -1, FftNorm::forward), 0, n);
  }
  const Tensor spectrum = last_part(fft(x * phases(x, n, -angle), 2 * n), 0, n) * phases(x, n, -angle, 0.5);
  return 2 * (sine ? -imag(spectrum) : real(spectrum));
}

Tensor cosine_or_sine(const char* op, const Operand& operand, int type, std::int64_t axis, bool ortho, bool sine,
                      bool inverse) {
  const tape::OpScope scope(operand);
  auto [x, promised] = promote_operand(op, operand, Accept::real);
  const int at = normalize(op, axis, x);
  const std::int64_t n = x.shape()[at];
  if (type < 1 || type > 4) fail<ValueError>(op, "type is {}; it must be from 1 to 4", type);
  if (n < (type == 1 && !sine ? 2 : 1))
    fail<ValueError>(op, "axis {} of x, of shape {}, has too few elements for type {}", at, x.shape(), type);
  if (inverse) type = type == 2 ? 3 : type == 3 ? 2 : type;
  const double length = 2 * static_cast<double>(type > 1 ? n : sine ? n + 1 : n - 1);
  const double root = std::sqrt(2.0), scale = ortho ? 1 / std::sqrt(length) : inverse ? 1 / length : 1;
  x = moveaxis(x, at, -1);
  const std::int64_t end = sine ? n - 1 : 0;
  if (ortho && type == 1 && !sine) x = with_factor(with_factor(x, 0, root), n - 1, root);
  if (ortho && type == 3) x = with_factor(x, end, root);
  Tensor y = sums(x, type, sine) * scale;
  if (ortho && type == 1 && !sine) y = with_factor(with_factor(y, 0, 1 / root), n - 1, 1 / root);
  if (ortho && type == 2) y = with_factor(y, end, 1 / root);
  return cast_to(moveaxis(y, -1, at), promised);
}

// ---- Short-time spectra

// Above rounding errors of windows whose greatest value is 1; the tolerance of SciPy's check_NOLA.
constexpr double least_sum_of_squares = 1e-10;

// The window: checked to determine a signal, and passed on. Attribute: hop.
void infer_window(const Call& call, Metas& out) { out.add_like(call.input(0)); }
void evaluate_window(const Call& call, Outputs& out) {
  loops::copy(call.input(0), out[0]);
  const std::int64_t hop = call.attribute(0);
  if (const auto [at, sum] = loops::first_small_sum(out[0], hop, least_sum_of_squares); at >= 0)
    fail<ValueError>("istft", "the squares of windows {} apart sum to {} at {}: they do not determine a signal", hop,
                     sum, at);
}
Tensor pass_through(const tape::Record&, const Tensor& g) { return g; }
constexpr Primitive window_primitive = {.rule = linear<pass_through, pass_through>("istft.window"),
                                        .infer = infer_window,
                                        .evaluate = evaluate_window,
                                        .effects = may_throw};

// ---- Windows

// f of x[k] = k / (n - 1), of n + 1 numbers and without the last if periodic.
template <class F>
Tensor window_of(const char* op, std::int64_t n, bool periodic, const F& f) {
  if (n < 0) fail<ValueError>(op, "n is {}; it must not be negative", n);
  if (n > detail::double_elements_max) fail<ShapeError>(op, "n is {}, more than a tensor can have elements", n);
  if (n <= 1) return ones({n});
  return f(arange(n) * (1 / static_cast<double>(periodic ? n : n - 1)));
}
Tensor cosines(const Tensor& x, double a, double b, double c) { return a - b * cos(2 * pi * x) + c * cos(4 * pi * x); }

}  // namespace

}  // namespace ops

Tensor dct(const Operand& x, int type, std::int64_t axis, bool ortho) {
  return ops::cosine_or_sine("dct", x, type, axis, ortho, false, false);
}
Tensor idct(const Operand& x, int type, std::int64_t axis, bool ortho) {
  return ops::cosine_or_sine("idct", x, type, axis, ortho, false, true);
}
Tensor dst(const Operand& x, int type, std::int64_t axis, bool ortho) {
  return ops::cosine_or_sine("dst", x, type, axis, ortho, true, false);
}
Tensor idst(const Operand& x, int type, std::int64_t axis, bool ortho) {
  return ops::cosine_or_sine("idst", x, type, axis, ortho, true, true);
}

Tensor hadamard(const Operand& operand) {
  const tape::OpScope scope(operand);
  constexpr const char* op = "hadamard";
  auto [x, promised] = ops::promote_operand(op, operand, ops::Accept::real);
  const std::int64_t n = x.rank() == 0 ? 0 : x.shape()[-1];
  if (n < 1 || (n & (n - 1)) != 0)
    fail<ShapeError>(op, "x has shape {}; its last axis must have 2^k elements", x.shape());
  ops::require_rank(op, x.rank() + 2);
  const Shape shape = x.shape();
  for (std::int64_t half = 1; half < n; half *= 2) {
    Shape pairs = shape;
    pairs.pop_back();
    for (const std::int64_t extent : {n / (2 * half), std::int64_t{2}, half}) pairs.push_back(extent);
    x = reshape(x, pairs);
    const int axis = pairs.rank() - 2;
    const Tensor a = ops::part_of(x, axis, 0, 1), b = ops::part_of(x, axis, 1, 2);
    x = concatenate({a + b, a - b}, axis);
  }
  return ops::cast_to(reshape(x, shape) * (1 / std::sqrt(static_cast<double>(n))), promised);
}

Tensor stft(const Operand& operand, const Operand& window, std::int64_t hop) {
  const tape::OpScope scope(operand);
  const Tensor x = ops::promote_operand("stft", operand, ops::Accept::real).x;
  const ops::Frames f("stft", window, x.dtype(), hop);
  if (x.rank() == 0 || x.shape()[-1] < f.n)
    fail<ShapeError>("stft", "x has shape {}; its last axis must be at least as long as the window, {}", x.shape(),
                     f.n);
  ops::require_rank("stft", x.rank() + 1);
  return rfft(sliding_window(x, f.n, -1, hop) * f.window);
}
Tensor istft(const Operand& operand, const Operand& window, std::int64_t hop) {
  const tape::OpScope scope(operand);
  constexpr const char* op = "istft";
  const Tensor x = ops::to_tensor(op, operand);
  const ops::Frames f(op, window, x.dtype() == DType::complex64 ? DType::float32 : DType::float64, hop);
  if (!is_complex(x.dtype())) fail<TypeError>(op, "x is {}; it must be complex", x.dtype());
  if (x.rank() < 2 || x.shape()[-2] < 1 || x.shape()[-1] != f.n / 2 + 1)
    fail<ShapeError>(op, "x has shape {}; it must end in spectra of {} numbers", x.shape(), f.n / 2 + 1);
  const Tensor w = apply(ops::window_primitive, {&f.window}, ops::words(hop));
  const Tensor y = overlap_add(irfft(x, f.n) * w, -1, hop);
  const Tensor squares = overlap_add(broadcast_to(square(w), {x.shape()[-2], f.n}), -1, hop);
  const Tensor covered = greater(squares, ops::least_sum_of_squares);
  return where(covered, y, 0) / where(covered, squares, 1);
}

Tensor unwrap(const Operand& operand, std::int64_t axis, double period) {
  const tape::OpScope scope(operand);
  constexpr const char* op = "unwrap";
  const auto [x, promised] = ops::promote_operand(op, operand, ops::Accept::real);
  const int at = ops::normalize(op, axis, x);
  if (!(period > 0)) fail<ValueError>(op, "the period is {}; it must be positive", period);
  const std::int64_t n = x.shape()[at];
  if (n < 2) return ops::cast_to(identity(x), promised);
  const Tensor values = stop_gradient(x);
  const Tensor step = ops::part_of(values, at, 1, n) - ops::part_of(values, at, 0, n - 1);
  const double half = period / 2;
  const Tensor wrapped = mod(step + half, period) - half;
  const Tensor near = where(logical_and(equal(wrapped, -half), greater(step, 0)), half, wrapped);
  const Tensor change = where(less(abs(step), half), 0.0, near - step);
  return ops::cast_to(x + ops::with_zeros(cumsum(change, at), at, 1, 0), promised);
}

Tensor detrend(const Operand& operand, std::int64_t axis, bool linear) {
  const tape::OpScope scope(operand);
  constexpr const char* op = "detrend";
  auto [x, promised] = ops::promote_operand(op, operand, ops::Accept::real);
  const int at = ops::normalize(op, axis, x);
  const std::int64_t n = x.shape()[at];
  if (n == 0) fail<ValueError>(op, "axis {} of x, of shape {}, has no elements", at, x.shape());
  x = moveaxis(x, at, -1);
  x = x - mean(x, -1, true);
  if (linear && n > 1) {
    const double middle = static_cast<double>(n - 1) / 2, squares = middle * (middle + 1) * static_cast<double>(n) / 3;
    const Tensor t = cast(arange(n) * 1.0 - middle, x.dtype());
    x = x - t * (sum(x * t, -1, true) * (1 / squares));
  }
  return ops::cast_to(moveaxis(x, -1, at), promised);
}

Tensor hann(std::int64_t n, bool periodic) {
  return ops::window_of("hann", n, periodic, [](const Tensor& x) { return ops::cosines(x, 0.5, 0.5, 0); });
}
Tensor hamming(std::int64_t n, bool periodic) {
  return ops::window_of("hamming", n, periodic, [](const Tensor& x) { return ops::cosines(x, 0.54, 0.46, 0); });
}
Tensor blackman(std::int64_t n, bool periodic) {
  return ops::window_of("blackman", n, periodic, [](const Tensor& x) { return ops::cosines(x, 0.42, 0.5, 0.08); });
}
Tensor bartlett(std::int64_t n, bool periodic) {
  return ops::window_of("bartlett", n, periodic, [](const Tensor& x) { return 1 - abs(2 * x - 1); });
}
Tensor kaiser(std::int64_t n, double beta, bool periodic) {
  return ops::window_of("kaiser", n, periodic, [beta](const Tensor& x) {
    return reel::i0(beta * sqrt(maximum(1 - square(2 * x - 1), 0))) / reel::i0(beta);
  });
}

}  // namespace reel
