// Chains of a program: neighbouring steps that cost little are one step, which keeps values in registers
// (kernels/chains.hpp).
#pragma once
#include <vector>

#include "kernels/chains.hpp"
#include "loops/program/graph.hpp"

namespace reel::loops {

/// A node as instructions of a chain: load a, compute; or load b, compute_swapped. A function is chained only if the
/// instructions give the bits of its own loop. compute_swapped may give a NaN of two NaN operands other bits.
struct ChainParts {
  bool chained = false;
  bool swaps = false;    // compute_swapped exists
  bool doubles = false;  // a is doubled first
  kernels::ChainOp compute{}, compute_swapped{};
  std::int32_t a = -1, b = -1;  // operands; b: -1 if there is none

  /// Whether the node reads the value as the accumulator, if that is what the accumulator holds.
  bool takes(std::int32_t value) const { return chained && (a == value || (b == value && swaps)); }
};
ChainParts chain_parts(const Node& node);

/// The graph with chained nodes in an order that needs fewer loads and stores. Others keep their places among all.
Graph order_chains(const Graph& graph);

/// Writes the code of one chain.
class ChainWriter {
 public:
  explicit ChainWriter(std::vector<kernels::ChainInstruction>& code) : code_(code) {}
  /// Computes `node`, whose parts these are. operand(x) is the number of x's operand. The result is in the accumulator.
  template <class Operand>
  void compute(std::int32_t node, const ChainParts& parts, const Operand& operand) {
    const bool swap = parts.a != held_ && parts.b == held_ && parts.swaps && held_ >= 0;
    if (!swap && parts.a != held_) add(kernels::ChainOp::load, operand(parts.a));
    if (parts.doubles) add(kernels::ChainOp::twice, 0);
    const std::int32_t other = swap ? parts.a : parts.b;
    add(swap ? parts.compute_swapped : parts.compute, other < 0 ? 0 : operand(other));
    held_ = node;
  }
  void store(std::int32_t operand) { add(kernels::ChainOp::store, operand); }

 private:
  void add(kernels::ChainOp op, std::int32_t operand) { code_.push_back({op, static_cast<std::uint16_t>(operand)}); }
  std::vector<kernels::ChainInstruction>& code_;
  std::int32_t held_ = -1;  // the node in the accumulator
};

}  // namespace reel::loops
