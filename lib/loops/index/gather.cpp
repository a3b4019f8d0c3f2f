#include "loops/index/gather.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>

#include "core/visit.hpp"
#include "kernels/baseline/copy.hpp"
#include "loops/elementwise/loop_nest.hpp"
#include "loops/index/along.hpp"

namespace reel::loops {
namespace {

// Whether all indices of [begin, end) are in range: the sign bits of a position and of its distance from the last one
// are clear. The positions of nested axes are combined with existing ones, row-major.
template <bool Nested, class T>
bool convert(const T* indices, std::int64_t extent, std::int64_t* positions, std::int64_t begin, std::int64_t end) {
  std::int64_t signs = 0;
  for (std::int64_t i = begin; i < end; ++i) {
    const auto v = static_cast<std::int64_t>(indices[i]);
    const std::int64_t p = v + (extent & (v >> 63));
    signs |= p | (extent - 1 - p);
    positions[i] = Nested ? positions[i] * extent + p : p;
  }
  return signs >= 0;
}

// Calls f(elements of x) with their type.
template <class F>
auto visit_integers(const Tensor& x, const F& f) {
  return visit_among<std::uint8_t, std::int32_t, std::int64_t>(
      x.dtype(), [&]<class T>() { return f(detail::mutable_data<const T>(x)); });
}

// The first index that is not in [first, end).
BadIndex first_outside(const Tensor& strided, std::int64_t first, std::int64_t end) {
  Tensor scratch;
  return visit_integers(contiguous(strided, scratch), [&](const auto* indices) -> BadIndex {
    for (std::int64_t i = 0; i < strided.size(); ++i)
      if (const auto v = static_cast<std::int64_t>(indices[i]); v < first || v >= end) return {i, v};
    return {};
  });
}
// The same, given run(begin, end), which returns whether all indices of a part of [0, n) are in range.
template <class Run>
BadIndex find_bad(const Tensor& strided, std::int64_t n, std::int64_t first, std::int64_t end, const Run& run) {
  std::atomic<bool> in_range{true};
  parallel_for(n, parallel_threshold, [&](std::int64_t from, std::int64_t to) {
    if (!run(from, to)) in_range.store(false, std::memory_order_relaxed);
  });
  return in_range.load(std::memory_order_relaxed) ? BadIndex() : first_outside(strided, first, end);
}

// Converts positions [begin, end) on an axis of indices [outer, extent, inner] to places in [outer, extent of x,
// inner].
void to_places(const AxisSplit& indices, std::int64_t x_extent, std::int64_t* positions, std::int64_t begin,
               std::int64_t end) {
  const std::int64_t inner = indices.inner, block = indices.extent * inner;
  for (std::int64_t q = begin; q < end;) {
    const std::int64_t stop = std::min(end, (q / block + 1) * block), first = q / block * x_extent * inner;
    if (inner == 1)
      for (; q < stop; ++q) positions[q] += first;
    else
      for (std::int64_t i = q % inner; q < stop; ++q, i = i + 1 == inner ? 0 : i + 1)
        positions[q] = positions[q] * inner + first + i;
  }
}

// The indices, contiguous and broadcast to this shape.
const Tensor& broadcast_indices(const Tensor& strided, const Shape& shape, Tensor& scratch) {
  if (strided.size() == shape.elements()) return contiguous(strided, scratch);
  scratch = detail::empty(strided.dtype(), shape);
  copy(strided, scratch);
  return scratch;
}

// ---- Loops along an axis

// Shared by the loops: indices seen as [outer, count, inner] around the axis.
class IndexLoop {
 public:
  IndexLoop(const Tensor& contiguous_indices, const Shape& shape, int axis, std::int64_t extent, bool checked,
            PlacesBody body, void* context)
      : indices_(contiguous_indices),
        split_(shape, axis),
        extent_(extent),
        checked_(checked),
        body_(body),
        context_(context) {}

