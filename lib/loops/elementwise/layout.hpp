// How an operand is read at the flat positions of a contiguous result: one element for all, the result's own order, or
// strided. Strided operands are packed into a buffer, block by block, before a kernel reads them.
#pragma once
#include <algorithm>
#include <cstdlib>

#include "kernels/baseline/copy.hpp"
#include "kernels/short_rows.hpp"
#include "loops/elementwise/loop_nest.hpp"
#include "loops/tuning.hpp"

namespace reel::loops {

struct Layout {
  enum class Kind : std::uint8_t { none, single, linear, strided } kind = Kind::none;
  std::int64_t period = 0;  // strided: after this many positions its elements repeat
};

/// The layout of operand k.
template <std::size_t Operands>
Layout layout_of(const LoopNest<Operands>& nest, std::size_t k) {
  bool linear = true;
  std::int64_t dense = 1, period = 1;
  for (int d = nest.rank - 1; d >= 0; --d) {
    linear &= nest.stride[k][d] == dense;
    dense *= nest.extent[d];
    if (nest.stride[k][d] != 0) period = dense;
  }
  if (linear) return {Layout::Kind::linear, 0};
  if (period == 1) return {Layout::Kind::single, 0};
  return {Layout::Kind::strided, period};
}

/// Packs the elements of operand k, which begins at `data`, at positions [begin, end). The nest has a rank of at least
/// 1.
template <std::size_t Operands>
void pack(const LoopNest<Operands>& nest, std::size_t k, const std::byte* data, std::size_t bytes, std::int64_t begin,
          std::int64_t end, std::byte* to) {
  const int last = nest.rank - 1;
  const std::int64_t length = nest.extent[last], stride = nest.stride[k][last];
  const std::int64_t rows = last > 0 ? nest.extent[last - 1] : 1, row_stride = last > 0 ? nest.stride[k][last - 1] : 0;
  const bool repeated = stride == 0 && kernels::repeats_each(length, bytes);  // rows of one element each
  with_size(bytes, [&](auto element) {
    using T = decltype(element);
    const T* x = reinterpret_cast<const T*>(data);
    std::int64_t row = begin / length, within = begin % length;
    for (std::int64_t at = begin; at < end;) {  // once for each index of the dimensions before the last two
      const T* p = x + nest.offset(k, row / rows, last - 1) + row % rows * row_stride;
      // Whole rows that are repeated, or whose elements are further apart than the rows are.
      const std::int64_t whole = std::min(rows - row % rows, (end - at) / length);
      const bool transposed_rows = std::abs(row_stride) < std::abs(stride) && row_stride != 0;
      if (within == 0 && (repeated ? whole > 0 : whole > 1 && transposed_rows)) {
        if (repeated)
          kernels::repeat_each(p, row_stride, length, whole, to, sizeof(T));
        else
          kernels::copy_matrix(p, row_stride, stride, to, length, whole, length, sizeof(T));
        row += whole;
        at += whole * length;
        to += whole * length * static_cast<std::int64_t>(sizeof(T));
        continue;
      }
      const std::int64_t until = repeated ? row % rows + 1 : rows;
      for (std::int64_t r = row % rows; r < until && at < end; ++r, ++row, p += row_stride) {
        const std::int64_t n = std::min(length - within, end - at);
        if (n < tuning::short_run)
          gather<T>(p + within * stride, stride, to, n);
        else
          kernels::copy({p + within * stride, stride}, to, 1, n, sizeof(T));
        to += n * static_cast<std::int64_t>(sizeof(T));
        at += n;
        within = 0;
      }
    }
  });
}

/// Repeats the first `filled` bytes up to `size`.
inline void repeat(std::byte* to, std::size_t filled, std::size_t size) {
  for (; filled < size; filled *= 2) std::memcpy(to + filled, to, std::min(filled, size - filled));
}

/// The dimension along which operand k has its smallest stride; the last one on a tie.
template <std::size_t Operands>
int closest(const LoopNest<Operands>& nest, std::size_t k) {
  const int last = nest.rank - 1;
  int best = last;
  for (int d = last - 1; d >= 0; --d) {
    const std::int64_t s = std::abs(nest.stride[k][d]);
    if (s != 0 && s < std::abs(nest.stride[k][best])) best = d;
  }
  return best;
}

/// Whether the elements of a large x are closest along another axis than the last.
inline bool transposed(const detail::Block* x) {
  if (x->size < tuning::transposed_copy_elements) return false;
  std::int64_t last = 0, least = 0;
  for (int d = x->rank - 1; d >= 0; --d) {
    const std::int64_t s = std::abs(x->strides()[d]);
    if (x->extents()[d] == 1 || s == 0) continue;
    if (last == 0) last = least = s;
    least = std::min(least, s);
  }
  return least < last;
}

}  // namespace reel::loops
