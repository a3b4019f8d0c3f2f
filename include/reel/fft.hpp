// Discrete Fourier transforms, with NumPy's names, defaults and layouts of spectra.
//
// X[k] = the sum over j of exp(-2 pi i j k / n) x[j]; inverses have the other sign and 1 / n. Any length n >= 1: those
// whose prime factors are at most 13 take n log n operations, others about six times as many (Bluestein's method).
// complex64 and complex128; real operands of functions that take complex ones are cast; float16 and bfloat16 compute as
// float32, integers and booleans as float64. A row has the same bits alone and in a batch, for every number of threads.
//
// n: how many elements of the axis are transformed; -1: all. A longer axis is cut, a shorter one padded with zeros.
// ValueError for other n < 1, and without n for an axis of no elements; of irfft and hfft, of fewer than two.
// IndexError for an axis that does not exist.
//
// All functions of tensors are linear. The gradient of a real L by complex z is dL/d(re) + i dL/d(im), so that the
// gradient is the transform of g with the other sign and the same factor; of half spectra it is described below.
// <reel/reel.hpp> does not include this header.
#pragma once
#include <reel/tensor.hpp>

namespace [[gnu::visibility("default")]] reel {

/// Where the factor is: 1 / n at the inverse (backward), 1 / sqrt(n) at both (ortho), 1 / n at the transform (forward).
enum class FftNorm : std::uint8_t { backward, ortho, forward };

/// The transform along an axis, and its inverse.
Tensor fft(const Operand& x, std::int64_t n = -1, std::int64_t axis = -1, FftNorm norm = FftNorm::backward);
Tensor ifft(const Operand& x, std::int64_t n = -1, std::int64_t axis = -1, FftNorm norm = FftNorm::backward);
/// The first n / 2 + 1 numbers of the transform of real x, which determine the others; TypeError for complex x.
/// Gradient: the real part of the unnormalised inverse transform of g, padded with zeros to n, times the factor.
Tensor rfft(const Operand& x, std::int64_t n = -1, std::int64_t axis = -1, FftNorm norm = FftNorm::backward);
/// The n real numbers, 2 (m - 1) of m complex ones unless n is given, whose spectrum has x as its first half. The
/// imaginary parts of the first number, and of the last one for even n, are ignored; their gradient is 0. Gradient:
/// rfft(g), doubled but for these.
Tensor irfft(const Operand& x, std::int64_t n = -1, std::int64_t axis = -1, FftNorm norm = FftNorm::backward);
/// The real spectrum, of n numbers, of a signal with x[-j] = conj(x[j]), of which x is the first half; and its inverse,
/// of real x: conj(rfft(x)) / n. Gradients: those of irfft and of rfft, with the other sign and factor.
Tensor hfft(const Operand& x, std::int64_t n = -1, std::int64_t axis = -1, FftNorm norm = FftNorm::backward);
Tensor ihfft(const Operand& x, std::int64_t n = -1, std::int64_t axis = -1, FftNorm norm = FftNorm::backward);

/// Along several axes, the last one first: `axes`, or the last ones for which `shape` has an entry, or all. `shape` has
/// an n for each axis, or is empty. ValueError if an axis is named twice or the numbers of entries differ.
Tensor fftn(const Operand& x, const Shape& shape = {}, const Axes& axes = {}, FftNorm norm = FftNorm::backward);
Tensor ifftn(const Operand& x, const Shape& shape = {}, const Axes& axes = {}, FftNorm norm = FftNorm::backward);
/// The same of real x, halved along the last of the axes; and the inverse.
Tensor rfftn(const Operand& x, const Shape& shape = {}, const Axes& axes = {}, FftNorm norm = FftNorm::backward);
Tensor irfftn(const Operand& x, const Shape& shape = {}, const Axes& axes = {}, FftNorm norm = FftNorm::backward);
/// Along two axes.
Tensor fft2(const Operand& x, const Shape& shape = {}, const Axes& axes = {-2, -1}, FftNorm norm = FftNorm::backward);
Tensor ifft2(const Operand& x, const Shape& shape = {}, const Axes& axes = {-2, -1}, FftNorm norm = FftNorm::backward);
Tensor rfft2(const Operand& x, const Shape& shape = {}, const Axes& axes = {-2, -1}, FftNorm norm = FftNorm::backward);
Tensor irfft2(const Operand& x, const Shape& shape = {}, const Axes& axes = {-2, -1}, FftNorm norm = FftNorm::backward);

/// The spectrum with frequency 0 in the middle, at n / 2, and back. Every dtype.
Tensor fftshift(const Operand& x, const Axes& axes = {});
Tensor ifftshift(const Operand& x, const Axes& axes = {});
/// The frequencies of the numbers of fft(x) and rfft(x) for n samples `step` apart, float64. ValueError for n < 1 and a
/// step of 0.
Tensor fftfreq(std::int64_t n, double step = 1);
Tensor rfftfreq(std::int64_t n, double step = 1);

}  // namespace reel