  // Walks all chunks; in parallel over matrices of indices and, in large matrices if there are few, over their columns.
  // False if an index is out of range.
  bool run() const {
    const std::int64_t inner = split_.inner, matrix = split_.extent * inner;
    if (split_.outer * matrix < parallel_threshold) {
      bool good = true;
      for (std::int64_t b = 0; b < split_.outer; ++b) good &= run_matrix(b);
      return good;
    }
    std::int64_t columns = inner;
    if (split_.outer < tuning::tasks_wanted && inner >= 2 * tuning::along_columns)
      columns = std::max(tuning::along_columns, inner / tuning::tasks_wanted);
    const std::int64_t parts = (inner + columns - 1) / columns;
    const std::int64_t grain = std::max<std::int64_t>(1, parallel_threshold / (split_.extent * columns));
    std::atomic<bool> good{true};
    parallel_for(split_.outer * parts, grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t task = begin; task < end; ++task) {
        const std::int64_t b = task / parts, first = task % parts * columns;
        if (parts == 1 ? run_matrix(b) : run_columns(b, first, std::min(inner, first + columns))) continue;
        good.store(false, std::memory_order_relaxed);
      }
    });
    return good.load(std::memory_order_relaxed);
  }

 private:
  bool run_matrix(std::int64_t b) const {
    const std::int64_t n = split_.extent * split_.inner;
    bool good = true;
    for (std::int64_t q = 0; q < n; q += tuning::along_chunk)
      good &= run_chunk(b, b * n + q, q % split_.inner, std::min(tuning::along_chunk, n - q));
    return good;
  }
  bool run_columns(std::int64_t b, std::int64_t begin, std::int64_t end) const {
    bool good = true;
    for (std::int64_t k = 0; k < split_.extent; ++k)
      for (std::int64_t c = begin; c < end; c += tuning::along_chunk)
        good &= run_chunk(b, (b * split_.extent + k) * split_.inner + c, c, std::min(tuning::along_chunk, end - c));
    return good;
  }
  // n indices of matrix b from number q on, the first of which is in this column.
  bool run_chunk(std::int64_t b, std::int64_t q, std::int64_t column, std::int64_t n) const {
    const std::int64_t inner = split_.inner, base = b * extent_ * inner;
    if (inner == 1 && (checked_ || indices_.dtype() == DType::int64))
      return body_(base, q, detail::mutable_data<std::int64_t>(indices_) + q, n, context_);
    std::int64_t places[tuning::along_chunk];
    const bool good = visit_integers(
        indices_, [&](const auto* from) { return convert<false>(from + q, extent_, places, std::int64_t{0}, n); });
    if (!good) return false;
    if (inner != 1)
      for (std::int64_t k = 0; k < n; column = 0)
        for (const std::int64_t stop = std::min(n, k + inner - column); k < stop; ++k, ++column)
          places[k] = places[k] * inner + column;
    return body_(base, q, places, n, context_);
  }

  const Tensor& indices_;
  AxisSplit split_;
  std::int64_t extent_;
  bool checked_;  // the indices are known to be positions
  PlacesBody body_;
  void* context_;
};

// The source of a gather: x as [outer, extent, inner].
struct GatheredRows {
  const std::byte* data;
  SplitStrides stride;
  const std::int64_t* position;
  std::int64_t count;  // number of positions
  std::int64_t bytes;  // of an element

  // Calls f(source, r) for rows [begin, end) of the result, [outer * count, inner].
  template <class F>
  void for_each(std::int64_t begin, std::int64_t end, const F& f) const {
    const std::int64_t step = stride.extent * bytes;
    const std::byte* matrix = data + begin / count * stride.outer * bytes;
    constexpr std::int64_t ahead = 8;  // rows that are fetched before they are read
    for (std::int64_t r = begin, k = begin % count; r < end; k = 0, matrix += stride.outer * bytes)
      for (const std::int64_t stop = std::min(end, r + count - k); r < stop; ++r, ++k) {
        if (k + ahead < count) __builtin_prefetch(matrix + position[k + ahead] * step);
        f(matrix + position[k] * step, r);
      }
  }
};

}  // namespace

