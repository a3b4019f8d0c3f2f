#include "sparse/normal_matrix.hpp"

#include <algorithm>
#include <utility>

#include "sparse/ordering.hpp"

namespace reel::optim {

namespace {

using Numbers = std::vector<std::int64_t>;

}  // namespace

NormalMatrix::NormalMatrix(const CompressedRows& jacobian)
    : jacobian_(jacobian), columns_(transpose(jacobian)), places_(jacobian.columns.size()) {
  Numbers next(columns_.starts);
  for (std::size_t place = 0; place < places_.size(); ++place)
    places_[at(next[at(jacobian.columns[place])]++)] = static_cast<std::int64_t>(place);
  const std::int64_t n = jacobian.column_count;
  pattern_.column_count = n;
  pattern_.starts.push_back(0);
  Numbers seen(at(n), -1);
  for (std::int64_t j = 0; j < n; ++j) {
    const auto first = static_cast<std::ptrdiff_t>(pattern_.columns.size());
    const auto add = [&](std::int64_t k) {
      if (std::exchange(seen[at(k)], j) != j) pattern_.columns.push_back(k);
    };
    add(j);
    for (const std::int64_t i : columns_.row(j))
      for (const std::int64_t k : jacobian_.row(i)) add(k);
    std::sort(pattern_.columns.begin() + first, pattern_.columns.end());
    diagonal_.push_back(std::lower_bound(pattern_.columns.begin() + first, pattern_.columns.end(), j) -
                        pattern_.columns.begin());
    pattern_.starts.push_back(static_cast<std::int64_t>(pattern_.columns.size()));
  }
}

std::vector<double> NormalMatrix::values(std::span<const double> jacobian) const {
  std::vector<double> list(pattern_.columns.size()), row(at(pattern_.column_count), 0.0);
  for (std::int64_t j = 0; j < pattern_.column_count; ++j) {
    for (std::int64_t e = columns_.starts[at(j)]; e < columns_.starts[at(j) + 1]; ++e) {
      const std::int64_t i = columns_.columns[at(e)];
      const double factor = jacobian[at(places_[at(e)])];
      for (std::int64_t p = jacobian_.starts[at(i)]; p < jacobian_.starts[at(i) + 1]; ++p)
        row[at(jacobian_.columns[at(p)])] += factor * jacobian[at(p)];
    }
    for (std::int64_t p = pattern_.starts[at(j)]; p < pattern_.starts[at(j) + 1]; ++p)
      list[at(p)] = std::exchange(row[at(pattern_.columns[at(p)])], 0.0);
  }
  return list;
}

}  // namespace reel::optim
