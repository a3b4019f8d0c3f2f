// Conversions between complex numbers and their real parts. Operands have any strides. `out` is contiguous, has their
// (broadcast) shape, and shares no memory with them.
#pragma once
#include <reel/tensor.hpp>

#include "kernels/baseline/elementary.hpp"

namespace reel::loops {

/// The dtype of the parts of complex numbers, and of complex numbers with such parts.
constexpr DType part_dtype(DType d) { return d == DType::complex64 ? DType::float32 : DType::float64; }
constexpr DType complex_dtype(DType part) { return part == DType::float64 ? DType::complex128 : DType::complex64; }

/// out = a real function of complex z. `out` has the dtype of z's parts.
void real_part(const Tensor& z, const Tensor& out);
void imaginary_part(const Tensor& z, const Tensor& out);
void modulus(const Tensor& z, const Tensor& out);
void argument(const Tensor& z, const Tensor& out);
/// out = the conjugate of complex z.
void conjugate(const Tensor& z, const Tensor& out);
/// out = re + i im. re and im have the real dtype of out's precision and broadcast to the shape of `out`.
void join_parts(const Tensor& re, const Tensor& im, const Tensor& out);

/// Complex z as real numbers: real and imaginary parts along a new last axis; a new tensor over z's data.
Tensor pairs_of(const Tensor& z);

using kernels::Elementary;
/// out = an elementary function of complex z.
void elementary(Elementary f, const Tensor& z, const Tensor& out);

}  // namespace reel::loops
