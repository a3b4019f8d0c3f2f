// Reference counts of saved values, many at a time. A value that a loop reads in every iteration (a weight, a constant)
// is saved by one entry after another; an atomic instruction for each costs a fifth of recording a small op.
#pragma once
#include <array>

#include "core/block.hpp"

namespace reel::tape {

/// The number of saved values per entry with a batch of their own; further ones share them.
inline constexpr std::size_t saved_places = 4;

/// For recording. References to a value that consecutive entries save at the same index are taken in batches of 32, so
/// that a weight used by every entry costs one atomic instruction per 32 entries. Unused references are returned before
/// anybody asks who holds a value.
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
    detail::Block* block = nullptr;  // compared only: without references left the block may be freed
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

/// For the replay that uses up a tape: references to small values are dropped in one step for consecutive entries.
/// Large values, and borrowed ones, are dropped at once.
class DeferredRelease {
 public:
  DeferredRelease() = default;
  DeferredRelease(const DeferredRelease&) = delete;
  DeferredRelease& operator=(const DeferredRelease&) = delete;
  ~DeferredRelease() { flush(); }
  /// Takes over a reference.
  void drop(detail::Block* b, std::size_t place) noexcept {
    const std::uint64_t references = __atomic_load_n(&b->references, __ATOMIC_ACQUIRE);
    if (references == detail::one_saved) return detail::destroy(b);
    if (b->flags & (detail::view_flag | detail::borrowed_flag) || b->size > most_elements) [[unlikely]]
      return detail::release_saved(b);
    Item& item = items_[place % saved_places];
    if (item.block != b) {
      give(item);
      item.block = b;
    }
    if (++item.count * detail::one_saved == references) {  // no other owner is left
      item = {};
      detail::destroy(b);
    }
  }
  void flush() noexcept {
    for (Item& item : items_) give(item);
  }

 private:
  static constexpr std::int64_t most_elements = 128;  // of a tensor whose release is deferred
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
