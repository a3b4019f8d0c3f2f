// Adagrad: gradients divided by the root of the sum of their squares.
#pragma once
#include "optim/step.hpp"

namespace reel::optim {
namespace {  // optimizers.cpp alone includes it

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
}  // namespace reel::optim
