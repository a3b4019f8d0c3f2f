#pragma once
#include <cstddef>

namespace reel::kernels {

// The largest number of arrays for interleave.
inline constexpr std::size_t interleaved_max = 4;
// out[i * count + k] = in[k][i] for 2 <= count <= interleaved_max contiguous arrays of n elements of 1, 2, 4, 8 or 16
// bytes. out overlaps none of them.
void interleave(const void* const* in, std::size_t count, void* out, std::ptrdiff_t n, std::size_t bytes);

}  // namespace reel::kernels
