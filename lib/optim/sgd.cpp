// Stochastic gradient descent, with momentum, also Nesterov's.
#include "optim/step.hpp"

namespace reel {

namespace {

struct Descent {
  static constexpr const char* name = "SGD";
  using Options = SGDOptions;
  static constexpr std::size_t options = 1;  // the rate alone
  static constexpr std::array<const char*, 0> state{};
  static std::array<double, 1> compute(const Options& o, std::int64_t) { return {o.learning_rate}; }
  static auto apply(auto x, auto g, auto n) {
    x[0] = x[0] - g * n[0];
    return x;
  }
};
struct Momentum {
  static constexpr const char* name = "SGD";
  using Options = SGDOptions;
  static constexpr std::array state{"velocity"};
  static std::array<double, 2> compute(const Options& o, std::int64_t) { return {o.learning_rate, o.momentum}; }
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

}  // namespace

SGD::SGD(const SGDOptions& o) : options(o) { optim::require("SGD", options); }

void SGD::step(std::span<const Gradient> gradients, std::span<const Variable> variables) {
  if (!ops::handled(ops::writes_variables)) optim::require("SGD", options);
  const tape::Suspend suspended;
  const detail::List<optim::Part> parts = optim::checked_parts("SGD", gradients, variables);
  const optim::NamedOption rate{&options.learning_rate, "learning_rate"}, decay{&options.momentum, "momentum"};
  // The choice of the formula is not an effect: a traced program has it fixed.
  if (!(OptimizerAccess::peek(options.momentum) > 0))
    optim::step_all<Descent>(parts, variables, {rate}, [](const Variable&) { return optim::VariableState<0>{}; });
  else if (options.nesterov)
    optim::step_all<Nesterov>(parts, variables, {rate, decay}, optim::memory_in(states_));
  else
    optim::step_all<Momentum>(parts, variables, {rate, decay}, optim::memory_in(states_));
}

void SGD::forget(const Variable& variable) { states_.erase(VariableAccess::state_key(variable)); }

}  // namespace reel
