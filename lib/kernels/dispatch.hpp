// The choice of an instruction set, for the runtime. set.hpp has what the layers above use.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/set.hpp"

namespace reel::kernels {

/// The instruction sets that are compiled in and that this machine supports, the best first.
std::vector<const Set*> supported_sets();
/// Their names: "avx2, sse2, scalar".
std::string available();
/// Makes active() return this set; an earlier error about REEL_ISA is dropped.
void activate(const Set& set) noexcept;
/// Who made the processor. It decides which products and factorisations the library computes itself and which BLAS and
/// LAPACK do.
enum class Vendor : std::uint8_t { intel, amd, other };
Vendor vendor() noexcept;
/// Whose tables of these choices are used: vendor(), or the maker that the environment variable REEL_TABLES names,
/// "intel", "amd" or "other". The variable is for tests: it lets a machine take the choices of another.
Vendor tables() noexcept;

}  // namespace reel::kernels
