#include "loops/index/table_rows.hpp"

#include <algorithm>
#include <cstring>
#include <functional>

#include "loops/loops.hpp"

namespace reel::loops {
namespace {

// Calls copy(row of the table, row k of the others, bytes) for each position k.
template <class Copy>
void for_each_row(const Tensor& table, const Tensor& positions, const Tensor& rows, Copy copy) {
  if (rows.size() == 0) return;
  const std::int64_t count = positions.size(), elements = rows.size() / count;
  const std::int64_t bytes = elements * static_cast<std::int64_t>(item_size(table.dtype()));
  const auto* position = detail::mutable_data<std::int64_t>(positions);
  std::byte* in_table = detail::block(table)->data;
  std::byte* in_rows = detail::block(rows)->data;
  const std::int64_t grain = std::max<std::int64_t>(1, parallel_threshold / elements);
  parallel_for(count, grain, [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t k = begin; k < end; ++k)
      copy(in_table + position[k] * bytes, in_rows + k * bytes, static_cast<std::size_t>(bytes));
  });
}

}  // namespace

DistinctPositions distinct(const Tensor& repeated) {
  const std::span<const std::int64_t> all(detail::mutable_data<std::int64_t>(repeated),
                                          static_cast<std::size_t>(repeated.size()));
  if (std::adjacent_find(all.begin(), all.end(), std::greater_equal<>()) == all.end()) return {};
  detail::List<std::int64_t> sorted(all.begin(), all.end());
  std::sort(sorted.begin(), sorted.end());
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  const Tensor positions = detail::empty(DType::int64, {static_cast<std::int64_t>(sorted.size())}),
               places = detail::empty(DType::int64, repeated.shape());
  std::copy(sorted.begin(), sorted.end(), detail::mutable_data<std::int64_t>(positions));
  std::transform(all.begin(), all.end(), detail::mutable_data<std::int64_t>(places), [&](std::int64_t position) {
    return std::lower_bound(sorted.begin(), sorted.end(), position) - sorted.begin();
  });
  return {positions, places};
}

void take_rows(const Tensor& table, const Tensor& positions, const Tensor& rows) {
  for_each_row(table, positions, rows,
               [](const std::byte* from, std::byte* to, std::size_t n) { std::memcpy(to, from, n); });
}

void put_rows(const Tensor& rows, const Tensor& positions, const Tensor& table) {
  for_each_row(table, positions, rows,
               [](std::byte* to, const std::byte* from, std::size_t n) { std::memcpy(to, from, n); });
}

}  // namespace reel::loops
