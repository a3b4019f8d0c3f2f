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
}  // namespace reel::optim
