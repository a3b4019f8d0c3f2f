#include "linalg/csr_rows.hpp"

#include <vector>

#include "core/block.hpp"

namespace reel::loops {

namespace {

using Elements = std::span<const std::int64_t>;
using Kind = BadPattern::Kind;

// `copy` holds the elements unless they are contiguous.
Elements elements_of(const Tensor& x, std::vector<std::int64_t>& copy) {
  if (x.is_contiguous()) return x.data<std::int64_t>();
  copy = x.to_vector<std::int64_t>();
  return copy;
}

BadPattern find_bad_start(Elements starts, std::size_t column_count) {
  const auto nonzeros = static_cast<std::int64_t>(column_count);
  if (starts.front() != 0) return {Kind::first_start, 0, 0, starts.front()};
  if (starts.back() != nonzeros) return {Kind::last_start, nonzeros, 0, starts.back()};
  for (std::size_t i = 1; i < starts.size(); ++i)
    if (starts[i] < starts[i - 1]) return {Kind::start, static_cast<std::int64_t>(i), 0, starts[i], starts[i - 1]};
  return {};
}

}  // namespace

BadPattern find_pattern_rows(const Tensor& row_starts, const Tensor& columns, std::int64_t column_count,
                             const Tensor& rows) {
  std::vector<std::int64_t> starts_copy, columns_copy;
  const Elements starts = elements_of(row_starts, starts_copy), list = elements_of(columns, columns_copy);
  if (const BadPattern bad = find_bad_start(starts, list.size())) return bad;
  std::int64_t* const to = rows.defined() ? detail::mutable_data<std::int64_t>(rows) : nullptr;
  for (std::size_t i = 0; i + 1 < starts.size(); ++i) {
    const auto row = static_cast<std::int64_t>(i);
    std::int64_t previous = -1;
    for (std::int64_t k = starts[i]; k < starts[i + 1]; ++k) {
      const std::int64_t column = list[static_cast<std::size_t>(k)];
      if (column < 0 || column >= column_count) return {Kind::column_range, k, row, column, previous};
      if (column <= previous) return {Kind::column_order, k, row, column, previous};
      previous = column;
      if (to) to[k] = row;
    }
  }
  return {};
}

}  // namespace reel::loops
