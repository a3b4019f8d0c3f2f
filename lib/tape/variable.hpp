// Access to the values of variables for the layers above.
#pragma once
#include <reel/tape.hpp>
#include <span>
#include <string>
#include <type_traits>

namespace reel {

struct VariableAccess {
  /// The state of a new variable.
  static Variable::State* make(Tensor value, std::string name, bool trainable);
  /// The id of the next new variable.
  static std::uint64_t next_id() noexcept;
  /// Notes that the optimiser whose number is the value of this variable has been destroyed.
  static void abandon(const Variable& number) noexcept;
  /// Makes `state`, of an optimiser with this number, abandoned as soon as the number is.
  static void belongs_to(const Variable& state, const Variable& number);
  /// Whether the optimiser that the variable belongs to has been destroyed: nobody outside of traces reads it again.
  static bool abandoned(const Variable& v) noexcept;
  /// A parameter of a traced function, in place of v: of its dtype, shape and name, with this abstract value. Reads and
  /// assigns that no trace handles are a TraceError.
  static Variable stand_in(const Variable& v, Tensor value);
  static bool stands_in(const Variable& v) noexcept;
  /// The id by which state of the variable is kept. Of a parameter it is a TraceError, and notes that the function
  /// depends on which variable it is given.
  static std::uint64_t state_key(const Variable& v);
  /// Notes that the function depends on the order in which these were constructed.
  static void note_order(std::span<const Variable> list) noexcept;
  /// Whether one of these was noted of the parameter, or its name was read.
  static bool identified(const Variable& v) noexcept;
  /// Swaps the values of several variables, by ascending id, with these. False, and nothing changes, if a variable has
  /// another value than the one that was `read` of it; an empty handle stands for any value.
  static bool exchange(std::span<const Variable> variables, std::span<const Tensor> read,
                       std::span<Tensor> values) noexcept;
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
