// Sums at places chosen by indices. The positions are int64 in [0, extent), which nothing here checks; terms at equal
// positions add up in the order of the positions, whatever the threads. The sum is contiguous, the terms have its dtype
// and any strides, and they share no memory. 16-bit floats add up in float32 and are rounded once; integers wrap.
#pragma once
#include <reel/tensor.hpp>

namespace reel::loops {

/// sum[outer, positions[k], inner] += terms[outer, k, inner], split at `axis` of the sum. The positions are contiguous,
/// of any shape.
void scatter_add(const Tensor& terms, const Tensor& positions, int axis, const Tensor& sum);
/// sum[outer, positions[outer, k, inner], inner] += terms[outer, k, inner]. The positions have the shape of the terms
/// and any strides; the sum has it too but for the extent of `axis`.
void add_along(const Tensor& terms, const Tensor& positions, int axis, const Tensor& sum);

}  // namespace reel::loops
