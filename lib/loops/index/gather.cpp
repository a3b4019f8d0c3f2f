#include "loops/index/gather.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "loops/elementwise/cast.hpp"
#include "loops/elementwise/loop_nest.hpp"
#include "loops/index/along.hpp"

namespace reel::loops {
namespace {

// Whether all of [begin, end) are in range: no sign bit in a position, nor in its distance from the last one. Positions
// of further axes are appended to those that are there, row-major.
template <bool Further, class T>
bool convert(const T* indices, std::int64_t extent, std::int64_t* positions, std::int64_t begin, std::int64_t end) {
  std::int64_t signs = 0;
  for (std::int64_t i = begin; i < end; ++i) {
    const auto v = static_cast<std::int64_t>(indices[i]);
    const std::int64_t p = v + (extent & (v >> 63));
    signs |= p | (extent - 1 - p);
    positions[i] = Further ? positions[i] * extent + p : p;
  }
  return signs >= 0;
}

template <class T>
BadIndex find_positions_of(const Tensor& indices, std::int64_t extent, const Tensor& positions, bool further) {
  const T* from = detail::mutable_data<T>(indices);
  auto* to = detail::mutable_data<std::int64_t>(positions);
  const std::int64_t n = indices.size();
  std::atomic<bool> in_range{true};
  parallel_for(n, parallel_threshold, [&](std::int64_t begin, std::int64_t end) {
    if (!(further ? convert<true>(from, extent, to, begin, end) : convert<false>(from, extent, to, begin, end)))
      in_range.store(false, std::memory_order_relaxed);
  });
  if (in_range.load(std::memory_order_relaxed)) return {};
  for (std::int64_t i = 0; i < n; ++i)
    if (const auto v = static_cast<std::int64_t>(from[i]); v < -extent || v >= extent) return {i, v};
  return {};
}

// What gather copies from: x as [outer, extent, inner].
struct GatheredRows {
  const std::byte* data;
  SplitStrides stride;
  const std::int64_t* position;
  std::int64_t count;  // of positions
  std::int64_t bytes;  // of an element

  // f(source, r) for rows [begin, end) of the result, [outer * count, inner].
  template <class F>
  void for_each(std::int64_t begin, std::int64_t end, const F& f) const {
    const std::int64_t step = stride.extent * bytes;
    const std::byte* matrix = data + begin / count * stride.outer * bytes;
    for (std::int64_t r = begin, k = begin % count; r < end; k = 0, matrix += stride.outer * bytes)
      for (const std::int64_t stop = std::min(end, r + count - k); r < stop; ++r, ++k)
        f(matrix + position[k] * step, r);
  }
};

}  // namespace

BadIndex find_positions(const Tensor& strided, std::int64_t extent, const Tensor& positions, bool further) {
  Tensor scratch;
  if (detail::block(strided)->size != detail::block(positions)->size) {
    scratch = detail::empty(strided.dtype(), positions.shape());
    copy(strided, scratch);
  }
  const Tensor& indices = scratch.defined() ? scratch : contiguous(strided, scratch);
  switch (indices.dtype()) {
    case DType::uint8:
      return find_positions_of<std::uint8_t>(indices, extent, positions, further);
    case DType::int32:
      return find_positions_of<std::int32_t>(indices, extent, positions, further);
    default:
      return find_positions_of<std::int64_t>(indices, extent, positions, further);
  }
}

BadIndex find_segments(const Tensor& ids, std::int64_t n, const Tensor& segments) {
  const Tensor flat = detail::empty(DType::int64, ids.shape());
  static_cast<void>(cast(ids, flat));  // widens
  const auto* from = detail::mutable_data<std::int64_t>(flat);
  auto* to = detail::mutable_data<std::int64_t>(segments);
  std::atomic<bool> in_range{true};
  parallel_for(ids.size(), parallel_threshold, [&](std::int64_t begin, std::int64_t end) {
    bool all = true;
    for (std::int64_t i = begin; i < end; ++i) {
      all &= from[i] < n;
      to[i] = from[i] < 0 ? n : from[i];
    }
    if (!all) in_range.store(false, std::memory_order_relaxed);
  });
  if (in_range.load(std::memory_order_relaxed)) return {};
  for (std::int64_t i = 0; i < ids.size(); ++i)
    if (from[i] >= n) return {i, from[i]};
  return {};
}

void whole_positions(const Tensor& positions, int axis, std::int64_t extent, const Tensor& whole) {
  auto* to = detail::mutable_data<std::int64_t>(whole);
  for_each_along(positions, axis, extent, [=](std::int64_t p, std::int64_t q) { to[q] = p; });
}

void gather(const Tensor& x, const Tensor& positions, int axis, const Tensor& y) {
  if (y.size() == 0) return;
  const detail::Block* from = detail::block(x);
  const AxisSplit split(from->shape(), axis);
  const std::size_t bytes = item_size(from->dtype);
  Tensor scratch;
  if (!SplitStrides(from, axis, axis + 1).exist) from = detail::block(contiguous(x, scratch));
  const GatheredRows rows = {from->data, SplitStrides(from, axis, axis + 1),
                             detail::mutable_data<std::int64_t>(positions), positions.size(),
                             static_cast<std::int64_t>(bytes)};
  std::byte* to = detail::block(y)->data;
  const std::int64_t grain = std::max<std::int64_t>(1, parallel_threshold / split.inner);
  if (split.inner == 1)
    return with_size(bytes, [&](auto element) {
      constexpr std::int64_t size = sizeof element;
      parallel_for(split.outer * rows.count, grain, [&](std::int64_t begin, std::int64_t end) {
        rows.for_each(begin, end,
                      [=](const std::byte* source, std::int64_t r) { std::memcpy(to + r * size, source, size); });
      });
    });
  parallel_for(split.outer * rows.count, grain, [&](std::int64_t begin, std::int64_t end) {
    rows.for_each(begin, end, [&](const std::byte* source, std::int64_t r) {
      kernels::copy({source, rows.stride.inner}, to + r * split.inner * rows.bytes, 1, split.inner, bytes);
    });
  });
}

void take_along(const Tensor& strided, const Tensor& positions, int axis, const Tensor& y) {
  Tensor scratch;
  const Tensor& x = contiguous(strided, scratch);
  with_size(item_size(x.dtype()), [&](auto element) {
    using T = decltype(element);
    const T* from = detail::mutable_data<T>(x);
    T* to = detail::mutable_data<T>(y);
    for_each_along(positions, axis, x.shape()[axis],
                   [=](std::int64_t p, std::int64_t q) { std::memcpy(to + q, from + p, sizeof(T)); });
  });
}

}  // namespace reel::loops
