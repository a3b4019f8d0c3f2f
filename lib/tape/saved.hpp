// Counting the references to saved values, many at a time. What a loop reads in every round (a weight, a constant) is
// saved by one entry after another, and a locked instruction for each costs a fifth of recording a small op.
#pragma once
#include <array>

#include "core/block.hpp"

namespace reel::tape {

/// What is kept of each place in an entry's list of saved values; beyond, places share.
inline constexpr std::size_t saved_places = 4;

/// For a tape that records. References to a value that consecutive entries save at the same place are taken in batches
/// of 32, so that a weight used by every entry costs one atomic instruction per 32 entries. References that are left
/// are given back before anybody asks who holds a value.
class ReferenceBatch {
 public:
  ReferenceBatch() = default;
  ReferenceBatch(const ReferenceBatch&) = delete;
  ReferenceBatch& operator=(const ReferenceBatch&) = delete;
  /// One more reference to b, for an entry to hold.
  void take(detail::Block* b, std::size_t place) noexcept {
    Item& item = items_[place % saved_places];
    if (item.block == b && item.left) {
      --item.left;
      return;
    }
    refill(item, b);
  }
  void give_back() noexcept {
    for (Item& item : items_) {
      if (item.left) detail::release_saved(item.block, item.left);
      item = {};
    }
  }

 private:
  struct Item {
    detail::Block* block = nullptr;  // with none left it may be gone: only compared
    std::uint32_t left = 0;
  };
  static void refill(Item& item, detail::Block* b) noexcept {
    constexpr std::uint32_t batch = 32;  // references
    const std::uint32_t count = item.block == b ? batch : 1;
    if (item.left) detail::release_saved(item.block, item.left);
    detail::retain_saved(b, count);
    item = {b, count - 1};
  }
  std::array<Item, saved_places> items_;
};

/// For a replay that uses up its tape: references to small values are dropped once for entries in a row. What takes
/// much memory, or is not the library's, goes at once.
class DeferredRelease {
 public:
  DeferredRelease() = default;
  DeferredRelease(const DeferredRelease&) = delete;
  DeferredRelease& operator=(const DeferredRelease&) = delete;
  ~DeferredRelease() { flush(); }
  /// Takes over a reference.
  void drop(detail::Block* b, std::size_t place) noexcept {
    const std::uint64_t held = __atomic_load_n(&b->references, __ATOMIC_ACQUIRE);
    if (held == detail::one_saved) return detail::destroy(b);
    if (b->flags & (detail::view_flag | detail::borrowed_flag) || b->size > most_elements) [[unlikely]]
      return detail::release_saved(b);
    Item& item = items_[place % saved_places];
    if (item.block != b) {
      give(item);
      item.block = b;
    }
    if (++item.count * detail::one_saved == held) {  // nobody else is left
      item = {};
      detail::destroy(b);
    }
  }
  void flush() noexcept {
    for (Item& item : items_) give(item);
  }

 private:
  static constexpr std::int64_t most_elements = 128;
  struct Item {
    detail::Block* block = nullptr;
    std::uint64_t count = 0;
  };
  static void give(Item& item) noexcept {
    if (item.count) detail::release_saved(item.block, item.count);
    item = {};
  }
  std::array<Item, saved_places> items_;
};

}  // namespace reel::tape
