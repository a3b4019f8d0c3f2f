// Discrete Fourier transforms, with NumPy's names, defaults and layouts of spectra. <reel/reel.hpp> does not include
// this header.
//
// X[k] = the sum over j of exp(-2 pi i j k / n) x[j]. Inverses have the other sign and the factor 1 / n. Any length n
// >= 1 is allowed. Lengths whose prime factors are at most 13 take n log n operations, others about six times as many
// (Bluestein's algorithm). Transforms compute in complex64 or complex128: float16 and bfloat16 as float32, integers and
// booleans as float64. Functions of complex numbers cast real operands. A row has the same bits alone and in a batch,
// for every number of threads.
//
// n is the number of elements of the axis that are transformed; -1 stands for all. A longer axis is cut, a shorter one
// padded with zeros. ValueError for other n < 1, and for n = -1 if the axis has no elements (in irfft and hfft fewer
// than two). IndexError for an axis that does not exist.
//
// All functions of tensors are linear. The gradient of a real L by complex z is dL/d(re) + i dL/d(im). The gradient of
// a transform is therefore the transform of g with the other sign and the same factor. For half spectra it is described
// below.
#pragma once
#include <reel/api.hpp>
#include <reel/tensor.hpp>

namespace REEL_API reel {

/// Which transforms have a factor. backward: the inverse has 1 / n. ortho: both have 1 / sqrt(n). forward: the forward
/// transform has 1 / n.
enum class FftNorm : std::uint8_t { backward, ortho, forward };

/// The transform along an axis, and its inverse.
Tensor fft(const Operand& x, std::int64_t n = -1, std::int64_t axis = -1, FftNorm norm = FftNorm::backward);
Tensor ifft(const Operand& x, std::int64_t n = -1, std::int64_t axis = -1, FftNorm norm = FftNorm::backward);
/// The first n / 2 + 1 numbers of the transform of real x, which determine the others; TypeError for complex x.
/// Gradient: the real part of the unnormalised inverse transform of g, padded with zeros to n, times the factor.
Tensor rfft(const Operand& x, std::int64_t n = -1, std::int64_t axis = -1, FftNorm norm = FftNorm::backward);
/// The inverse of rfft: the n real numbers whose spectrum has x as its first half. x has m numbers; n is 2 (m - 1) by
/// default. The imaginary parts of the first number, and of the last one for even n, are ignored and get gradient 0.
/// Gradient: rfft(g), doubled except for these two numbers.
Tensor irfft(const Operand& x, std::int64_t n = -1, std::int64_t axis = -1, FftNorm norm = FftNorm::backward);
/// hfft: the real spectrum, n numbers, of a signal with x[-j] = conj(x[j]), of which x is the first half. ihfft: its
/// inverse, for real x: conj(rfft(x)) / n. Gradients: those of irfft and of rfft, with the other sign and factor.
Tensor hfft(const Operand& x, std::int64_t n = -1, std::int64_t axis = -1, FftNorm norm = FftNorm::backward);
Tensor ihfft(const Operand& x, std::int64_t n = -1, std::int64_t axis = -1, FftNorm norm = FftNorm::backward);

/// Transforms along several axes, the last one first: along `axes`, else along the last shape.rank() axes, else along
/// all. `shape` has an n for each axis, or is empty. ValueError if an axis is named twice, or the numbers of entries
/// differ.
Tensor fftn(const Operand& x, const Shape& shape = {}, const Axes& axes = {}, FftNorm norm = FftNorm::backward);
Tensor ifftn(const Operand& x, const Shape& shape = {}, const Axes& axes = {}, FftNorm norm = FftNorm::backward);
/// The same for real x, with the spectrum halved along the last of the axes; and the inverse.
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
/// The frequencies that the elements of fft(x) and rfft(x) stand for, for n samples `step` apart, float64. ValueError
/// for n < 1 and for step 0.
Tensor fftfreq(std::int64_t n, double step = 1);
Tensor rfftfreq(std::int64_t n, double step = 1);

}  // namespace reel
