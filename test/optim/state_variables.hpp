// The state and options of SGD and Adam, as variables.
#pragma once
#include <reel/optim.hpp>
#include <vector>

#include "optim/state.hpp"

namespace support {

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
