// Objects that threads read without a lock while others replace them, and maps of what was asked for last.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

namespace reel::autodiff {

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

/// A map of at most `most` values; adding one more drops the least recently used one, which its users may still hold.
/// Readers take no lock; whoever adds holds a mutex of its own.
template <class Key, class Value>
class RecentMap {
 public:
  using Pointer = std::shared_ptr<const Value>;
  explicit RecentMap(std::size_t most) : most_(most) {}
  std::size_t most() const noexcept { return most_; }
  /// Null if there is none.
  Pointer find(const Key& key) const {
    return table_.read([&](const Table& now) {
      for (const auto& one : now.entries)
        if (one->key == key) {
          use(now, *one);
          return one->value;
        }
      return Pointer();
    });
  }
  /// The value that was found or added last.
  Pointer latest() const {
    return table_.read([](const Table& now) {
      const Entry* one = now.latest.load(std::memory_order_acquire);
      return one ? one->value : Pointer();
    });
  }
  /// For a key that is not there.
  void add(Key key, Pointer value) {
    auto next = std::make_unique<Table>();
    next->entries = table_.current().entries;
    if (next->entries.size() >= most_)
      next->entries.erase(std::min_element(next->entries.begin(), next->entries.end(),
                                           [](const auto& a, const auto& b) { return a->used < b->used; }));
    next->entries.push_back(std::make_shared<const Entry>(std::move(key), std::move(value)));
    use(*next, *next->entries.back());
    table_.replace(std::move(next));
  }

 private:
  struct Entry {
    Entry(Key k, Pointer v) : key(std::move(k)), value(std::move(v)) {}
    Key key;
    Pointer value;
    mutable std::atomic<std::int64_t> used{0};  // grows with the time of the last use
  };
  struct Table {
    std::vector<std::shared_ptr<const Entry>> entries;
    mutable std::atomic<const Entry*> latest{nullptr};  // an element
  };
  void use(const Table& in, const Entry& one) const noexcept {
    constexpr auto relaxed = std::memory_order_relaxed;
    if (one.used.load(relaxed) != latest_use_.load(relaxed))
      one.used.store(latest_use_.fetch_add(1, relaxed) + 1, relaxed);
    if (in.latest.load(relaxed) != &one) in.latest.store(&one, std::memory_order_release);
  }

  std::size_t most_;
  mutable std::atomic<std::int64_t> latest_use_{1};
  Published<Table> table_{std::make_unique<const Table>()};
};

}  // namespace reel::autodiff
