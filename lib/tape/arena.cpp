// The arena of entries and the map of ids: the two containers that recording is made of.
#include <algorithm>
#include <cstdlib>
#include <new>

#include "tape/tape.hpp"

namespace reel::tape {

namespace {
constexpr std::size_t first_chunk = 4096, largest_chunk = std::size_t{1} << 20;
}

void Arena::reserve(std::size_t bytes) {
  if (!chunks_.empty() && chunks_.back().capacity - chunks_.back().used >= bytes) return;
  const std::size_t grown =
      chunks_.empty() ? first_chunk : std::min<std::size_t>(2 * chunks_.back().capacity, largest_chunk);
  const std::size_t capacity = std::max(grown, bytes);
  chunks_.reserve(chunks_.size() + 1);
  auto* data = static_cast<std::byte*>(std::malloc(capacity));
  if (!data) throw std::bad_alloc();
  chunks_.push_back({data, static_cast<std::uint32_t>(capacity), 0, 0});
}

Entry* Arena::add(std::size_t bytes) noexcept {
  Chunk& c = chunks_.back();
  auto* e = new (static_cast<void*>(c.data + c.used)) Entry;
  e->bytes = static_cast<std::uint32_t>(bytes);
  e->previous = c.used - c.last;
  c.last = c.used;
  c.used += e->bytes;
  ++count_;
  return e;
}

std::int64_t Arena::bytes() const noexcept {
  std::int64_t sum = 0;
  for (const Chunk& c : chunks_) sum += c.used;
  return sum;
}

void Arena::clear(bool keep) noexcept {
  for (std::size_t i = chunks_.size(); i-- > 0;) {
    if (keep && i == 0 && chunks_[0].capacity <= 16 * first_chunk) {
      chunks_[0].used = chunks_[0].last = 0;
      break;
    }
    std::free(chunks_[i].data);
    chunks_.pop_back();
  }
  count_ = 0;
}

Entry* Arena::step_back(Place& at) const noexcept {
  while (at.offset == 0) {
    if (at.chunk == 0) return nullptr;
    at = {at.chunk - 1, chunks_[at.chunk - 1].used};
  }
  const Chunk& c = chunks_[at.chunk];
  // From the end of the chunk to its last entry, from an entry to the one before it.
  const std::uint32_t offset =
      at.offset == c.used ? c.last : at.offset - reinterpret_cast<Entry*>(c.data + at.offset)->previous;
  at.offset = offset;
  return reinterpret_cast<Entry*>(c.data + offset);
}

Entry* Arena::step_forward(Place& at, Place end) const noexcept {
  while (at.chunk < end.chunk && at.offset == chunks_[at.chunk].used) at = {at.chunk + 1, 0};
  if (at.chunk == end.chunk && at.offset >= end.offset) return nullptr;
  auto* e = reinterpret_cast<Entry*>(chunks_[at.chunk].data + at.offset);
  at.offset += e->bytes;
  return e;
}

void Arena::release_after(Place at) noexcept {
  while (chunks_.size() > at.chunk + 1) {
    std::free(chunks_.back().data);
    chunks_.pop_back();
  }
}

void IdMap::reserve(std::size_t more) {
  if ((count_ + more) * 2 <= table_.size()) return;
  std::size_t size = 16;
  while (size < (count_ + more) * 2) size *= 2;
  std::vector<std::pair<std::uint64_t, std::uint32_t>> old(size);
  old.swap(table_);
  mask_ = size - 1;
  count_ = 0;
  for (const auto& [id, slot] : old)
    if (id) set(id, slot);
}

void IdMap::set(std::uint64_t id, std::uint32_t slot) noexcept {
  std::size_t i = hash(id) & mask_;
  while (table_[i].first && table_[i].first != id) i = (i + 1) & mask_;
  if (!table_[i].first) ++count_;
  table_[i] = {id, slot};
}

void IdMap::clear() noexcept {
  if (count_) std::fill(table_.begin(), table_.end(), std::pair<std::uint64_t, std::uint32_t>{});
  if (table_.size() > 4096) table_ = {};
  mask_ = table_.empty() ? 0 : table_.size() - 1;
  count_ = 0;
}

}  // namespace reel::tape
