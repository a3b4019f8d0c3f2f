// Complex ops that other ops use.
#pragma once
#include <reel/dtype.hpp>
#include <reel/ops/pointwise.hpp>
#include <reel/tensor.hpp>

namespace reel::ops {

/// The complex conjugate; a real x itself.
inline Tensor conjugate(const Tensor& x) { return is_complex(x.dtype()) ? conj(x) : x; }

/// |z| of a complex tensor, recorded as "abs".
Tensor magnitude(const Tensor& z);

/// z / size, size = |z|: z where size is 0. Where parts are infinite, their signs, times the root of 1/2 where both
/// are; the derivative is 0 there.
Tensor unit_number(const Tensor& z, const Tensor& size);

/// The complex form of the pointwise op with this name, whose definition is for real numbers. Recorded. An empty handle
/// if there is none.
Tensor complex_form(const char* name, const Tensor& z);

}  // namespace reel::ops
