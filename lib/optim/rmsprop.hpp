// RMSProp: gradients divided by the root of a mean of their squares.
#pragma once
#include "optim/step.hpp"

namespace reel::optim {
namespace {  // optimizers.cpp alone includes it

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
}  // namespace reel::optim
