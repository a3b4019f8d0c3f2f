// Fourier transforms along an axis. Operands have any strides; `out` is contiguous and shares no memory with them.
#pragma once
#include <reel/tensor.hpp>

namespace reel::loops {

/// out[k] = scale * the sum over j of exp(-+2 pi i j k / n) x[j], complex. The sign is + if `inverse`.
void fourier(const Tensor& x, int axis, bool inverse, double scale, const Tensor& out);
/// out = the first n / 2 + 1 numbers of that for real x. Inner numbers are multiplied by `inner`: those of frequencies
/// other than 0 and, for even n, n / 2.
void fourier_of_real(const Tensor& x, int axis, double inner, double scale, const Tensor& out);
/// out[j] = scale * the sum of the real parts of exp(2 pi i j k / n) x[k], where inner numbers are multiplied by 2 *
/// inner. x has n / 2 + 1 complex numbers, out has n real ones.
void fourier_to_real(const Tensor& x, int axis, double inner, double scale, const Tensor& out);

}  // namespace reel::loops
