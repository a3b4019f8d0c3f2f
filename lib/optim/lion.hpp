// Lion: the sign of a mean of gradients.
#pragma once
#include "optim/step.hpp"

namespace reel::optim {
namespace {  // optimizers.cpp alone includes it

struct LionFormula {
  static constexpr const char* name = "Lion";
  using Options = LionOptions;
  static constexpr std::array state{"mean"};
  static auto compute(const auto& o, const auto&) {
    const auto rate = number_of(o.learning_rate), beta1 = number_of(o.beta1), beta2 = number_of(o.beta2);
    return std::array{rate, beta1, 1 - beta1, beta2, 1 - beta2, 1 - rate * number_of(o.weight_decay)};
  }
  static auto apply(auto x, auto g, auto n) {
    x[0] = x[0] * n[5] - sign(x[1] * n[1] + g * n[2]) * n[0];
    x[1] = x[1] * n[3] + g * n[4];
    return x;
  }
};

}  // namespace
}  // namespace reel::optim
