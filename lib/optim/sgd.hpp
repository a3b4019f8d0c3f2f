// Stochastic gradient descent, with momentum, also Nesterov's.
#pragma once
#include "optim/step.hpp"

namespace reel::optim {
namespace {  // optimizers.cpp alone includes it

struct PlainDescent {
  static constexpr const char* name = "SGD";
  using Options = SGDOptions;
  static constexpr std::size_t options = 1;  // the rate alone
  static constexpr std::array<const char*, 0> state{};
  static auto compute(const auto& o, const auto&) { return std::array{number_of(o.learning_rate)}; }
  static auto apply(auto x, auto g, auto n) {
    x[0] = x[0] - g * n[0];
    return x;
  }
};
struct Momentum {
  static constexpr const char* name = "SGD";
  using Options = SGDOptions;
  static constexpr std::array state{"velocity"};
  static auto compute(const auto& o, const auto&) {
    return std::array{number_of(o.learning_rate), number_of(o.momentum)};
  }
  static auto apply(auto x, auto g, auto n) {
    x[1] = x[1] * n[1] + g;
    x[0] = x[0] - x[1] * n[0];
    return x;
  }
};
struct Nesterov : Momentum {
  static auto apply(auto x, auto g, auto n) {
    x[1] = x[1] * n[1] + g;
    x[0] = x[0] - (g + x[1] * n[1]) * n[0];
    return x;
  }
};

struct SGDFormula {
  static constexpr const char* name = "SGD";
  using Options = SGDOptions;
};

}  // namespace

// Of three formulas. The choice of one is not an effect: a traced program has it fixed.
template <>
void step_by<SGDFormula>(SGDOptions& options, detail::StateTensors& states, std::span<const Gradient> gradients,
                         std::span<const Variable> variables) {
  if (!ops::handled(ops::writes_variables)) require(SGDFormula::name, options);
  const tape::Suspend suspended;
  const detail::List<Part> parts = check_parts(SGDFormula::name, gradients, variables);
  const NamedOption rate{&options.learning_rate, "learning_rate"}, decay{&options.momentum, "momentum"};
  if (!(OptimizerAccess::peek(options.momentum) > 0))
    step_all<PlainDescent>(parts, variables, {rate}, [](const Variable&) { return VariableState<0>{}; });
  else if (options.nesterov)
    step_all<Nesterov>(parts, variables, {rate, decay}, memory_in(states));
  else
    step_all<Momentum>(parts, variables, {rate, decay}, memory_in(states));
}

}  // namespace reel::optim
