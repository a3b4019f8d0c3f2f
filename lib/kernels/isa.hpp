// The instruction set of this translation unit. The build compiles the same source once for each set, with
// -DREEL_KERNEL_ISA=<name>, and localizes the symbols of its object, so that functions of the same name do not clash.
// Other sources, such as tests, are of the set "scalar".
#pragma once
#include "kernels/instruction_sets.hpp"

#ifndef REEL_KERNEL_ISA
#define REEL_KERNEL_ISA scalar
#endif

// REEL_OF_ISA(REEL_SLEEF_) is REEL_SLEEF_avx2 if this translation unit is compiled for avx2.
#define REEL_JOIN(a, b) a##b
#define REEL_JOIN_EXPANDED(a, b) REEL_JOIN(a, b)
#define REEL_OF_ISA(prefix) REEL_JOIN_EXPANDED(prefix, REEL_KERNEL_ISA)

namespace reel::kernels {

inline constexpr InstructionSet instruction_set = InstructionSet::REEL_KERNEL_ISA;

inline constexpr bool is_scalar = instruction_set == InstructionSet::scalar;

// Whether there is a fused multiply-add, so that fma(a, b, c) rounds once.
inline constexpr bool has_fma = !is_scalar && instruction_set != InstructionSet::sse2;

// Whether there are 32 vector registers: otherwise kernels count on 16.
inline constexpr bool many_registers = instruction_set == InstructionSet::avx512;

}  // namespace reel::kernels
