// Kernels for distances of points and their gradient.
#pragma once
#include <limits>

#include "kernels/loop.hpp"
#include "kernels/set.hpp"

namespace reel::kernels {

/// The distance from which g / z is not taken where it underflows, as its product with a difference may not.
template <class T>
inline constexpr T large_distance = 1 / std::numeric_limits<T>::epsilon();

/// The points that a call of DistanceLoops::run takes at most.
inline constexpr std::ptrdiff_t distance_block = 64;

struct DistanceLoops {
  // Euclidean distances of the rows of x [n, d] to points, the first `width` columns of y [d, distance_block]; other
  // columns are read too. `stride` is the distance of the rows of out [n, width]. Squares may overflow or underflow.
  void (*run)(const void* x, std::ptrdiff_t n, std::ptrdiff_t d, const void* y, std::ptrdiff_t width, void* out,
              std::ptrdiff_t stride);
  // The gradient by x [n, d] of distances z [n, m] to y [m, d] for the cotangent g [n, m]: the sums of g / z * (x - y)
  // over y, without the pairs at distance 0. False, with undefined results, if a distance or a quotient is not finite,
  // or if a quotient underflows at a large distance.
  bool (*vjp)(const void* g, const void* z, const void* x, const void* y, std::ptrdiff_t n, std::ptrdiff_t m,
              std::ptrdiff_t d, void* out);
};

/// float32, float64.
struct DistanceKernels : ByDType<DistanceLoops> {
  static constexpr KernelFamily family = KernelFamily::distances;
};

}  // namespace reel::kernels
