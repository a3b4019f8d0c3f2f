// Chains: cheap pointwise functions computed one after the other on a few vectors at a time. The result of each stays
// in registers for the next one, and reaches memory only if another function reads it. loops/program/chain.cpp writes
// the code.
#pragma once
#include <cstddef>
#include <cstdint>

#include "kernels/loop.hpp"

namespace reel::kernels {

// What an instruction does with the accumulator a and its operand m, in the order of their numbers: a = m, m = a,
// a + m, a - m, m - a, a * m, a / m, m / a, -a, a + a, a * a.
#define REEL_CHAIN_OPS(f) \
  f(load) f(store) f(add) f(subtract) f(subtract_from) f(multiply) f(divide) f(divide_into) f(negate) f(twice) f(square)

enum class ChainOp : std::uint16_t {
#define REEL_CHAIN_ENUMERATOR(name) name,
  REEL_CHAIN_OPS(REEL_CHAIN_ENUMERATOR)
#undef REEL_CHAIN_ENUMERATOR
};
inline constexpr std::size_t chain_op_count = static_cast<std::size_t>(ChainOp::square) + 1;

struct ChainInstruction {
  ChainOp op;
  std::uint16_t operand;
};

/// The most operands of a chain, and bytes of the memory of one that stays in the first-level cache: a group of
/// vectors.
inline constexpr std::size_t chain_operands = 32, chain_slot_bytes = 512;
/// The most instructions: a function, whose result is also an operand, takes at most four.
inline constexpr std::size_t chain_instructions = 4 * chain_operands;

/// Runs the code on whole groups of vectors among the first n elements, n >= 0, and returns the number of these
/// elements. Operands have strides 0 and 1; -1 stands for an intermediate value, in memory of chain_slot_bytes. Those
/// that are stored have stride 1 or -1, and overlap others as the out of a Loop does. `slots` is memory of
/// chain_slot_bytes for each operand, for those of stride 0.
using ChainLoop = std::ptrdiff_t (*)(const ChainInstruction* code, std::size_t count, const Strided* operand,
                                     std::size_t operands, std::ptrdiff_t n, void* slots);

}  // namespace reel::kernels
