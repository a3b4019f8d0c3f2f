// The solution of a differential equation as a differentiable function of both times.
#pragma once
#include "ode/stages.hpp"

namespace reel::autodiff {

/// The solution at time `to` that is y at time `from`, as one entry of the tapes. Its derivatives are solutions of the
/// equations of tangents and of cotangents, and so are theirs. At equal times its value is y, and only derivatives of
/// f are computed.
Tensor flow(const Ode& ode, const OdeOptions& options, const Tensor& y, const Tensor& from, const Tensor& to);

}  // namespace reel::autodiff
