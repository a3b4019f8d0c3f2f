// A map that only grows, for few keys. Readers take no lock; whoever adds holds a mutex of its own.
#pragma once
#include <atomic>
#include <utility>

namespace reel::ops {

template <class Key, class Value>
class GrowingMap {
 public:
  GrowingMap() = default;
  GrowingMap(const GrowingMap&) = delete;
  GrowingMap& operator=(const GrowingMap&) = delete;
  ~GrowingMap() {
    for (const Node* node = newest_.load(std::memory_order_acquire); node;) delete std::exchange(node, node->older);
  }
  /// Null if there is none. The value lives as long as the map.
  const Value* find(const Key& key) const noexcept {
    const Node* node = newest_.load(std::memory_order_acquire);
    while (node && !(node->key == key)) node = node->older;
    return node ? &node->value : nullptr;
  }
  /// For a key that is not there.
  const Value& add(Key key, Value value) {
    const auto* node = new Node{std::move(key), std::move(value), newest_.load(std::memory_order_relaxed)};
    newest_.store(node, std::memory_order_release);
    return node->value;
  }

 private:
  struct Node {
    Key key;
    Value value;
    const Node* older;
  };
  std::atomic<const Node*> newest_{nullptr};
};

}  // namespace reel::ops
