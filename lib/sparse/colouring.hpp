// Colourings of sparsity patterns: columns, or rows, of one colour share a direction. Plain arrays, no tensors.
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
CompressedRows transpose(const CompressedRows& a);
/// a and its transpose.
CompressedRows symmetric(const CompressedRows& a);

struct Colours {
  std::vector<std::int64_t> of;  // the colour of each vertex
  std::int64_t count = 0;
};

/// Colours of the columns such that no row has two columns of a colour. Greedy, in natural order, in order of
/// decreasing degree and by saturation, or linear in the coordinates of a grid, the best of them; saturation where it
/// takes less than a quarter of a second.
/// Every column gets its own colour if a row is full, or if the search would take longer than about a second.
Colours colour_columns(const CompressedRows& a);

/// Star colouring of a symmetric pattern: neighbours differ, and no path of four vertices has only two colours. Each
/// value (i, j) is then element i of the product for the colour of j, or element j of the product for the colour of i.
/// Time: the number of values times the number of colours.
Colours star_colouring(const CompressedRows& a);

}  // namespace reel::autodiff
