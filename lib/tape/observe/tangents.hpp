// What a jvp returns, checked against the results of its entry.
#pragma once
#include <span>

#include "tape/record.hpp"

namespace reel::tape {

/// ShapeError or TypeError for a tangent that does not have the shape or dtype of its result: it would be read as what
/// it is not. A user's jvp is checked always, the library's in debug builds.
void check_tangents(const Rule& rule, const Record& record, std::span<const Tensor> dy);

}  // namespace reel::tape
