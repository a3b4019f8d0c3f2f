// What optimisers keep, reachable as variables, which a program reads and assigns when it runs. Until one asks, they
// are plain tensors and numbers, so that a step of an optimiser alone takes no lock for them.
#pragma once
#include <reel/optim.hpp>

#include "tape/variable.hpp"

namespace reel {

struct OptimizerAccess {
  /// The variable behind a number of the options: float64, []. The first call makes it.
  static const Variable& variable(Hyperparameter& number, const char* name);
  /// The variables behind what is kept of a variable, zeros when the optimiser has not met it. The first call makes
  /// them.
  static const Variable& velocity(SGD& sgd, const Variable& of);
  static const Variable& mean(Adam& adam, const Variable& of);
  static const Variable& square(Adam& adam, const Variable& of);
  static const Variable& steps(Adam& adam, const Variable& of);  // int64, []

  /// Lets `change` replace the tensor, which is empty before the first step.
  template <class F>
  static void modify(detail::StateTensor& state, F&& change) {
    if (state.variable_) [[unlikely]]
      VariableAccess::modify(*state.variable_, change);
    else
      change(state.value_);
  }
  /// Lets the next assignment ask for no memory.
  template <class T>
  static void make_writable(detail::StateNumber<T>& number) {
    if (number.variable_) [[unlikely]]
      number.write(number.read());
  }

 private:
  template <class T>
  static const Variable& made(detail::StateNumber<T>& number, const char* name);
  static const Variable& made(detail::StateTensor& state, const Variable& of, const char* name);
};

}  // namespace reel
