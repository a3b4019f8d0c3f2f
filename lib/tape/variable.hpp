// How the layers above read and replace the values of variables.
#pragma once
#include <reel/tape.hpp>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace reel {

/// While it lives, this thread reads these variables as these values: a function that is run again for its derivative
/// sees what it saw the first time, whatever was assigned since.
class FrozenReads {
 public:
  FrozenReads(std::span<const Variable> variables, std::span<const Tensor> values);
  FrozenReads(const FrozenReads&) = delete;
  FrozenReads& operator=(const FrozenReads&) = delete;
  ~FrozenReads();
  /// The value to read, null when the variable is not frozen on this thread.
  static Tensor* find(const Variable& variable) noexcept;

 private:
  std::vector<std::pair<std::uint64_t, Tensor>> values_;  // by Variable::id()
  FrozenReads* below_;
};

struct VariableAccess {
  /// For each tape of this thread: the variable's value `id` is read. Called under the variable's lock.
  static void on_read(const Variable& v, Tensor& value);
  /// Replaces the value by combine(value, delta), in its own memory if nobody else holds it. Not recorded.
  static void update(const Variable& v, const char* op, Tensor (*combine)(Tensor&&, const Tensor&),
                     const Tensor& delta);
  /// Lets `change` replace the value, under the variable's lock, by one of the same shape and dtype. Not recorded.
  template <class F>
  static void modify(const Variable& v, const char* op, F&& change) {
    modify(
        v, op, [](void* f, Tensor& value) { (*static_cast<std::remove_reference_t<F>*>(f))(value); }, &change);
  }
  static void modify(const Variable& v, const char* op, void (*change)(void* context, Tensor& value), void* context);
};

}  // namespace reel