bool are_positions(const Tensor& indices, std::int64_t extent) {
  if (indices.dtype() != DType::int64 || !indices.is_contiguous()) return false;
  const auto* from = detail::mutable_data<const std::int64_t>(indices);
  std::atomic<bool> in_range{true};
  parallel_for(indices.size(), parallel_threshold, [&](std::int64_t begin, std::int64_t end) {
    std::uint64_t outside = 0;  // its highest bit, set by an index that is negative or at least the extent
    for (std::int64_t i = begin; i < end; ++i) {
      const auto index = static_cast<std::uint64_t>(from[i]);
      outside |= index | ~(index - static_cast<std::uint64_t>(extent));
    }
    if (outside >> 63 != 0) in_range.store(false, std::memory_order_relaxed);
  });
  return in_range.load(std::memory_order_relaxed);
}

BadIndex find_positions(const Tensor& strided, std::int64_t extent, const Tensor& positions, bool nested) {
  Tensor scratch;
  auto* to = detail::mutable_data<std::int64_t>(positions);
  return visit_integers(broadcast_indices(strided, positions.shape(), scratch), [&](const auto* from) {
    return find_bad(strided, positions.size(), -extent, extent, [=](std::int64_t begin, std::int64_t end) {
      return nested ? convert<true>(from, extent, to, begin, end) : convert<false>(from, extent, to, begin, end);
    });
  });
}

BadIndex find_places(const Tensor& strided, int axis, std::int64_t extent, const Tensor& places) {
  Tensor scratch;
  const AxisSplit split(places.shape(), axis);
  auto* to = detail::mutable_data<std::int64_t>(places);
  return visit_integers(broadcast_indices(strided, places.shape(), scratch), [&](const auto* from) {
    return find_bad(strided, places.size(), -extent, extent, [=](std::int64_t begin, std::int64_t end) {
      const bool in_range = convert<false>(from, extent, to, begin, end);
      to_places(split, extent, to, begin, end);
      return in_range;
    });
  });
}

BadIndex find_segments(const Tensor& strided, std::int64_t n, const Tensor& segments) {
  Tensor scratch;
  auto* to = detail::mutable_data<std::int64_t>(segments);
  return visit_integers(contiguous(strided, scratch), [&](const auto* from) {
    return find_bad(strided, segments.size(), std::numeric_limits<std::int64_t>::min(), n,
                    [=](std::int64_t begin, std::int64_t end) {
                      bool in_range = true;
                      for (std::int64_t i = begin; i < end; ++i) {
                        const auto id = static_cast<std::int64_t>(from[i]);
                        in_range &= id < n;
                        to[i] = id < 0 ? n : id;
                      }
                      return in_range;
                    });
  });
}

BadIndex count_elements(const Tensor& strided, const Tensor& counts) {
  Tensor scratch;
  const std::int64_t bins = counts.size(), n = strided.size();
  auto* to = detail::mutable_data<std::int64_t>(counts);
  std::fill_n(to, bins, 0);
  return visit_integers(contiguous(strided, scratch), [&](const auto* from) -> BadIndex {
    for (std::int64_t i = 0; i < n; ++i) {
      const auto v = static_cast<std::int64_t>(from[i]);
      if (v < 0 || v >= bins) return {i, v};
      ++to[v];
    }
    return {};
  });
}

void walk_along(const Tensor& strided, int axis, std::int64_t extent, PlacesBody body, void* context) {
  if (strided.size() == 0) return;
  Tensor scratch;
  const Tensor& positions = contiguous(strided, scratch);
  IndexLoop(positions, positions.shape(), axis, extent, true, body, context).run();
}

