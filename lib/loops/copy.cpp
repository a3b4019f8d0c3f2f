// Copies between tensors with different strides. Where both sides have long contiguous runs, runs are copied. Otherwise
// matrices are copied tile by tile, over the two axes along which source and destination have their smallest strides.
#include "kernels/baseline/copy.hpp"

#include <algorithm>

#include "kernels/baseline/interleave.hpp"
#include "kernels/short_rows.hpp"
#include "loops/elementwise/loop_nest.hpp"
#include "loops/joining.hpp"
#include "loops/loops.hpp"

namespace reel::loops {
namespace {

constexpr std::size_t from_side = 0, to_side = 1;
using tuning::copy_grain, tuning::short_run;

struct Copy {
  LoopNest<2> nest;
  const std::byte* from;
  std::byte* to;
  std::size_t bytes;
  int row = -1;  // the other dimension of a tile, beside the last one; -1: none

  const std::byte* source(std::int64_t offset) const { return from + offset * static_cast<std::int64_t>(bytes); }
  std::byte* target(std::int64_t offset) const { return to + offset * static_cast<std::int64_t>(bytes); }
};

// Rows [begin, end) of the innermost loop.
void copy_rows(const Copy& c, std::int64_t begin, std::int64_t end) {
  const int last = c.nest.rank - 1;
  const std::int64_t n = c.nest.extent[last], in = c.nest.stride[from_side][last], out = c.nest.stride[to_side][last];
  IndexIterator index(c.nest, begin);
  if (n >= short_run) {
    for (std::int64_t r = begin; r < end; ++r, index.next())
      kernels::copy({c.source(index.offset(from_side)), in}, c.target(index.offset(to_side)), out, n, c.bytes);
    return;
  }
  with_size(c.bytes, [&](auto element) {
    using T = decltype(element);
    for (std::int64_t r = begin; r < end; ++r, index.next()) {
      const T* p = reinterpret_cast<const T*>(c.from) + index.offset(from_side);
      T* q = reinterpret_cast<T*>(c.to) + index.offset(to_side);
      for (std::int64_t i = 0; i < n; ++i, p += in, q += out) std::memcpy(q, p, sizeof(T));
    }
  });
}

// The same where every row is one element, repeated, and rows of the target have no gap between them.
bool is_repeated(const Copy& c) {
  const int last = c.nest.rank - 1;
  const std::int64_t n = c.nest.extent[last];
  return c.nest.stride[from_side][last] == 0 && c.nest.stride[to_side][last] == 1 &&
         c.nest.stride[to_side][last - 1] == n && kernels::repeats_each(n, c.bytes);
}
void repeat_rows(const Copy& c, std::int64_t begin, std::int64_t end) {
  const int last = c.nest.rank - 1;
  const std::int64_t rows = c.nest.extent[last - 1];
  for (std::int64_t row = begin, n; row < end; row += n) {
    n = std::min(rows - row % rows, end - row);
    kernels::repeat_each(c.source(c.nest.offset(from_side, row, last)), c.nest.stride[from_side][last - 1],
                         c.nest.extent[last], n, c.target(c.nest.offset(to_side, row, last)), c.bytes);
  }
}

// The dimension, other than the last, along which the source has its smallest stride; -1 if that is the last one.
int closest(const LoopNest<2>& nest) {
  const int last = nest.rank - 1;
  int best = last;
  for (int d = last - 1; d >= 0; --d) {
    const std::int64_t s = std::abs(nest.stride[from_side][d]), b = std::abs(nest.stride[from_side][best]);
    if (s != 0 && (b == 0 || s < b)) best = d;
  }
  return best == last || nest.stride[from_side][last] == 0 ? -1 : best;
}

// A matrix copy for each index of the dimensions other than `row` and the last; rows are divided into strips.
void copy_matrices(const Copy& c, std::int64_t strip) {
  const int last = c.nest.rank - 1;
  const std::int64_t rows = c.nest.extent[c.row], columns = c.nest.extent[last];
  LoopNest<2> outer;  // the other dimensions, then one of extent 1, which is not iterated over
  for (int d = 0; d < last; ++d) {
    if (d == c.row) continue;
    outer.extent[outer.rank] = c.nest.extent[d];
    for (std::size_t k : {from_side, to_side}) outer.stride[k][outer.rank] = c.nest.stride[k][d];
    ++outer.rank;
  }
  std::int64_t matrices = 1;
  for (int d = 0; d < outer.rank; ++d) matrices *= outer.extent[d];
  const std::int64_t strips = (rows - 1) / strip + 1;
  const std::int64_t in_row = c.nest.stride[from_side][c.row], out_row = c.nest.stride[to_side][c.row];
  const auto run = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t t = begin; t < end; ++t) {
      const std::int64_t matrix = t / strips, first = t % strips * strip, count = std::min(strip, rows - first);
      kernels::copy_matrix(c.source(outer.offset(from_side, matrix, outer.rank) + first * in_row), in_row,
                           c.nest.stride[from_side][last],
                           c.target(outer.offset(to_side, matrix, outer.rank) + first * out_row), out_row, count,
                           columns, c.bytes);
    }
  };
  const std::int64_t each = std::min(strip, rows) * columns;
  if (matrices * rows * columns < parallel_threshold)
    run(0, matrices * strips);
  else
    parallel_for(matrices * strips, std::max<std::int64_t>(1, copy_grain / each), run);
}

}  // namespace

