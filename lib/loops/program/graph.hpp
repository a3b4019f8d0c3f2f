// Graphs over the pointwise table: what a program computes for each element.
#pragma once
#include <array>
#include <bit>
#include <reel/tensor.hpp>
#include <vector>

#include "kernels/comparisons.hpp"

namespace reel::loops {

/// The kind of a node. A parameter is a number that each run passes; a literal is fixed by the program.
enum class Opcode : std::uint8_t {
  input,
  parameter,
  literal,
  value,
  derivative,
  comparison,
  predicate,
  logical,
  select,
  choice  // a select by a comparison, made by compilation: `function` is a kernels::Choice
};

/// The most operands of a node: g, x, y, w, z.
inline constexpr std::size_t node_operands = 5;

/// One instruction. Its operands are earlier nodes, in the order in which its kernel reads them; -1 for none.
/// Comparisons, predicates and logic give masks: booleans that only logic and the condition of a select read.
struct Node {
  Opcode opcode;
  std::uint8_t operand = 0;    // derivative: the operand by which it differentiates
  std::uint16_t function = 0;  // index in the pointwise table, or the Comparison, Predicate or Logical
  std::int32_t in[node_operands] = {
      -1, -1, -1, -1, -1};  // input, parameter: the first attribute is its index; literal: the bits of its double

  friend bool operator==(const Node& a, const Node& b) noexcept {
    using Words = std::array<std::uint64_t, 3>;
    const auto x = std::bit_cast<Words>(a), y = std::bit_cast<Words>(b);
    return ((x[0] ^ y[0]) | (x[1] ^ y[1]) | (x[2] ^ y[2])) == 0;
  }
};
Node literal(double value);
double literal_value(const Node& node);

struct Graph {
  std::int32_t inputs = 0;  // the first nodes, in order
  std::vector<Node> nodes;
  std::vector<std::int32_t> outputs;  // lanes, not masks
};

}  // namespace reel::loops
