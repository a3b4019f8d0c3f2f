// Entries: the recorded ops of a tape, and the arena that holds them.
#pragma once
#include <cstddef>
#include <cstdint>
#include <new>

#include "core/block.hpp"
#include "tape/record.hpp"

namespace reel::tape {

/// The header of a variable-length record; arrays follow it in the order of the counts.
struct Entry {
  const Rule* rule;
  std::uint32_t bytes, previous;  // of this entry; of the one before it in its chunk (0: none)
  std::uint32_t inputs, outputs, saved, attributes;

  std::uint32_t* slots() noexcept { return reinterpret_cast<std::uint32_t*>(this + 1); }
  const std::uint32_t* slots() const noexcept { return reinterpret_cast<const std::uint32_t*>(this + 1); }
  std::uint32_t input(std::size_t i) const noexcept { return slots()[i]; }
  std::uint32_t output(std::size_t k) const noexcept { return slots()[inputs + k]; }
  /// The values that the rule reads later. Handles that count as saved: made by retain_saved, never destroyed.
  Tensor* values() noexcept {
    return reinterpret_cast<Tensor*>(reinterpret_cast<std::byte*>(this + 1) + (inputs + outputs + 1) / 2 * 8);
  }
  const Tensor* values() const noexcept { return const_cast<Entry*>(this)->values(); }
  const detail::Block* block(std::size_t i) const noexcept { return detail::block(values()[i]); }
  std::int64_t* numbers() noexcept { return reinterpret_cast<std::int64_t*>(values() + saved); }
  const std::int64_t* numbers() const noexcept { return const_cast<Entry*>(this)->numbers(); }
  static std::size_t size_of(std::size_t inputs, std::size_t outputs, std::size_t saved, std::size_t attributes) {
    return sizeof(Entry) + (inputs + outputs + 1) / 2 * 8 + saved * sizeof(Tensor) + attributes * 8;
  }
};

/// Entries one after another in chunks that never move. Chunks come from the thread's pool and return to it.
class Arena {
 public:
  Arena() = default;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena() { clear(false); }
  /// Reserves memory, so that the next add() of up to `bytes` does not throw.
  void reserve(std::size_t bytes) {
    if (chunks_.empty() || chunks_.back().capacity - chunks_.back().used < bytes) [[unlikely]]
      grow(bytes);
  }
  /// Memory for an entry, with `previous` and `bytes` set.
  Entry* add(std::size_t bytes) noexcept {
    Chunk& c = chunks_.back();
    auto* e = new (static_cast<void*>(c.data + c.used)) Entry;
    __builtin_prefetch(c.data + c.used + 1024, 1);  // the hardware prefetcher does not cross pages
    e->bytes = static_cast<std::uint32_t>(bytes);
    e->previous = c.used - c.last;
    c.last = c.used;
    c.used += e->bytes;
    ++count_;
    return e;
  }
  std::int64_t count() const noexcept { return count_; }
  std::int64_t bytes() const noexcept;
  /// Frees all memory; with `keep`, a first small chunk remains.
  void clear(bool keep) noexcept;
  void swap(Arena& other) noexcept {
    chunks_.swap(other.chunks_);
    std::swap(spare_, other.spare_);
    std::swap(count_, other.count_);
  }

  /// A position in the arena, from which entries are visited.
  struct Cursor {
    std::size_t chunk = 0;
    std::uint32_t offset = 0;
  };
  /// Reserves memory, so that insert() of `bytes` at this position does not throw.
  void reserve_at(Cursor at, std::size_t bytes);
  /// Memory for an entry before those from `at` on, which move; with `previous` and `bytes` set.
  Entry* insert(Cursor at, std::size_t bytes) noexcept;
  /// Past the last entry.
  Cursor end() const noexcept {
    return {chunks_.empty() ? 0 : chunks_.size() - 1, chunks_.empty() ? 0 : chunks_.back().used};
  }
  /// Moves `at` to the entry before it, and returns that; null at the front.
  Entry* step_back(Cursor& at) const noexcept {
    while (at.offset == 0) {
      if (at.chunk == 0) return nullptr;
      at = {at.chunk - 1, chunks_[at.chunk - 1].used};
    }
    const Chunk& c = chunks_[at.chunk];
    // From the end of the chunk to its last entry; from an entry to the one before it.
    at.offset = at.offset == c.used ? c.last : at.offset - reinterpret_cast<Entry*>(c.data + at.offset)->previous;
    return reinterpret_cast<Entry*>(c.data + at.offset);
  }
  /// Returns the entry at `at`, and moves `at` past it; null at `end`.
  Entry* step_forward(Cursor& at, Cursor end) const noexcept {
    while (at.chunk < end.chunk && at.offset == chunks_[at.chunk].used) at = {at.chunk + 1, 0};
    if (at.chunk == end.chunk && at.offset >= end.offset) return nullptr;
    auto* e = reinterpret_cast<Entry*>(chunks_[at.chunk].data + at.offset);
    at.offset += e->bytes;
    return e;
  }
  /// Calls f(entry) in recording order.
  template <class F>
  void for_each(F f) const {
    for (const Chunk& c : chunks_)
      for (std::byte *p = c.data, *end = c.data + c.used; p != end;) {
        auto* e = reinterpret_cast<Entry*>(p);
        p += e->bytes;
        f(*e);
      }
  }
  /// Frees the chunks behind that of `at`: the replay of a used-up tape no longer needs them.
  void release_after(Cursor at) noexcept {
    while (chunks_.size() > at.chunk + 1) drop_last();
  }

 private:
  struct Chunk {
    std::byte* data;
    std::uint32_t capacity, used, last;
  };
  void grow(std::size_t bytes);
  void drop_last() noexcept;
  void drop_spare() noexcept;
  detail::List<Chunk> chunks_;
  Chunk spare_ = {};  // reserved for insert()
  std::int64_t count_ = 0;
};

}  // namespace reel::tape
