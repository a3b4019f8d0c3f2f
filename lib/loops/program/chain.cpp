// Which nodes are chained, as what, and in which order.
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

// The graph with neighbouring chained nodes in an order in which more of them take the value that was computed last.
class Schedule {
 public:
  explicit Schedule(const Graph& graph)
      : from_(graph),
        renumbered_(graph.nodes.size(), none),
        reads_(graph.nodes.size()),
        last_reader_(graph.nodes.size()) {
    made_.inputs = graph.inputs;
    made_.nodes.reserve(graph.nodes.size());
    for (std::size_t i = 0; i < graph.nodes.size(); ++i)
      if (is_step(graph.nodes[i]))
        for (const std::int32_t x : graph.nodes[i].in)
          if (x >= 0) ++reads_[index(x)], last_reader_[index(x)] = static_cast<std::int32_t>(i);
    for (const std::int32_t x : graph.outputs) reads_[index(x)] += stored_anyway;
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      const Node& node = graph.nodes[i];
      if (is_step(node) && chain_parts(node).chained) {
        waiting_.push_back(static_cast<std::int32_t>(i));
        if (waiting_.size() == most_waiting) place_waiting();
      } else {
        if (is_step(node)) place_waiting();
        place(static_cast<std::int32_t>(i));
      }
    }
    place_waiting();
    for (const std::int32_t x : graph.outputs) made_.outputs.push_back(renumbered_[index(x)]);
  }
  Graph take() { return std::move(made_); }

 private:
  static constexpr std::int32_t none = -1;
  static constexpr std::size_t most_waiting = 24;  // the time of a choice grows with them
  // Reads of an output besides those of the graph: enough that it never has a single one, which would save its store.
  static constexpr std::int32_t stored_anyway = 2;
  // What the accumulator saves, in rising order. next_load: the load of the result, if its only reader comes next.
  // A load of an operand comes before it, since it is saved now or never.
  enum Saving : int { nothing, next_load, load, load_and_store };

  static std::size_t index(std::int32_t node) { return static_cast<std::size_t>(node); }
  static bool is_step(const Node& node) { return node.opcode >= Opcode::value; }

  void place(std::int32_t node) {
    Node copy = from_.nodes[index(node)];
    if (is_step(copy))
      for (std::int32_t& x : copy.in)
        if (x >= 0) x = renumbered_[index(x)];
    renumbered_[index(node)] = static_cast<std::int32_t>(made_.nodes.size());
    made_.nodes.push_back(copy);
  }
  // Whether the operands are there, or will be after `next`.
  bool ready(std::int32_t node, std::int32_t next = none) const {
    for (const std::int32_t x : from_.nodes[index(node)].in)
      if (x >= 0 && x != next && renumbered_[index(x)] == none) return false;
    return true;
  }
  // By computing `node` behind `held`.
  Saving saved(std::int32_t node, std::int32_t held) const {
    if (held != none && chain_parts(from_.nodes[index(node)]).takes(held))
      return reads_[index(held)] == 1 ? load_and_store : load;
    return reads_[index(node)] == 1 && ready(last_reader_[index(node)], node) ? next_load : nothing;
  }
  void place_waiting() {
    for (std::int32_t held = none; !waiting_.empty();) {
      std::size_t best = waiting_.size();
      int most = -1;
      for (std::size_t k = 0; k < waiting_.size(); ++k)
        if (ready(waiting_[k]))
          if (const Saving s = saved(waiting_[k], held); s > most) best = k, most = s;
      held = waiting_[best];
      place(held);
      waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(best));
    }
  }

  const Graph& from_;
  Graph made_;
  // Of each node of the old graph.
  std::vector<std::int32_t> renumbered_, reads_, last_reader_;
  std::vector<std::int32_t> waiting_;
};

}  // namespace

Graph order_chains(const Graph& graph) { return Schedule(graph).take(); }

ChainParts chain_parts(const Node& node) {
  return node.opcode == Opcode::value        ? value_parts(node)
         : node.opcode == Opcode::derivative ? derivative_parts(node)
                                             : ChainParts{};
}

}  // namespace reel::loops
