// Slots: what a tape knows of each tensor that it follows.
#pragma once
#include <reel/tensor.hpp>
#include <utility>

#include "core/block.hpp"

namespace reel::tape {

inline constexpr std::uint32_t no_slot = ~std::uint32_t{0};

/// Shape and dtype of a slot, interned per tape.
struct Meta {
  std::uint64_t hash;
  DType dtype;
  std::uint8_t rank;
  std::int64_t extents[1];  // `rank` of them
  Shape shape() const { return {extents, rank}; }
};

struct Slot {
  std::uint64_t id;  // of the tensor; 0 when free
  const Meta* meta;
  bool dead = false;       // the tensor is gone
  bool source = false;     // watched: kept by sweeps
  bool root = false;       // no entry made it: a watched tensor
  bool variable = false;   // stands for a variable: the ids of values read of it lead here too
  std::uint32_t site = 0;  // where the op that made it was called, an index of the tape's sites
};

/// Slots by number, in memory of the thread's pool. They are in chunks; only the first one moves, while it grows.
class Slots {
 public:
  Slots() = default;
  Slots(const Slots&) = delete;
  Slots& operator=(const Slots&) = delete;
  ~Slots() { drop(); }
  std::size_t size() const noexcept { return size_; }
  std::size_t capacity() const noexcept { return capacity_; }
  Slot& operator[](std::size_t i) noexcept { return chunks_[i >> chunk_bits][i & (chunk - 1)]; }
  const Slot& operator[](std::size_t i) const noexcept { return chunks_[i >> chunk_bits][i & (chunk - 1)]; }
  /// Reserves room for this number in all, at most no_slot - 1, keeping the contents. Strong guarantee.
  void reserve(std::size_t capacity);
  /// Appends one, uninitialised; reserve first.
  Slot& add() noexcept { return (*this)[size_++]; }
  void clear() noexcept { size_ = 0; }
  /// The same, and frees the memory.
  void drop() noexcept;

 private:
  static constexpr std::size_t chunk_bits = 18, chunk = std::size_t{1} << chunk_bits;  // slots
  void grow();
  detail::List<Slot*> chunks_;
  std::size_t size_ = 0, capacity_ = 0;
};
/// From ids to slots: open addressing, no erasure.
class IdMap {
 public:
  std::uint32_t find(std::uint64_t id) const noexcept {
    // Most ids that ops look up are absent.
    return seen_ >> (id & 63) & 1 ? search(id) : no_slot;
  }
  /// Room for `more` insertions that do not throw.
  void reserve(std::size_t more) {
    if ((count_ + more) * 2 > table_.size()) [[unlikely]]
      grow(more);
  }
  /// Adds or replaces; reserve first.
  void set(std::uint64_t id, std::uint32_t slot) noexcept;
  void clear() noexcept;
  bool empty() const noexcept { return count_ == 0; }
  /// Keeps only the pairs for which keep(id, slot).
  template <class Keep>
  IdMap filtered(Keep keep) const {
    IdMap map;
    map.reserve(count_);
    for (const auto& [id, slot] : table_)
      if (id && keep(id, slot)) map.set(id, slot);
    return map;
  }

 private:
  std::uint32_t search(std::uint64_t id) const noexcept;
  static std::size_t hash(std::uint64_t id) noexcept { return (id * 0x9e3779b97f4a7c15u) >> 32; }
  void grow(std::size_t more);
  detail::List<std::pair<std::uint64_t, std::uint32_t>> table_;
  std::size_t mask_ = 0, count_ = 0;
  std::uint64_t seen_ = 0;  // a Bloom filter: a bit for the last digits of each id
};

}  // namespace reel::tape
