// Rows of a few elements, such as points in space: split into columns, and filled with one element each. Elements are
// copied as bits.
#pragma once
#include <cstddef>

#include "kernels/set.hpp"

namespace reel::kernels {

/// Elements of a short row.
inline constexpr std::ptrdiff_t short_row_min = 2, short_row_max = 15;
constexpr bool is_short_row(std::ptrdiff_t elements) { return elements >= short_row_min && elements <= short_row_max; }

/// For elements of 4 and of 8 bytes, and rows from short_row_min elements on.
struct ShortRows {
  static constexpr KernelFamily family = KernelFamily::short_rows;
  static constexpr std::ptrdiff_t split_max = 4;  // elements of rows that have a loop
  static constexpr bool has_size(std::size_t bytes) { return bytes == 4 || bytes == 8; }
  using Split = void (*)(const void* rows, std::ptrdiff_t n, void* columns, std::ptrdiff_t apart);
  using Repeat = void (*)(const void* x, std::ptrdiff_t stride, std::ptrdiff_t elements, std::ptrdiff_t n, void* rows);
  Split split[2][split_max - short_row_min + 1];
  Repeat repeat[2];
};

/// The columns that split_rows may write: it fills a block of its transposition with elements that mean nothing.
constexpr std::ptrdiff_t split_columns(std::ptrdiff_t elements, std::size_t bytes) {
  const std::ptrdiff_t side = elements > ShortRows::split_max && bytes >= 4 && bytes < 16 ? bytes == 4 ? 4 : 2 : 1;
  return (elements + side - 1) / side * side;
}
/// Element (i, k) of n short rows without gaps becomes columns[k * apart + i].
void split_rows(const void* rows, std::ptrdiff_t elements, std::ptrdiff_t n, void* columns, std::ptrdiff_t apart,
                std::size_t bytes, const ShortRows& table = active<ShortRows>());

/// Whether repeat_each has a loop.
constexpr bool repeats_each(std::ptrdiff_t elements, std::size_t bytes) {
  return is_short_row(elements) && ShortRows::has_size(bytes);
}
/// All elements of row i, of n short rows without gaps, become x[i * stride].
inline void repeat_each(const void* x, std::ptrdiff_t stride, std::ptrdiff_t elements, std::ptrdiff_t n, void* rows,
                        std::size_t bytes, const ShortRows& table = active<ShortRows>()) {
  table.repeat[bytes == 8](x, stride, elements, n, rows);
}

}  // namespace reel::kernels
