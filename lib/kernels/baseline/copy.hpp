// Copies of elements as bits.
#pragma once
#include "kernels/loop.hpp"

namespace reel::kernels {

// Copies elements of 1, 2, 4, 8 or 16 bytes as bits. Source and destination do not overlap.
void copy(Strided in, void* out, std::ptrdiff_t out_stride, std::ptrdiff_t n, std::size_t bytes);
// Copies bytes with non-temporal stores, which bypass the caches. The two sides do not overlap. nontemporal_fence()
// must follow before another thread is told to read the copy.
void copy_nontemporal(const void* from, void* to, std::size_t bytes);
void nontemporal_fence();
void fill(const void* value, void* out, std::ptrdiff_t out_stride, std::ptrdiff_t n, std::size_t bytes);
// out[r * out_stride + c] = in[r * row_stride + c * column_stride], in tiles that fit the cache whichever stride is the
// smaller.
void copy_matrix(const void* in, std::ptrdiff_t row_stride, std::ptrdiff_t column_stride, void* out,
                 std::ptrdiff_t out_stride, std::ptrdiff_t rows, std::ptrdiff_t columns, std::size_t bytes);

}  // namespace reel::kernels