void copy(const Tensor& from, const Tensor& to) {
  const detail::Block *x = detail::block(from), *y = detail::block(to);
  if (y->size == 0) return;
  Copy c;
  c.from = x->data;
  c.to = y->data;
  c.bytes = item_size(y->dtype);
  for (int d = 0; d < y->rank; ++d) {
    const std::int64_t stride[2] = {broadcast_stride(x, d, y->rank), y->strides()[d]};
    c.nest.push(y->extents()[d], stride);
  }
  if (c.nest.rank == 0) {
    std::memcpy(c.to, c.from, c.bytes);
    return;
  }
  const int last = c.nest.rank - 1;
  const std::int64_t n = c.nest.extent[last], in = c.nest.stride[from_side][last], out = c.nest.stride[to_side][last];
  if (c.nest.rank == 1) {
    const auto run = [&](std::int64_t begin, std::int64_t end) {
      kernels::copy({c.source(begin * in), in}, c.target(begin * out), out, end - begin, c.bytes);
    };
    if (n < parallel_threshold)
      run(0, n);
    else
      parallel_for(n, copy_grain, run);
    return;
  }
  c.row = out == 1 ? closest(c.nest) : -1;
  if (c.row >= 0) return copy_matrices(c, std::max<std::int64_t>(32, copy_grain / n));
  const auto rows_of = is_repeated(c) ? repeat_rows : copy_rows;
  const auto run = [&](std::int64_t begin, std::int64_t end) { rows_of(c, begin, end); };
  const std::int64_t rows = y->size / n;
  if (y->size < parallel_threshold)
    run(0, rows);
  else
    parallel_for(rows, std::max<std::int64_t>(1, copy_grain / n), run);
}

bool interleave(std::span<const Tensor* const> parts, const Tensor& to) {
  if (parts.size() < 2 || parts.size() > kernels::interleaved_max) return false;
  for (const Tensor* part : parts)
    if (!detail::block(*part)->contiguous()) return false;
  const detail::Block* y = detail::block(to);
  const auto count = static_cast<std::int64_t>(parts.size()), bytes = static_cast<std::int64_t>(item_size(y->dtype));
  const auto run = [&](std::int64_t begin, std::int64_t end) {
    const void* from[kernels::interleaved_max];
    for (std::size_t k = 0; k < parts.size(); ++k) from[k] = detail::block(*parts[k])->data + begin * bytes;
    kernels::interleave(from, parts.size(), y->data + begin * count * bytes, end - begin, item_size(y->dtype));
  };
  const std::int64_t n = y->size / count;
  if (y->size < parallel_threshold)
    run(0, n);
  else
    parallel_for(n, copy_grain / count, run);
  return true;
}

bool concatenate(std::span<const Tensor* const> parts, int axis, const Tensor& to) {
  constexpr std::int64_t long_run = 64;  // elements; of 16 and 24, one part after the other is faster
  const detail::Block* y = detail::block(to);
  std::int64_t rows = 1;
  for (int d = 0; d < axis; ++d) rows *= y->extents()[d];
  for (const Tensor* part : parts)
    if (!detail::block(*part)->contiguous() || part->size() < long_run * rows) return false;
  const std::size_t bytes = item_size(y->dtype);
  const std::int64_t row = y->size / rows;
  const auto run = [&](std::int64_t begin, std::int64_t end) {
    std::byte* out = y->data + begin * row * static_cast<std::int64_t>(bytes);
    for (std::int64_t r = begin; r < end; ++r)
      for (const Tensor* part : parts) {
        const std::int64_t n = part->size() / rows, n_bytes = n * static_cast<std::int64_t>(bytes);
        kernels::copy({detail::block(*part)->data + r * n_bytes, 1}, out, 1, n, bytes);
        out += n_bytes;
      }
  };
  if (y->size < parallel_threshold)
    run(0, rows);
  else
    parallel_for(rows, std::max<std::int64_t>(1, copy_grain / row), run);
  return true;
}

Tensor contiguous(const Tensor& x) {
  const detail::Block* b = detail::block(x);
  if (b->contiguous()) return x;
  Tensor y = detail::empty(b->dtype, b->shape());
  copy(x, y);
  return y;
}

}  // namespace reel::loops
