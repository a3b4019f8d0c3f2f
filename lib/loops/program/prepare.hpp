// Preparation of programs for callers whose first run must not allocate.
#pragma once
#include "loops/program/program.hpp"

namespace reel::loops {

/// Makes what the first run on one element of each dtype would allocate.
void prepare_single_elements(const Code& code);

}  // namespace reel::loops
