// The members of optimisers by gradient descent, whose formulas have a header each. One source, because each would get
// copies of its own of what the formulas share: 80 KB.
#include "optim/adagrad.hpp"
#include "optim/adam.hpp"
#include "optim/lion.hpp"
#include "optim/rmsprop.hpp"
#include "optim/sgd.hpp"

namespace reel {

// The members of an optimiser of one formula.
#define REEL_OPTIMIZER(Name)                                                                               \
  Name::Name(const Name##Options& o) : options(o) { optim::require(optim::Name##Formula::name, options); } \
  void Name::step(std::span<const Gradient> gradients, std::span<const Variable> variables) {              \
    optim::step_by<optim::Name##Formula>(options, states_, gradients, variables);                          \
  }                                                                                                        \
  void Name::forget(const Variable& variable) { states_.erase(VariableAccess::state_key(variable)); }

SGD::SGD(const SGDOptions& o) : options(o) { optim::require("SGD", options); }

void SGD::step(std::span<const Gradient> gradients, std::span<const Variable> variables) {
  if (!ops::handled(ops::writes_variables)) optim::require("SGD", options);
  const tape::Suspend suspended;
  const detail::List<optim::Part> parts = optim::checked_parts("SGD", gradients, variables);
  const optim::NamedOption rate{&options.learning_rate, "learning_rate"}, decay{&options.momentum, "momentum"};
  // The choice of the formula is not an effect: a traced program has it fixed.
  if (!(OptimizerAccess::peek(options.momentum) > 0))
    optim::step_all<optim::PlainDescent>(parts, variables, {rate},
                                         [](const Variable&) { return optim::VariableState<0>{}; });
  else if (options.nesterov)
    optim::step_all<optim::Nesterov>(parts, variables, {rate, decay}, optim::memory_in(states_));
  else
    optim::step_all<optim::Momentum>(parts, variables, {rate, decay}, optim::memory_in(states_));
}

void SGD::forget(const Variable& variable) { states_.erase(VariableAccess::state_key(variable)); }

REEL_OPTIMIZER(Adam)
REEL_OPTIMIZER(AdamW)
REEL_OPTIMIZER(RMSProp)
REEL_OPTIMIZER(Adagrad)
REEL_OPTIMIZER(Lion)

}  // namespace reel
