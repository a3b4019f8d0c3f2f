// Lion: the sign of a mean of gradients.
#pragma once
#include "optim/step.hpp"

namespace reel::optim {
namespace {  // optimizers.cpp alone includes it

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
}  // namespace reel::optim
