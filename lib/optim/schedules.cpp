// Learning rates by step.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <reel/optim/least_squares.hpp>
#include <reel/optim/optimizers.hpp>

#include "core/fail.hpp"

namespace reel {
namespace {

void require_positive(const char* op, const char* name, std::int64_t value) {
  if (value < 1) fail<ValueError>(op, "{} is {}, must be positive", name, value);
}

// The fraction of the steps that is done, in [0, 1].
double share(std::int64_t step, std::int64_t steps) {
  return std::clamp(static_cast<double>(step) / static_cast<double>(steps), 0., 1.);
}

}  // namespace

double warm_up(std::int64_t step, std::int64_t steps, double rate) {
  require_positive("warm_up", "steps", steps);
  return rate * share(step, steps);
}

double cosine_decay(std::int64_t step, std::int64_t steps, double first, double last) {
  require_positive("cosine_decay", "steps", steps);
  return last + (first - last) * (1 + std::cos(std::numbers::pi * share(step, steps))) / 2;
}

double step_decay(std::int64_t step, std::int64_t every, double first, double factor) {
  require_positive("step_decay", "every", every);
  return first * std::pow(factor, static_cast<double>(std::max<std::int64_t>(step, 0) / every));
}

}  // namespace reel
