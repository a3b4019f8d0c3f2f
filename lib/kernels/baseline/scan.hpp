// Running sums and products.
#pragma once
#include "kernels/loop.hpp"

namespace reel::kernels {

// out[i * out_stride] = the sum or product of in[0] to in[i], one after the other, i < n. The same for each of
// `columns` columns, whose elements are `apart` from those of the one before, of in and of out. out may be the memory
// of in. For numbers, complex ones too.
using Scan = void (*)(Strided in, void* out, std::ptrdiff_t out_stride, std::ptrdiff_t n, std::ptrdiff_t columns,
                      std::ptrdiff_t apart);
Scan cumsum(DType d);
Scan cumprod(DType d);

}  // namespace reel::kernels
