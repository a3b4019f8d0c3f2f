// RMSProp.
#include "optim/step.hpp"

namespace reel {

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

RMSProp::RMSProp(const RMSPropOptions& o) : options(o) { optim::require(RMSPropFormula::name, options); }
void RMSProp::step(std::span<const Gradient> gradients, std::span<const Variable> variables) {
  optim::step_by<RMSPropFormula>(options, states_, gradients, variables);
}
void RMSProp::forget(const Variable& variable) { states_.erase(VariableAccess::state_key(variable)); }

}  // namespace reel
