// Access to the values of variables for the layers above.
#pragma once
#include <reel/tape.hpp>
#include <string>
#include <type_traits>

namespace reel {

struct VariableAccess {
  /// The state of a new variable.
  static Variable::State* make(Tensor value, std::string name, bool trainable);
  /// The value; counts as a read for each tape of this thread.
  static Tensor read(const Variable& v);
  /// Notes for each tape of this thread that `value`, which no other thread sees meanwhile, was read of the variable.
  static void on_read(const Variable& v, Tensor& value);
  /// Lets `change` replace the value, under the variable's lock, by one of the same shape and dtype. `change` must not
  /// run recorded ops.
  template <class F>
  static void modify(const Variable& v, F&& change) {
    modify(
        v, [](void* f, Tensor& value) { (*static_cast<std::remove_reference_t<F>*>(f))(value); }, &change);
  }
  static void modify(const Variable& v, void (*change)(void* context, Tensor& value), void* context);
};

}  // namespace reel
