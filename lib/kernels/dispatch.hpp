// The choice of an instruction set, for the runtime. kernels.hpp has what the layers above use.
#pragma once
#include <string>
#include <vector>

#include "kernels/kernels.hpp"

namespace reel::kernels {

/// The instruction sets that are compiled in and that this machine supports, the best first.
std::vector<const Set*> supported_sets();
/// Their names: "avx2, sse2, scalar".
std::string available();
/// Makes active() return this set; an earlier error about REEL_ISA is dropped.
void activate(const Set& set) noexcept;
/// Who made the processor: the choice between kernels for one instruction set can depend on it.
enum class Vendor : std::uint8_t { intel, amd, other };
Vendor vendor() noexcept;

}  // namespace reel::kernels
