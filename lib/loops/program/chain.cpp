// Which nodes are chained, and as what.
#include "loops/program/chain.hpp"

#include "kernels/table.hpp"

namespace reel::loops {

namespace {

using kernels::ChainOp, kernels::index_of;

ChainParts unary(ChainOp op, std::int32_t a) { return {true, false, false, op, op, a, -1}; }

ChainParts binary(ChainOp op, ChainOp swapped, std::int32_t a, std::int32_t b) {
  if (a != b) return {true, true, false, op, swapped, a, b};
  if (op == ChainOp::add) return unary(ChainOp::twice, a);
  if (op == ChainOp::multiply) return unary(ChainOp::square, a);
  return {};
}

ChainParts value_parts(const Node& node) {
  const std::int32_t a = node.in[0], b = node.in[1];
  switch (node.function) {
    case index_of<"add">():
      return binary(ChainOp::add, ChainOp::add, a, b);
    case index_of<"subtract">():
      return binary(ChainOp::subtract, ChainOp::subtract_from, a, b);
    case index_of<"multiply">():
      return binary(ChainOp::multiply, ChainOp::multiply, a, b);
    case index_of<"divide">():
      return binary(ChainOp::divide, ChainOp::divide_into, a, b);
    case index_of<"negative">():
      return unary(ChainOp::negate, a);
    case index_of<"square">():
      return unary(ChainOp::square, a);
    default:
      return {};
  }
}

// The operands of a derivative are g, x and y.
ChainParts derivative_parts(const Node& node) {
  const std::int32_t g = node.in[0], x = node.in[1], y = node.in[2];
  switch (node.function) {
    case index_of<"multiply">():
      return binary(ChainOp::multiply, ChainOp::multiply, g, node.operand == 0 ? y : x);
    case index_of<"divide">():
      return node.operand == 0 ? binary(ChainOp::divide, ChainOp::divide_into, g, y) : ChainParts{};
    case index_of<"subtract">():
    case index_of<"negative">():
      return unary(ChainOp::negate, g);
    case index_of<"square">():
      return {x != g, false, true, ChainOp::multiply, ChainOp::multiply, x, g};
    default:
      return {};
  }
}

}  // namespace

ChainParts chain_parts(const Node& node) {
  return node.opcode == Opcode::value        ? value_parts(node)
         : node.opcode == Opcode::derivative ? derivative_parts(node)
                                             : ChainParts{};
}

}  // namespace reel::loops
