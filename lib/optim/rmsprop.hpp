// RMSProp: gradients divided by the root of a mean of their squares.
#pragma once
#include "optim/step.hpp"

namespace reel::optim {
namespace {  // optimizers.cpp alone includes it

struct RMSPropFormula {
  static constexpr const char* name = "RMSProp";
  using Options = RMSPropOptions;
  static constexpr std::array state{"square"};
  static auto compute(const auto& o, const auto&) {
    const auto rho = number_of(o.rho);
    return std::array{number_of(o.learning_rate), rho, 1 - rho, number_of(o.epsilon)};
  }
  static auto apply(auto x, auto g, auto n) {
    x[1] = x[1] * n[1] + square(g) * n[2];
    x[0] = x[0] - g * n[0] / (sqrt(x[1]) + n[3]);
    return x;
  }
};

}  // namespace
}  // namespace reel::optim