BadIndex walk_indices_along(const Tensor& strided, const Shape& shape, int axis, std::int64_t extent, PlacesBody body,
                            void* context) {
  if (shape.elements() == 0) return {};
  Tensor scratch;
  const Tensor& indices = broadcast_indices(strided, shape, scratch);
  if (IndexLoop(indices, shape, axis, extent, false, body, context).run()) return {};
  return first_outside(strided, -extent, extent);
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
  if (rows.stride.inner == 1) {
    const std::int64_t line = split.inner * rows.bytes;
    return parallel_for(split.outer * rows.count, grain, [=](std::int64_t begin, std::int64_t end) {
      rows.for_each(begin, end, [=](const std::byte* source, std::int64_t r) {
        std::memcpy(to + r * line, source, static_cast<std::size_t>(line));
      });
    });
  }
  parallel_for(split.outer * rows.count, grain, [&](std::int64_t begin, std::int64_t end) {
    rows.for_each(begin, end, [&](const std::byte* source, std::int64_t r) {
      kernels::copy({source, rows.stride.inner}, to + r * split.inner * rows.bytes, 1, split.inner, bytes);
    });
  });
}

namespace {

// Positions are computed beside the loads: reading both arrays once matters more than vectorising that. They are
// fetched ahead explicitly, for the loads from x keep the prefetcher from doing it. Row: "index by pairs".
template <class T>
bool pairs(const T* from, std::uint64_t height, std::uint64_t width, const std::uint64_t* row,
           const std::uint64_t* column, std::int64_t n, T* to) {
  constexpr std::int64_t line = tuning::cache_line_bytes / 8, ahead = 16 * line;
  for (std::int64_t first = 0; first < n; first += line) {
    __builtin_prefetch(row + first + ahead);
    __builtin_prefetch(column + first + ahead);
    for (std::int64_t k = first, end = std::min(first + line, n); k < end; ++k) {
      if (row[k] >= height || column[k] >= width) [[unlikely]]
        return false;
      std::memcpy(to + k, from + (row[k] * width + column[k]), sizeof(T));
    }
  }
  return true;
}

}  // namespace

bool gather_pairs(const Tensor& x, std::int64_t row_count, std::int64_t column_count, const Tensor& rows,
                  const Tensor& columns, const Tensor& y) {
  const auto height = static_cast<std::uint64_t>(row_count), width = static_cast<std::uint64_t>(column_count);
  const auto *row = detail::mutable_data<const std::uint64_t>(rows),
             *column = detail::mutable_data<const std::uint64_t>(columns);
  std::atomic<bool> in_range{true};
  with_size(item_size(x.dtype()), [&](auto element) {
    using T = decltype(element);
    const T* from = detail::mutable_data<T>(x);
    T* to = detail::mutable_data<T>(y);
    parallel_for(y.size(), parallel_threshold, [&](std::int64_t begin, std::int64_t end) {
      if (!pairs(from, height, width, row + begin, column + begin, end - begin, to + begin))
        in_range.store(false, std::memory_order_relaxed);
    });
  });
  return in_range.load(std::memory_order_relaxed);
}

void take_along(const Tensor& strided, const Tensor& positions, int axis, const Tensor& y) {
  Tensor scratch;
  const Tensor& x = contiguous(strided, scratch);
  with_size(item_size(x.dtype()), [&](auto element) {
    using T = decltype(element);
    const T* from = detail::mutable_data<T>(x);
    T* to = detail::mutable_data<T>(y);
    for_each_along(positions, axis, x.shape()[axis],
                   [=](std::int64_t base, std::int64_t first, const std::int64_t* places, std::int64_t n) {
                     for (std::int64_t k = 0; k < n; ++k)
                       std::memcpy(to + first + k, from + base + places[k], sizeof(T));
                     return true;
                   });
  });
}

}  // namespace reel::loops
