// Products of a matrix by its own transpose: half of them is computed, the rest copied.
#pragma once
#include <algorithm>

#include "loops/parallel.hpp"
#include "loops/product/matmul.hpp"
#include "loops/product/tiled_product.hpp"
#include "loops/tuning.hpp"

namespace reel::loops {

/// Whether b is the transpose of a in the same memory, and they are large enough for syrk. Measured on an AMD EPYC (Zen
/// 4), with the core types Haswell, SkylakeX and Cooperlake: with 50 rows 1.2 to 1.5 times as fast, with 1000 1.4 to
/// 1.9.
inline bool is_gram(const Factor& a, const Factor& b) {
  constexpr std::int64_t least_rows = 48;
  return a.data == b.data && a.rows == b.columns && a.rows >= least_rows && a.row_stride == b.column_stride &&
         a.column_stride == b.row_stride;
}

/// Blocks of columns keep what is read and written in the first-level cache.
template <class T>
void copy_transposed(const T* from, T* to, std::int64_t rows, std::int64_t columns, std::int64_t width) {
  constexpr std::int64_t block = 16;
  for (std::int64_t first = 0; first < columns; first += block)
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = first; j < std::min(first + block, columns); ++j) to[j * width + i] = from[i * width + j];
}

/// A symmetric c [m, m] in tiles of at most edge x edge, `grain` of them per task. product(i, j, rows, columns)
/// computes one below the diagonal, and triangle(i, rows, to) the lower triangle of one on it.
template <class T, class Product, class Triangle>
void symmetric_product(T* c, std::int64_t m, std::int64_t edge, std::int64_t grain, const Product& product,
                       const Triangle& triangle) {
  const auto compute = [&](std::int64_t i, std::int64_t j) {
    const std::int64_t rows = std::min(edge, m - i);
    T* const tile = c + i * m + j;
    if (i != j) {
      product(i, j, rows, edge);
      return copy_transposed(tile, c + j * m + i, rows, edge, m);
    }
    triangle(i, rows, tile);
    for (std::int64_t r = 1; r < rows; ++r) copy_transposed(tile + r * m, tile + r, 1, r, m);
  };
  const std::int64_t parts = ceil_divide(m, edge);
  parallel_for(parts * (parts + 1) / 2, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = 0, task = 0; row < parts; task += ++row)
      for (std::int64_t column = std::max<std::int64_t>(begin - task, 0); column <= row && task + column < end;
           ++column)
        compute(row * edge, column * edge);
  });
}

/// out = a b by half of the tiles of TiledProduct, if is_gram() holds and the numbers are real: the bits of the whole
/// product. Returns whether it was computed: few rows have no tiles to be left out.
bool multiply_gram(DType dtype, const Factor& a, const Factor& b, std::byte* out);

}  // namespace reel::loops
