// Fourier transforms along an axis. Operands have any strides; `out` is contiguous and shares no memory with them.
#pragma once
#include <reel/tensor.hpp>

namespace reel::loops {

/// out[k] = scale * the sum over j of exp(-+2 pi i j k / n) x[j], complex; + if inverse.
void fourier(const Tensor& x, int axis, bool inverse, double scale, const Tensor& out);
/// out = the first n / 2 + 1 numbers of that of real x. Unless `inner` is 1, all but those of frequency 0 and, for even
/// n, n / 2 are multiplied by it.
void fourier_of_real(const Tensor& x, int axis, double inner, double scale, const Tensor& out);
/// out[j] = scale * the sum of the real parts of exp(2 pi i j k / n) x[k], where all but those k count 2 * inner times.
/// x has n / 2 + 1 complex numbers, out n real ones.
void fourier_to_real(const Tensor& x, int axis, double inner, double scale, const Tensor& out);

}  // namespace reel::loops
