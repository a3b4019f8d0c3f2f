// Adagrad: gradients divided by the root of the sum of their squares.
#pragma once
#include "optim/step.hpp"

namespace reel::optim {
namespace {  // optimizers.cpp alone includes it

struct AdagradFormula {
  static constexpr const char* name = "Adagrad";
  using Options = AdagradOptions;
  static constexpr std::array state{"sum"};
  static auto compute(const auto& o, const auto&) {
    return std::array{number_of(o.learning_rate), number_of(o.epsilon)};
  }
  static auto apply(auto x, auto g, auto n) {
    x[1] = x[1] + square(g);
    x[0] = x[0] - g * n[0] / (sqrt(x[1]) + n[1]);
    return x;
  }
};

}  // namespace
}  // namespace reel::optim
