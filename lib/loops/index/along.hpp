// The traversal that take_along, add_along and scatter_along share: over elements that are named by one index each,
// along one axis. Indices are converted to places in chunks on the stack, so that no array of places is in memory.
#pragma once
#include <atomic>

#include "loops/index/axis_split.hpp"
#include "loops/index/gather.hpp"
#include "loops/loops.hpp"

namespace reel::loops {

/// Called for n indices, whose row-major numbers start at `first`. `places` are relative to element `base` of a tensor
/// that has the shape of the indices except along the axis. Returns whether all are in range. walk_indices_along passes
/// indices along the last axis unchecked, as places.
using PlacesBody = bool (*)(std::int64_t base, std::int64_t first, const std::int64_t* places, std::int64_t n,
                            void* context);

/// Positions are int64 in [0, extent), with any strides. One thread makes the calls for indices that may name the same
/// element, in the order of the indices.
void walk_along(const Tensor& positions, int axis, std::int64_t extent, PlacesBody body, void* context);
/// The same for indices as in find_positions, which broadcast to `shape`. Returns the first index that is out of range;
/// some calls are skipped then.
BadIndex walk_indices_along(const Tensor& indices, const Shape& shape, int axis, std::int64_t extent, PlacesBody body,
                            void* context);

template <class F>
bool call_with_places(std::int64_t base, std::int64_t first, const std::int64_t* places, std::int64_t n,
                      void* context) {
  return (*static_cast<const F*>(context))(base, first, places, n);
}
/// The same for a callable.
template <class F>
void for_each_along(const Tensor& positions, int axis, std::int64_t extent, const F& f) {
  walk_along(positions, axis, extent, call_with_places<F>, const_cast<F*>(&f));
}
template <class F>
BadIndex for_each_index_along(const Tensor& indices, const Shape& shape, int axis, std::int64_t extent, const F& f) {
  return walk_indices_along(indices, shape, axis, extent, call_with_places<F>, const_cast<F*>(&f));
}

}  // namespace reel::loops
