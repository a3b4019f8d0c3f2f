// Sets of indices, one per element of a tensor, as sorted compressed rows.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace reel::program {

/// Row i holds the indices [starts[i], starts[i + 1]), ascending and distinct.
struct IndexRows {
  std::vector<std::int64_t> starts{0}, indices;
  bool uniform = false;  // there is one row, which every element has

  std::span<const std::int64_t> row(std::int64_t i) const {
    const auto k = static_cast<std::size_t>(uniform ? 0 : i);
    return std::span(indices).subspan(static_cast<std::size_t>(starts[k]),
                                      static_cast<std::size_t>(starts[k + 1] - starts[k]));
  }
};

/// The contribution of one operand: the row of its element from[k] is included in the row of the result's element
/// to[k].
struct Share {
  const IndexRows* rows;
  std::vector<std::int64_t> from, to;
};

/// The unions of all contributions, for a result of `count` elements. If they exceed 2^28 indices, one row for all
/// elements.
IndexRows unite(std::span<const Share> shares, std::int64_t count);
/// One row for all elements: the union of all rows.
IndexRows unite_all(std::span<const IndexRows* const> list);

}  // namespace reel::program
