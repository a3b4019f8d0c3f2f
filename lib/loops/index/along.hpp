// The walk that take_along, add_along and scatter_along share: over elements that are named by an index each, along one
// axis. It is in chunks of a part of the stack, so that the places which the indices become are nowhere in memory.
#pragma once
#include <atomic>

#include "loops/index/axis_split.hpp"
#include "loops/index/gather.hpp"
#include "loops/loops.hpp"

namespace reel::loops {

/// What a walk calls for n indices: those from number `first` on, in row-major order, become `places` behind element
/// `base` of a tensor which has the indices' shape but for the axis.
using PlacesBody = void (*)(std::int64_t base, std::int64_t first, const std::int64_t* places, std::int64_t n,
                            void* context);

/// Positions are int64 in [0, extent), of any strides. Calls for indices that may name one element, those of one place
/// on all other axes, are in the order of the indices, by one thread.
void walk_along(const Tensor& positions, int axis, std::int64_t extent, PlacesBody body, void* context);
/// The same of indices as find_positions takes them, which broadcast to `shape`. Returns the first that is out of
/// range; where there is one, there are no calls for some indices.
BadIndex walk_indices_along(const Tensor& indices, const Shape& shape, int axis, std::int64_t extent, PlacesBody body,
                            void* context);

template <class F>
void call_with_places(std::int64_t base, std::int64_t first, const std::int64_t* places, std::int64_t n,
                      void* context) {
  (*static_cast<const F*>(context))(base, first, places, n);
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
