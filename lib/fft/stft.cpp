// Power spectra by averages over segments: Welch, "The use of fast Fourier transform for the estimation of power
// spectra", IEEE Trans. Audio Electroacoust. 15 (1967).
#include <algorithm>
#include <cmath>
#include <reel/fft/signal.hpp>
#include <reel/fft/transforms.hpp>
#include <reel/ops/index.hpp>
#include <reel/ops/make.hpp>
#include <reel/ops/pointwise.hpp>
#include <reel/ops/reduce.hpp>
#include <reel/ops/windows.hpp>

#include "fft/signal.hpp"
#include "linalg/matrices.hpp"

namespace reel {
namespace ops {
namespace {

// The options with their defaults made explicit.
SpectrumOptions complete(const char* op, SpectrumOptions options, const Tensor& window) {
  const std::int64_t length = window.rank() == 1 ? window.size() : 1;
  if (options.hop == -1) options.hop = std::max<std::int64_t>(1, length - length / 2);
  if (options.n == -1) options.n = length;
  if (options.n < length)
    fail<ValueError>(op, "n is {}; it must be at least {}, the length of the window", options.n, length);
  if (!(options.rate > 0) || std::isinf(options.rate))
    fail<ValueError>(op, "the rate is {}; it must be positive", options.rate);
  if (options.trend > Trend::line || options.scale > PowerScale::spectrum)
    fail<ValueError>(op, "trend is {}, scale {}; see Trend and PowerScale", static_cast<int>(options.trend),
                     static_cast<int>(options.scale));
  return options;
}

// [..., segments, n / 2 + 1]
Tensor segment_spectra(const char* op, const Tensor& x, const Frames& f, const SpectrumOptions& options) {
  Tensor segments = sliding_window(x, f.n, -1, options.hop);
  if (options.trend != Trend::keep) segments = detrend(segments, -1, options.trend == Trend::line);
  return named(op, [&] { return rfft(segments * f.window, options.n); });
}

// The factor of each frequency, per segment.
Tensor factors(const Frames& f, const SpectrumOptions& options, std::int64_t segments) {
  const std::int64_t bins = options.n / 2 + 1;
  const Tensor k = arange(bins);
  const Tensor alone = logical_or(equal(k, 0), equal(2 * k, options.n));
  const Tensor sides = cast(where(alone, 1.0, 2.0), f.window.dtype());
  const Tensor size =
      options.scale == PowerScale::density ? options.rate * sum(square(f.window)) : square(sum(f.window));
  return sides / (size * static_cast<double>(segments));
}

void require_length(const char* op, const Tensor& x, const Frames& f) {
  if (x.rank() == 0 || x.shape()[-1] < f.n)
    fail<ShapeError>(op, "x has shape {}; its last axis must be at least as long as the window, {}", x.shape(), f.n);
  require_rank(op, x.rank() + 1);
}

Tensor pad_end(const Tensor& x, std::int64_t length) {
  return x.shape()[-1] == length ? x : with_zeros(x, x.rank() - 1, 0, length - x.shape()[-1]);
}

}  // namespace
}  // namespace ops

Tensor welch(const Operand& operand, const Operand& window, const SpectrumOptions& requested) {
  constexpr const char* op = "welch";
  const tape::OpScope scope(operand);
  const auto [x, promised] = ops::promote_operand(op, operand, ops::Accept::real);
  const Tensor w = ops::to_tensor(op, window, "window");
  const SpectrumOptions options = ops::complete(op, requested, w);
  const ops::Frames f(op, w, x.dtype(), options.hop);
  ops::require_length(op, x, f);
  const Tensor spectra = ops::segment_spectra(op, x, f, options);
  const Tensor power = sum(square(real(spectra)) + square(imag(spectra)), -2);
  return ops::cast_to(power * ops::factors(f, options, spectra.shape()[-2]), promised);
}

Tensor csd(const Operand& first, const Operand& second, const Operand& window, const SpectrumOptions& requested) {
  constexpr const char* op = "csd";
  const tape::OpScope scope(first);
  const DType d = ops::promote_operands(op, {&first, &second}, ops::Accept::real).wide;
  Tensor x = ops::to_tensor(op, first, d, "x"), y = ops::to_tensor(op, second, d, "y");
  const Tensor w = ops::to_tensor(op, window, "window");
  const SpectrumOptions options = ops::complete(op, requested, w);
  const ops::Frames f(op, w, d, options.hop);
  if (x.rank() == 0 || y.rank() == 0)
    fail<ShapeError>(op, "x has shape {}, y {}; both must have a last axis", x.shape(), y.shape());
  static_cast<void>(ops::broadcast_shapes(op, ops::batch_of(x, 1), ops::batch_of(y, 1)));
  const std::int64_t length = std::max(x.shape()[-1], y.shape()[-1]);
  x = ops::pad_end(x, length);
  y = ops::pad_end(y, length);
  ops::require_length(op, x, f);
  ops::require_length(op, y, f);
  const Tensor of_x = ops::segment_spectra(op, x, f, options), of_y = ops::segment_spectra(op, y, f, options);
  return sum(conj(of_x) * of_y, -2) * ops::factors(f, options, of_x.shape()[-2]);
}

}  // namespace reel
