// Access to the state of optimisers as Variables, which a program reads and assigns when it runs. Until a program asks
// for them, they are plain tensors and numbers, so that an eager step takes no lock for them.
#pragma once
#include <reel/optim/least_squares.hpp>
#include <reel/optim/optimizers.hpp>
#include <type_traits>

#include "core/block.hpp"
#include "ops/index/rows.hpp"
#include "tape/variable.hpp"

namespace reel {

/// The dtype of the optimiser's state of a variable. float32 for float16 and bfloat16: squares of gradients below 2e-4
/// underflow in float16.
constexpr DType kept_dtype(DType of) noexcept {
  return of == DType::float16 || of == DType::bfloat16 ? DType::float32 : of;
}

/// The options of all optimisers that are numbers, each with its domain.
// clang-format off
#define REEL_HYPERPARAMETERS(F) \
  F(learning_rate, rate) F(momentum, decay) F(beta1, decay) F(beta2, decay) F(rho, decay) F(epsilon, not_negative) \
  F(weight_decay, not_negative)
// clang-format on

/// The values that an option may have.
enum class OptionDomain : std::uint8_t { rate, decay, not_negative, choice };

struct OptimizerAccess {
  /// The variable behind a number of the options: float64, []. The first call makes it.
  static const Variable& variable(Hyperparameter& number, const char* name) { return made(number, name); }
  /// The Variables behind an optimiser's state of a variable; zeros when the optimiser has not stepped it yet. The
  /// first call makes them.
  static const Variable& velocity(SGD& sgd, const Variable& of);
  static const Variable& mean(Adam& adam, const Variable& of);
  static const Variable& square(Adam& adam, const Variable& of);
  static const Variable& steps(Adam& adam, const Variable& of);  // int64, []
  /// The Variable behind a number or a tensor of the state; made if there is none.
  template <class T>
  static const Variable& made(detail::StateNumber<T>& number, const char* name);
  static const Variable& made(detail::StateTensor& state, const Variable& of, const char* name);

  /// Calls f(name, option, domain) for each of an optimiser's options.
  template <class Options, class F>
  static constexpr void for_each_option(Options& options, F&& f) {
#define REEL_OPTION(name, domain) \
  if constexpr (requires { options.name; }) f(#name, options.name, OptionDomain::domain);
    REEL_HYPERPARAMETERS(REEL_OPTION)
    REEL_OPTION(nesterov, choice)
#undef REEL_OPTION
  }
  /// How many of them are numbers.
  template <class Options>
  static constexpr std::size_t number_of_options() {
    Options options;
    std::size_t count = 0;
    for_each_option(options, [&]<class Option>(const char*, const Option&, OptionDomain) {
      count += std::is_same_v<Option, Hyperparameter>;
    });
    return count;
  }
  /// The state of each variable, by its id.
  template <class Optimizer>
  static auto& states(Optimizer& optimizer) {
    return optimizer.states_;
  }
  /// Calls f(name, part) for each part of the state of one variable.
  template <class State, class F>
  static void for_each_part(State& state, F&& f) {
    if constexpr (std::is_same_v<std::remove_const_t<State>, detail::StateTensor>) {
      f("state", state);
    } else {
      f("mean", state.mean);
      f("square", state.square);
      f("steps", state.steps);
    }
  }
  /// The tensor now; empty when there has been no step.
  static Tensor value(const detail::StateTensor& state);
  /// Whether a program has made a Variable of it.
  static bool has_variable(const detail::StateTensor& state) { return state.variable_.has_value(); }
  /// Replaces the tensor; an empty one is allowed while there is no Variable.
  static void set(detail::StateTensor& state, const Tensor& value) {
    modify(state, [&](Tensor& old) { old = value; });
  }
  /// Replaces the number, without an allocation: `fresh`, contiguous, holds it for the Variable, if there is one.
  template <class T>
  static void set(detail::StateNumber<T>& number, T value, const Tensor& fresh) {
    number.value_ = value;
    if (number.variable_) VariableAccess::modify(*number.variable_, [&](Tensor& old) { old = fresh; });
  }

  /// The current number, ignoring handlers of effects.
  static double peek(const Hyperparameter& number);
  /// The same as a tensor of rank 0.
  template <class T>
  static Tensor value(const detail::StateNumber<T>& number);

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

namespace optim {

/// ValueError for `op` unless the option is in its domain.
void require_option(const char* op, const char* name, double value, OptionDomain domain);
/// The same for all options that are numbers.
template <class Options>
void require(const char* op, const Options& options) {
  OptimizerAccess::for_each_option(options,
                                   [op]<class Option>(const char* name, const Option& option, OptionDomain domain) {
                                     if constexpr (std::is_same_v<Option, Hyperparameter>)
                                       require_option(op, name, option, domain);
                                   });
}

}  // namespace optim

}  // namespace reel
