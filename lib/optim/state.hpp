// What optimisers keep, reachable as variables, which a program reads and assigns when it runs. Until one asks, they
// are plain tensors and numbers, so that a step of an optimiser alone takes no lock for them.
#pragma once
#include <reel/optim.hpp>

#include "core/block.hpp"
#include "ops/index/rows.hpp"
#include "tape/variable.hpp"

namespace reel {

struct OptimizerAccess {
  /// The variable behind a number of the options: float64, []. The first call makes it.
  static const Variable& variable(Hyperparameter& number, const char* name) { return made(number, name); }
  /// The variables behind what is kept of a variable, zeros when the optimiser has not met it. The first call makes
  /// them.
  static const Variable& velocity(SGD& sgd, const Variable& of);
  static const Variable& mean(Adam& adam, const Variable& of);
  static const Variable& square(Adam& adam, const Variable& of);
  static const Variable& steps(Adam& adam, const Variable& of);  // int64, []
  /// The variable behind a number or a tensor kept of a variable; made if it is not there.
  template <class T>
  static const Variable& made(detail::StateNumber<T>& number, const char* name);
  static const Variable& made(detail::StateTensor& state, const Variable& of, const char* name);

  /// The number now, whatever a handler of effects would give.
  static double peek(const Hyperparameter& number);
  /// The same as a tensor.
  static Tensor value(const Hyperparameter& number);

  /// Lets `change` replace the tensor, which is empty before the first step.
  template <class F>
  static void modify(detail::StateTensor& state, F&& change) {
    if (state.variable_) [[unlikely]]
      VariableAccess::modify(*state.variable_, change);
    else
      change(state.value_);
  }
  /// Lets `change` replace the number as a tensor: the variable's value, or `scratch`.
  template <class T, class F>
  static void modify(detail::StateNumber<T>& number, Tensor& scratch, F&& change) {
    if (number.variable_) return VariableAccess::modify(*number.variable_, change);
    if (!detail::reusable(detail::block(scratch))) scratch = detail::empty(dtype_of<T>, {});
    *detail::mutable_data<T>(scratch) = number.value_;
    change(scratch);
    number.value_ = *detail::mutable_data<T>(scratch);
  }
};

}  // namespace reel
