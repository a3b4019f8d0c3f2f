// Sorting by the digits of keys, the least significant first (LSD radix sort: Knuth, volume 3, 5.2.5), eight bits at a
// time. Stable.
#pragma once
#include <array>
#include <cstdint>
#include <utility>

namespace reel::loops {

/// Up to this many records are sorted by insertion: a radix pass sets and sums 256 counters. Row: "sort rows".
inline constexpr std::int64_t insertion_records = 24;

/// Sorts n records by key(record), an unsigned integer of Bytes bytes. `scratch` holds n more records. Returns where
/// the sorted records are: one of the two.
template <std::size_t Bytes, class Record, class Key>
Record* radix_sort(Record* records, Record* scratch, std::int64_t n, const Key& key) {
  if (n <= insertion_records) {
    for (std::int64_t i = 1; i < n; ++i) {
      const Record moved = records[i];
      std::int64_t to = i;
      for (; to > 0 && key(moved) < key(records[to - 1]); --to) records[to] = records[to - 1];
      records[to] = moved;
    }
    return records;
  }
  std::array<std::array<std::int64_t, 256>, Bytes> counts{};
  for (std::int64_t i = 0; i < n; ++i) {
    const auto k = key(records[i]);
    for (std::size_t d = 0; d < Bytes; ++d) ++counts[d][static_cast<std::uint8_t>(k >> (8 * d))];
  }
  for (std::size_t d = 0; d < Bytes; ++d) {
    std::array<std::int64_t, 256>& place = counts[d];
    if (place[static_cast<std::uint8_t>(key(records[0]) >> (8 * d))] == n) continue;  // all keys have the same digit
    std::int64_t before = 0;
    for (std::int64_t& p : place) before += std::exchange(p, before);
    for (std::int64_t i = 0; i < n; ++i)
      scratch[place[static_cast<std::uint8_t>(key(records[i]) >> (8 * d))]++] = records[i];
    std::swap(records, scratch);
  }
  return records;
}

}  // namespace reel::loops
