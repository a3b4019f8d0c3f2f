// Optimisers by gradient descent: a formula each, and the members that call it. One source, because each would get
// copies of its own of what the formulas share: 80 KB.
#include "optim/step.hpp"

namespace reel {

// The members of an optimiser of one formula.
#define REEL_OPTIMIZER(Name)                                                                        \
  Name::Name(const Name##Options& o) : options(o) { optim::require(Name##Formula::name, options); } \
  void Name::step(std::span<const Gradient> gradients, std::span<const Variable> variables) {       \
    optim::step_by<Name##Formula>(options, states_, gradients, variables);                          \
  }                                                                                                 \
  void Name::forget(const Variable& variable) { states_.erase(VariableAccess::state_key(variable)); }

// ---- Stochastic gradient descent, with momentum, also Nesterov's

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

// ---- Adam, and AdamW, whose decay of the weights is apart from the gradient

namespace {

// Numbers: the decay of the mean and 1 minus it; those of the mean of squares; the rate and the factor of the mean of
// squares, both corrected for the start at zero; epsilon.
struct AdamFormula {
  static constexpr const char* name = "Adam";
  using Options = AdamOptions;
  static constexpr std::array state{"mean", "square"};
  static constexpr bool counts_steps = true;
  static std::array<double, 7> compute(const Options& o, std::int64_t step) {
    const double rate = o.learning_rate, beta1 = o.beta1, beta2 = o.beta2, t = static_cast<double>(step);
    return {beta1,    1 - beta1, beta2, 1 - beta2, rate / (1 - std::pow(beta1, t)), 1 / (1 - std::pow(beta2, t)),
            o.epsilon};
  }
  static auto apply(auto x, auto g, auto n) {
    x[1] = x[1] * n[0] + g * n[1];
    x[2] = x[2] * n[2] + square(g) * n[3];
    x[0] = x[0] - x[1] * n[4] / (sqrt(x[2] * n[5]) + n[6]);
    return x;
  }
};
// The last number is what the decay leaves of the value.
struct AdamWFormula : AdamFormula {
  static constexpr const char* name = "AdamW";
  using Options = AdamWOptions;
  static std::array<double, 8> compute(const Options& o, std::int64_t step) {
    const auto n = AdamFormula::compute({o.learning_rate, o.beta1, o.beta2, o.epsilon}, step);
    return {n[0], n[1], n[2], n[3], n[4], n[5], n[6], 1 - o.learning_rate * o.weight_decay};
  }
  static auto apply(auto x, auto g, auto n) {
    x[1] = x[1] * n[0] + g * n[1];
    x[2] = x[2] * n[2] + square(g) * n[3];
    x[0] = x[0] * n[7] - x[1] * n[4] / (sqrt(x[2] * n[5]) + n[6]);
    return x;
  }
};

}  // namespace

REEL_OPTIMIZER(Adam)
REEL_OPTIMIZER(AdamW)

// ---- RMSProp

namespace {

struct RMSPropFormula {
  static constexpr const char* name = "RMSProp";
  using Options = RMSPropOptions;
  static constexpr std::array state{"square"};
  static std::array<double, 4> compute(const Options& o, std::int64_t) {
    return {o.learning_rate, o.rho, 1 - o.rho, o.epsilon};
  }
  static auto apply(auto x, auto g, auto n) {
    x[1] = x[1] * n[1] + square(g) * n[2];
    x[0] = x[0] - g * n[0] / (sqrt(x[1]) + n[3]);
    return x;
  }
};

}  // namespace

REEL_OPTIMIZER(RMSProp)

// ---- Adagrad

namespace {

struct AdagradFormula {
  static constexpr const char* name = "Adagrad";
  using Options = AdagradOptions;
  static constexpr std::array state{"sum"};
  static std::array<double, 2> compute(const Options& o, std::int64_t) { return {o.learning_rate, o.epsilon}; }
  static auto apply(auto x, auto g, auto n) {
    x[1] = x[1] + square(g);
    x[0] = x[0] - g * n[0] / (sqrt(x[1]) + n[1]);
    return x;
  }
};

}  // namespace

REEL_OPTIMIZER(Adagrad)

// ---- Lion: the sign of a mean of gradients

namespace {

struct LionFormula {
  static constexpr const char* name = "Lion";
  using Options = LionOptions;
  static constexpr std::array state{"mean"};
  static std::array<double, 6> compute(const Options& o, std::int64_t) {
    return {o.learning_rate, o.beta1, 1 - o.beta1, o.beta2, 1 - o.beta2, 1 - o.learning_rate * o.weight_decay};
  }
  static auto apply(auto x, auto g, auto n) {
    x[0] = x[0] * n[5] - sign(x[1] * n[1] + g * n[2]) * n[0];
    x[1] = x[1] * n[3] + g * n[4];
    return x;
  }
};

}  // namespace

REEL_OPTIMIZER(Lion)

}  // namespace reel
