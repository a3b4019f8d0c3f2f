#include "sparse/index_rows.hpp"

#include <algorithm>
#include <numeric>

namespace reel::program {

namespace {

constexpr std::int64_t most_indices = std::int64_t{1} << 28;  // of all rows: 2 GiB

auto at(std::vector<std::int64_t>& v, std::int64_t i) { return v.begin() + static_cast<std::ptrdiff_t>(i); }

// Sorts each row and removes duplicates.
void make_sets(IndexRows& rows) {
  std::int64_t end = 0;
  for (std::size_t i = 0; i + 1 < rows.starts.size(); ++i) {
    const auto first = at(rows.indices, rows.starts[i]), last = at(rows.indices, rows.starts[i + 1]);
    if (!std::is_sorted(first, last)) std::sort(first, last);
    const auto behind = std::unique(first, last);
    if (end != rows.starts[i]) std::copy(first, behind, at(rows.indices, end));
    rows.starts[i] = end;
    end += behind - first;
  }
  rows.starts.back() = end;
  rows.indices.resize(static_cast<std::size_t>(end));
}

}  // namespace

IndexRows unite_all(std::span<const IndexRows* const> list) {
  IndexRows all;
  for (const IndexRows* rows : list) all.indices.insert(all.indices.end(), rows->indices.begin(), rows->indices.end());
  all.starts.push_back(static_cast<std::int64_t>(all.indices.size()));
  all.uniform = true;
  make_sets(all);
  return all;
}

IndexRows unite(std::span<const Share> shares, std::int64_t count) {
  IndexRows all;
  all.starts.assign(static_cast<std::size_t>(count) + 1, 0);
  for (const Share& s : shares)
    for (std::size_t k = 0; k < s.to.size(); ++k)
      all.starts[static_cast<std::size_t>(s.to[k]) + 1] += static_cast<std::int64_t>(s.rows->row(s.from[k]).size());
  std::partial_sum(all.starts.begin(), all.starts.end(), all.starts.begin());
  if (all.starts.back() > most_indices) {
    std::vector<const IndexRows*> list;
    for (const Share& s : shares) list.push_back(s.rows);
    return unite_all(list);
  }
  all.indices.resize(static_cast<std::size_t>(all.starts.back()));
  std::vector<std::int64_t> next(all.starts);
  for (const Share& s : shares)
    for (std::size_t k = 0; k < s.to.size(); ++k) {
      const auto row = s.rows->row(s.from[k]);
      std::int64_t& place = next[static_cast<std::size_t>(s.to[k])];
      std::copy(row.begin(), row.end(), at(all.indices, place));
      place += static_cast<std::int64_t>(row.size());
    }
  make_sets(all);
  return all;
}

}  // namespace reel::program
