// A nest of loops over strided operands, with as few and as long loops as the strides allow.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <reel/shape.hpp>

#include "core/block.hpp"

namespace reel::loops {

/// Extents above 1, and the strides of each operand in elements. Rank 0: one element.
template <std::size_t Operands>
struct LoopNest {
  int rank = 0;
  std::int64_t extent[max_rank];
  std::int64_t stride[Operands][max_rank];

  /// Adds an inner dimension, merged with the one outside it if all operands allow.
  void push(std::int64_t e, const std::int64_t (&s)[Operands]) {
    if (e == 1) return;
    if (rank > 0 && joins(e, s)) {
      extent[rank - 1] *= e;
    } else {
      extent[rank++] = e;
    }
    for (std::size_t k = 0; k < Operands; ++k) stride[k][rank - 1] = s[k];
  }
  /// Splits the innermost dimension in two; the inner one has extent `inner`, which divides it. There must be room for
  /// one more.
  void split_last(std::int64_t inner) {
    const int last = rank - 1;
    if (extent[last] == inner) return;
    extent[rank] = inner;
    extent[last] /= inner;
    for (std::size_t k = 0; k < Operands; ++k) {
      stride[k][rank] = stride[k][last];
      stride[k][last] *= inner;
    }
    ++rank;
  }
  /// The offset of operand k's element at row-major position `at` of the dimensions before `dims`.
  std::int64_t offset(std::size_t k, std::int64_t at, int dims) const {
    std::int64_t sum = 0;
    for (int d = dims - 1; d >= 0; --d) {
      sum += at % extent[d] * stride[k][d];
      at /= extent[d];
    }
    return sum;
  }

 private:
  bool joins(std::int64_t e, const std::int64_t (&s)[Operands]) const {
    for (std::size_t k = 0; k < Operands; ++k)
      if (stride[k][rank - 1] != s[k] * e) return false;
    return true;
  }
};

/// The stride of x along axis d of a shape of `rank` axes to which x broadcasts.
inline std::int64_t broadcast_stride(const detail::Block* x, int d, int rank) {
  const int own = d - (rank - x->rank);
  return own < 0 || x->extents()[own] == 1 ? 0 : x->strides()[own];
}

/// Walks the first `dims` dimensions of a nest in row-major order, from a given index on.
template <std::size_t Operands>
class IndexIterator {
 public:
  IndexIterator(const LoopNest<Operands>& nest, std::int64_t at, int dims) : nest_(nest), dims_(dims) {
    for (std::size_t k = 0; k < Operands; ++k) offset_[k] = 0;
    for (int d = dims - 1; d >= 0; --d) {
      index_[d] = at % nest.extent[d];
      at /= nest.extent[d];
      for (std::size_t k = 0; k < Operands; ++k) offset_[k] += index_[d] * nest.stride[k][d];
    }
  }
  /// Walks all dimensions but the last: one step per row of the innermost loop.
  IndexIterator(const LoopNest<Operands>& nest, std::int64_t row) : IndexIterator(nest, row, nest.rank - 1) {}
  std::int64_t offset(std::size_t k) const { return offset_[k]; }
  void next() {
    for (int d = dims_ - 1; d >= 0; --d) {
      for (std::size_t k = 0; k < Operands; ++k) offset_[k] += nest_.stride[k][d];
      if (++index_[d] < nest_.extent[d]) return;
      for (std::size_t k = 0; k < Operands; ++k) offset_[k] -= nest_.stride[k][d] * nest_.extent[d];
      index_[d] = 0;
    }
  }

 private:
  const LoopNest<Operands>& nest_;
  int dims_;
  std::int64_t index_[max_rank];
  std::int64_t offset_[Operands];
};

struct Bytes16 {
  std::uint64_t half[2];
};

/// Calls f with a zero of an unsigned type of the given size: 1, 2, 4, 8 or 16 bytes.
template <class F>
decltype(auto) with_size(std::size_t bytes, const F& f) {
  switch (bytes) {
    case 1:
      return f(std::uint8_t{});
    case 2:
      return f(std::uint16_t{});
    case 4:
      return f(std::uint32_t{});
    case 8:
      return f(std::uint64_t{});
    default:
      return f(Bytes16{});
  }
}

/// to[i] = from[i * stride]: for short runs, where a call costs more than the copy.
template <class T>
inline void gather(const void* from, std::int64_t stride, std::byte* to, std::int64_t n) {
  const T* p = static_cast<const T*>(from);
  for (std::int64_t i = 0; i < n; ++i, p += stride, to += sizeof(T)) std::memcpy(to, p, sizeof(T));
}

}  // namespace reel::loops
