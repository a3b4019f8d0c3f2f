// The walk that take_along, add_along and scatter_along share: over elements named by one index each, along one axis.
// Indices become places in chunks on the stack, so that there is no array of places in memory.
#pragma once
#include <atomic>

#include "loops/index/axis_split.hpp"
#include "loops/index/gather.hpp"
#include "loops/loops.hpp"

namespace reel::loops {

/// Called by a walk for n indices, which have numbers `first`, ... in row-major order: `places` are relative to element
/// `base` of a tensor that has the shape of the indices except along the axis. Returns whether all are in range: along
/// the last axis, places are indices that nobody has looked at where walk_indices_along calls.
using PlacesBody = bool (*)(std::int64_t base, std::int64_t first, const std::int64_t* places, std::int64_t n,
                            void* context);

/// Positions are int64 in [0, extent), with any strides. Calls for indices that may name the same element are made in
/// the order of the indices, by one thread.
void walk_along(const Tensor& positions, int axis, std::int64_t extent, PlacesBody body, void* context);
/// The same for indices as find_positions takes them, which broadcast to `shape`. Returns the first index that is out
/// of range; some calls are left out then.
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
