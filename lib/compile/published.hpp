// An object that threads read without a lock while others replace it.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

namespace reel::detail {

/// Readers count themselves. A writer that replaces the object frees the earlier ones when it sees no reader: in the
/// single order of these operations a reader counted later loads the new object.
template <class T>
class Published {
 public:
  explicit Published(std::unique_ptr<const T> first) noexcept : current_(first.release()) {}
  Published(const Published&) = delete;
  Published& operator=(const Published&) = delete;
  ~Published() { delete current_.load(); }
  /// f(object). What f returns must not refer to the object.
  template <class F>
  auto read(F&& f) const {
    readers_.fetch_add(1, std::memory_order_seq_cst);
    const Leave at_end{readers_};
    return f(*current_.load(std::memory_order_seq_cst));
  }
  /// For those who hold the lock that writers share, as replace().
  const T& current() const noexcept { return *current_.load(std::memory_order_relaxed); }
  void replace(std::unique_ptr<const T> next) {
    retired_.reserve(retired_.size() + 1);
    retired_.emplace_back(current_.exchange(next.release(), std::memory_order_seq_cst));
    if (readers_.load(std::memory_order_seq_cst) == 0) retired_.clear();
  }

 private:
  struct Leave {
    std::atomic<std::int64_t>& readers;
    ~Leave() { readers.fetch_sub(1, std::memory_order_release); }
  };
  std::atomic<const T*> current_;
  mutable std::atomic<std::int64_t> readers_{0};
  std::vector<std::unique_ptr<const T>> retired_;
};

}  // namespace reel::detail
