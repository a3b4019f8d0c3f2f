// Casts between dtypes.
#pragma once
#include "kernels/loop.hpp"

namespace reel::kernels {

// out[i] = in[i] as the other type, contiguous. Returns false if a NaN or a number out of range was cast to an integer
// type; out is then undefined. Integers wrap. A complex number gives its real part. Every number but zero is true.
using Cast = bool (*)(Strided in, void* out, std::ptrdiff_t n);
Cast cast(DType from, DType to);

}  // namespace reel::kernels
