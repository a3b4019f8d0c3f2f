// The search for the steps of a solution.
#pragma once
#include "ode/stages.hpp"

namespace reel::autodiff {

struct TakenStep {
  double start, length, end;
};
/// Takes an accepted step from y; false ends the search.
using StepSink = Callback<bool(const Tensor& y, const TakenStep& taken, const StepResult& step)>;

/// Passes accepted steps to the sink, until one ends at the time `to` or the sink returns false. The state at the end
/// of the last one. It keeps no earlier step.
Tensor find_steps(const Ode& ode, const Tensor& y, double from, double to, const OdeOptions& options,
                  const StepSink& accepted);

}  // namespace reel::autodiff
