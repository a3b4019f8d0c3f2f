// Colourings of sparsity patterns: elements of one colour share a direction. Plain arrays, no tensors.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace reel::autodiff {

/// Compressed sparse rows: row i has the columns [starts[i], starts[i + 1]) of `columns`, ascending.
struct CompressedRows {
  std::int64_t column_count = 0;
  std::vector<std::int64_t> starts, columns;

  std::int64_t row_count() const noexcept { return static_cast<std::int64_t>(starts.size()) - 1; }
  std::span<const std::int64_t> row(std::int64_t i) const noexcept {
    const auto k = static_cast<std::size_t>(i);
    return {columns.data() + starts[k], static_cast<std::size_t>(starts[k + 1] - starts[k])};
  }
};
CompressedRows transposed(const CompressedRows& a);
/// a and its transpose.
CompressedRows symmetric(const CompressedRows& a);

struct Colours {
  std::vector<std::int64_t> of;  // of each element
  std::int64_t count = 0;
};

/// Colours of the columns, such that no row has two of a colour. Greedy, in the order of the columns and of falling
/// degree, the better of both; a colour for each column where a row is full, or the search would take longer than a
/// second.
Colours colour_columns(const CompressedRows& a);

/// Colours of the vertices of a symmetric pattern: neighbours differ, and no path of four vertices has two colours.
/// Then each value at (i, j) is the product's element at row i of the colour of j, or at row j of the colour of i.
/// Time: the number of values times the number of colours.
Colours star_colouring(const CompressedRows& a);

}  // namespace reel::autodiff
