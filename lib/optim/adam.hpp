// Adam, and AdamW, whose decay of the weights is apart from the gradient.
#pragma once
#include "optim/step.hpp"

namespace reel::optim {
namespace {  // optimizers.cpp alone includes it

// Numbers: the decay of the mean and 1 minus it; those of the mean of squares; the rate and the factor of the mean of
// squares, both corrected for the start at zero; epsilon.
struct AdamFormula {
  static constexpr const char* name = "Adam";
  using Options = AdamOptions;
  static constexpr std::array state{"mean", "square"};
  static constexpr bool counts_steps = true;
  static auto compute(const auto& o, const auto& t) {
    using std::pow;
    const auto rate = number_of(o.learning_rate), beta1 = number_of(o.beta1), beta2 = number_of(o.beta2);
    return std::array{
        beta1, 1 - beta1, beta2, 1 - beta2, rate / (1 - pow(beta1, t)), 1 / (1 - pow(beta2, t)), number_of(o.epsilon)};
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
  static auto compute(const auto& o, const auto& t) {
    const auto n = AdamFormula::compute(o, t);
    return std::array{n[0], n[1], n[2], n[3],
                      n[4], n[5], n[6], 1 - number_of(o.learning_rate) * number_of(o.weight_decay)};
  }
  static auto apply(auto x, auto g, auto n) {
    x[1] = x[1] * n[0] + g * n[1];
    x[2] = x[2] * n[2] + square(g) * n[3];
    x[0] = x[0] * n[7] - x[1] * n[4] / (sqrt(x[2] * n[5]) + n[6]);
    return x;
  }
};

}  // namespace
}  // namespace reel::optim
