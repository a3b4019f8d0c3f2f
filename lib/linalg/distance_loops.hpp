// Distances between rows, the cotangents of the rows, and tangents. All tensors are contiguous, float32 or float64,
// without shared memory.
#pragma once
#include <reel/tensor.hpp>

namespace reel::loops {

/// z [b, n, m] = the p-norms of x[b, i] - y[b, j], of x [b, n, d] and y [b, m, d]; p is positive or infinity.
void distances(const Tensor& x, const Tensor& y, double p, const Tensor& z);
/// z [n (n - 1) / 2] = the elements above the diagonal of distances(x, x, p, ...), row by row; x is [1, n, d].
void pair_distances(const Tensor& x, double p, const Tensor& z);

/// dx [r, b, n, d] = the sum over j of g[r, b, i, j] times the derivative of z[b, i, j] by x[b, i]: 0 at distance 0;
/// for infinite p shared among the largest differences. The axis r is optional.
void distances_vjp(const Tensor& g, const Tensor& x, const Tensor& y, const Tensor& z, double p, const Tensor& dx);
/// dz [b, n, m] = the tangents of z for tangents of x and of y, which have the shapes of x and y.
void distances_jvp(const Tensor& tx, const Tensor& ty, const Tensor& x, const Tensor& y, const Tensor& z, double p,
                   const Tensor& dz);

}  // namespace reel::loops
