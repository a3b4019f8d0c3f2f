// The choice of an instruction set, for the runtime; see kernels.hpp for what the layers above use.
#pragma once
#include <string>
#include <vector>

#include "kernels/kernels.hpp"

namespace reel::kernels {

/// The sets that are compiled in and that this machine supports, the best first.
std::vector<const Set*> supported_sets();
/// Their names: "avx2, sse2, scalar".
std::string available();
/// Makes this set the one that active() gives; a REEL_ISA that could not be followed is forgotten.
void activate(const Set& set) noexcept;
/// Whether the processor is one of Intel's.
bool is_intel() noexcept;

}  // namespace reel::kernels
