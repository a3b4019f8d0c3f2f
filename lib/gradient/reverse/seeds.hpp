// The cotangents that a replay starts with.
#pragma once
#include "gradient/gradient.hpp"

namespace reel::autodiff {

/// One cotangent per target: the given one, or ones. TypeError and ShapeError for `op` if a given one does not fit.
Gradients seeds(const char* op, std::span<const Target> targets, const GradientOptions& o, const VSpace& space);

}  // namespace reel::autodiff
