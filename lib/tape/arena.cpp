// The arena of entries, and the map from ids to slots.
#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "tape/tape.hpp"

namespace reel::tape {

namespace {
constexpr std::size_t first_chunk = 4096, largest_chunk = std::size_t{4} << 20;  // bytes
}

void Arena::grow(std::size_t bytes) {
  const std::size_t grown =
      chunks_.empty() ? first_chunk : std::min<std::size_t>(2 * chunks_.back().capacity, largest_chunk);
  const std::size_t capacity = std::max(grown, bytes);
  if (chunks_.size() == chunks_.capacity()) chunks_.reserve(2 * chunks_.size() + 8);
  chunks_.push_back({static_cast<std::byte*>(detail::allocate(capacity)), static_cast<std::uint32_t>(capacity), 0, 0});
}

void Arena::drop_last() noexcept {
  detail::deallocate(chunks_.back().data, chunks_.back().capacity);
  chunks_.pop_back();
}

void Arena::drop_spare() noexcept {
  detail::deallocate(spare_.data, spare_.capacity);
  spare_ = {};
}

void Arena::reserve_at(Cursor at, std::size_t bytes) {
  if (chunks_.empty()) return grow(bytes);
  const Chunk c = chunks_[at.chunk];  // a copy: the list may move
  if (c.capacity - c.used >= bytes) return;
  if (spare_.data) drop_spare();
  if (chunks_.size() == chunks_.capacity()) chunks_.reserve(2 * chunks_.size() + 8);
  const std::size_t capacity = std::max<std::size_t>(c.capacity, bytes + (c.used - at.offset));
  spare_ = {static_cast<std::byte*>(detail::allocate(capacity)), static_cast<std::uint32_t>(capacity), 0, 0};
}

Entry* Arena::insert(Cursor at, std::size_t size) noexcept {
  Chunk& c = chunks_[at.chunk];
  const auto bytes = static_cast<std::uint32_t>(size);
  const std::uint32_t moved = c.used - at.offset;
  const auto first = [](std::byte* p) { return reinterpret_cast<Entry*>(p); };
  const std::uint32_t before = moved ? at.offset - first(c.data + at.offset)->previous : c.last;
  const bool fits = c.capacity - c.used >= bytes;
  std::byte* to = fits ? c.data + at.offset : spare_.data;
  std::memmove(to + bytes, c.data + at.offset, moved);
  if (moved) first(to + bytes)->previous = bytes;
  auto* e = new (static_cast<void*>(to)) Entry;
  e->bytes = bytes;
  ++count_;
  if (fits) {
    e->previous = at.offset - before;
    c.last = moved ? c.last + bytes : at.offset;
    c.used += bytes;
    return e;
  }
  e->previous = 0;
  spare_.used = bytes + moved;
  spare_.last = moved ? c.last - at.offset + bytes : 0;
  c.used = at.offset;
  c.last = before;
  chunks_.push_back(std::exchange(spare_, {}));
  std::rotate(chunks_.begin() + static_cast<std::ptrdiff_t>(at.chunk + 1), chunks_.end() - 1, chunks_.end());
  return e;
}

std::int64_t Arena::bytes() const noexcept {
  std::int64_t sum = 0;
  for (const Chunk& c : chunks_) sum += c.used;
  return sum;
}

void Arena::clear(bool keep) noexcept {
  if (spare_.data) [[unlikely]]
    drop_spare();
  keep = keep && !chunks_.empty() && chunks_[0].capacity <= 16 * first_chunk;
  while (chunks_.size() > (keep ? 1 : 0)) drop_last();
  if (keep) chunks_[0].used = chunks_[0].last = 0;
  count_ = 0;
}

void Slots::grow() {
  const bool whole = capacity_ >= chunk;
  const std::size_t slots = whole ? chunk : std::max<std::size_t>(64, 2 * capacity_);
  if (chunks_.size() == chunks_.capacity()) chunks_.reserve(2 * chunks_.size() + 1);
  auto* grown = static_cast<Slot*>(detail::allocate(slots * sizeof(Slot)));
  if (whole) {
    chunks_.push_back(grown);
    capacity_ = std::min<std::size_t>(capacity_ + chunk, no_slot - 1);
    return;
  }
  std::uninitialized_copy_n(chunks_.empty() ? nullptr : chunks_[0], size_, grown);
  const std::size_t size = size_;
  drop();
  chunks_.push_back(grown);
  size_ = size;
  capacity_ = slots;
}
void Slots::reserve(std::size_t capacity) {
  while (capacity_ < capacity) grow();
}
void Slots::drop() noexcept {
  for (Slot* c : chunks_) detail::deallocate(c, std::min(capacity_, chunk) * sizeof(Slot));
  chunks_.clear();
  size_ = capacity_ = 0;
}

void IdMap::grow(std::size_t more) {
  std::size_t size = 16;
  while (size < (count_ + more) * 2) size *= 2;
  detail::List<std::pair<std::uint64_t, std::uint32_t>> old(size);
  old.swap(table_);
  mask_ = size - 1;
  count_ = 0;
  for (const auto& [id, slot] : old)
    if (id) set(id, slot);
}

std::uint32_t IdMap::search(std::uint64_t id) const noexcept {
  for (std::size_t i = hash(id) & mask_;; i = (i + 1) & mask_) {
    if (table_[i].first == id) return table_[i].second;
    if (table_[i].first == 0) return no_slot;
  }
}

void IdMap::set(std::uint64_t id, std::uint32_t slot) noexcept {
  std::size_t i = hash(id) & mask_;
  while (table_[i].first && table_[i].first != id) i = (i + 1) & mask_;
  if (!table_[i].first) ++count_;
  table_[i] = {id, slot};
  seen_ |= std::uint64_t{1} << (id & 63);
}

void IdMap::clear() noexcept {
  if (count_) std::fill(table_.begin(), table_.end(), std::pair<std::uint64_t, std::uint32_t>{});
  constexpr std::size_t most_kept = 4096;  // entries of 16 bytes
  if (table_.size() > most_kept) table_ = {};
  mask_ = table_.empty() ? 0 : table_.size() - 1;
  count_ = 0;
  seen_ = 0;
}

}  // namespace reel::tape
