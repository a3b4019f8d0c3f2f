// Adagrad.
#include "optim/step.hpp"

namespace reel {

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

Adagrad::Adagrad(const AdagradOptions& o) : options(o) { optim::require(AdagradFormula::name, options); }
void Adagrad::step(std::span<const Gradient> gradients, std::span<const Variable> variables) {
  optim::step_by<AdagradFormula>(options, states_, gradients, variables);
}
void Adagrad::forget(const Variable& variable) { states_.erase(VariableAccess::state_key(variable)); }

}  // namespace reel
