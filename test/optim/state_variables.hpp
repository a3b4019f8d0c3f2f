// SGD and Adam: each of their formulas, and their state and options as variables.
#pragma once
#include <reel/optim.hpp>
#include <vector>

#include "optim/optimizer_state.hpp"

namespace support {

/// Calls check(optimizer) for each formula.
template <class Check>
void for_each_optimizer(const Check& check) {
  check(reel::SGD({.learning_rate = 0.125}));
  check(reel::SGD({.learning_rate = 0.125, .momentum = 0.75}));
  check(reel::SGD({.learning_rate = 0.125, .momentum = 0.75, .nesterov = true}));
  check(reel::Adam({.learning_rate = 0.125}));
}

/// The state for v, and the options, as variables: the first call converts them.
inline std::vector<reel::Variable> variables_of(reel::SGD& sgd, const reel::Variable& v) {
  using Access = reel::OptimizerAccess;
  return {Access::velocity(sgd, v), Access::variable(sgd.options.learning_rate, "learning_rate"),
          Access::variable(sgd.options.momentum, "momentum")};
}
inline std::vector<reel::Variable> variables_of(reel::Adam& adam, const reel::Variable& v) {
  using Access = reel::OptimizerAccess;
  return {Access::mean(adam, v),
          Access::square(adam, v),
          Access::steps(adam, v),
          Access::variable(adam.options.learning_rate, "learning_rate"),
          Access::variable(adam.options.beta1, "beta1"),
          Access::variable(adam.options.beta2, "beta2"),
          Access::variable(adam.options.epsilon, "epsilon")};
}

}  // namespace support
