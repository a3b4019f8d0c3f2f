// Derivatives of programs: the chain rule combines the derivatives of the table's definitions, in reverse or forwards.
// A derivative is one instruction with a kernel of its own. It is expanded into the functions of its definition before
// it is differentiated again.
#include <cstring>

#include "kernels/table.hpp"
#include "ops/derivatives.hpp"
#include "ops/elementwise/program.hpp"
#include "ops/elementwise/trace.hpp"

namespace reel::ops {

namespace {

using loops::Node, loops::Opcode;
namespace table = kernels::table;

constexpr std::size_t most_operands = 3;
constexpr std::int32_t no_node = -1;

// The derivative of a definition by one operand, with its type erased.
struct OperandDerivative {
  enum class Kind : std::uint8_t { function, identity, zero, unconnected } kind;
  unsigned reads;
  Lane (*expand)(const Lane& g, const Lane& x, const Lane& y, const Lane& w, const Lane& z);
};

template <std::size_t Index, std::size_t K>
constexpr OperandDerivative make_derivative() {
  using Definition = std::tuple_element_t<Index, std::remove_cvref_t<decltype(table::definitions)>>;
  if constexpr (K >= Definition::arity) {
    return {OperandDerivative::Kind::unconnected, 0, nullptr};
  } else {
    using P = std::tuple_element_t<K, decltype(Definition::derivatives)>;
    if constexpr (P::is_identity)
      return {OperandDerivative::Kind::identity, 0, nullptr};
    else if constexpr (P::is_zero)
      return {OperandDerivative::Kind::zero, 0, nullptr};
    else if constexpr (P::is_unconnected)
      return {OperandDerivative::Kind::unconnected, 0, nullptr};
    else
      return {OperandDerivative::Kind::function, P::reads,
              [](const Lane& g, const Lane& x, const Lane& y, const Lane& w, const Lane& z) {
                return table::apply(std::get<K>(std::get<Index>(table::definitions).derivatives), g, x, y, w, z);
              }};
  }
}

using OperandDerivatives = std::array<OperandDerivative, most_operands>;
constexpr auto derivatives = []<std::size_t... Index>(std::index_sequence<Index...>) {
  return std::array<OperandDerivatives, table::size>{
      OperandDerivatives{make_derivative<Index, 0>(), make_derivative<Index, 1>(), make_derivative<Index, 2>()}...};
}
(std::make_index_sequence<table::size>());

class Derivation {
 public:
  Derivation(const loops::Graph& graph, const Direction& direction)
      : graph_(graph),
        direction_(direction),
        trace_(static_cast<std::size_t>(graph.inputs) + direction.seeded.size(), Trace::Numbers::literals) {}

  Derivative make() {
    take_apart();
    derivative_of_.assign(trace_.graph().nodes.size(), no_node);
    return finish(direction_.reverse() ? backwards() : forwards());
  }

 private:
  std::int32_t& derivative(std::int32_t node) { return derivative_of_[static_cast<std::size_t>(node)]; }
  std::int32_t seed(std::size_t i) const { return graph_.inputs + static_cast<std::int32_t>(i); }

  // The original program in this trace, with derivatives expanded into functions.
  void take_apart() {
    for (const Node& node : graph_.nodes) {
      if (node.opcode < Opcode::value) {  // inputs are already there, with the same numbers
        copied_.push_back(trace_.add(node));
        continue;
      }
      Node copy = node;
      for (std::int32_t& x : copy.in)
        if (x >= 0) x = copied_[static_cast<std::size_t>(x)];
      if (copy.opcode == Opcode::derivative) {
        const auto lane = [&](std::size_t k) { return copy.in[k] < 0 ? Lane() : trace_.lane(copy.in[k]); };
        copied_.push_back(
            trace_.node(derivatives[copy.function][copy.operand].expand(lane(0), lane(1), lane(2), lane(3), lane(4))));
      } else {
        copied_.push_back(trace_.add(copy));
      }
    }
  }

  // g times the derivative of `node` by operand k; none if they are not connected.
  std::int32_t times_derivative(std::int32_t i, std::size_t k, std::int32_t g) {
    const Node node = trace_.graph().nodes[static_cast<std::size_t>(i)];
    const std::int32_t zero = trace_.number(0);
    if (node.opcode == Opcode::select) {
      if (g == zero) return zero;
      Node chosen{Opcode::select};
      chosen.in[0] = node.in[0];
      chosen.in[k] = g;
      chosen.in[3 - k] = zero;
      return trace_.add(chosen);
    }
    const OperandDerivative& p = derivatives[node.function][k];
    if (p.kind == OperandDerivative::Kind::unconnected) return no_node;
    if (p.kind == OperandDerivative::Kind::identity) return g;
    // Computed even where the factor is zero, so that both modes read the same values: those that a tape kept.
    if (p.kind == OperandDerivative::Kind::zero || g == zero) return zero;
    Node result{Opcode::derivative};
    result.function = node.function;
    result.operand = static_cast<std::uint8_t>(k);
    result.in[0] = g;
    const unsigned masks[] = {table::x, table::y, table::w};
    for (std::size_t j = 0; j < most_operands; ++j)
      if (p.reads & masks[j]) result.in[1 + j] = node.in[j];
    if (p.reads & table::z) result.in[4] = i;
    return trace_.add(result);
  }
  void accumulate(std::int32_t& sum, std::int32_t part) {
    const std::int32_t zero = trace_.number(0);
    if (part == no_node || (part == zero && sum != no_node)) return;
    if (sum == no_node || sum == zero) {
      sum = part;
      return;
    }
    Node both{Opcode::value};
    both.function = static_cast<std::uint16_t>(kernels::index_of<"add">());
    both.in[0] = sum;
    both.in[1] = part;
    sum = trace_.add(both);
  }
  // Whether node i of the trace has a derivative by its operand k.
  static bool passes(const Node& node, std::size_t k) {
    return node.in[k] >= 0 && (node.opcode == Opcode::value || (node.opcode == Opcode::select && k > 0));
  }
  Node node(std::size_t i) { return trace_.graph().nodes[i]; }

  std::vector<std::int32_t> backwards() {
    const std::size_t count = derivative_of_.size();
    std::vector<bool> feeds(count);
    for (std::size_t i = 0; i < count; ++i) {
      if (i < direction_.wanted.size()) feeds[i] = direction_.wanted[i];
      for (std::size_t k = 0; k < most_operands; ++k)
        if (passes(node(i), k) && feeds[static_cast<std::size_t>(node(i).in[k])]) feeds[i] = true;
    }
    for (std::size_t k = 0; k < direction_.seeded.size(); ++k)
      if (direction_.seeded[k]) accumulate(derivative(copied_[static_cast<std::size_t>(graph_.outputs[k])]), seed(k));
    for (std::size_t i = count; i-- > 0;) {
      if (derivative_of_[i] == no_node) continue;
      const Node at = node(i);
      for (std::size_t k = 0; k < most_operands; ++k)
        if (passes(at, k) && feeds[static_cast<std::size_t>(at.in[k])])
          accumulate(derivative(at.in[k]), times_derivative(static_cast<std::int32_t>(i), k, derivative_of_[i]));
    }
    std::vector<std::int32_t> results(direction_.wanted.size(), no_node);
    for (std::size_t i = 0; i < results.size(); ++i)
      if (direction_.wanted[i]) results[i] = derivative_of_[i];
    return results;
  }

  std::vector<std::int32_t> forwards() {
    for (std::size_t i = 0; i < direction_.seeded.size(); ++i)
      if (direction_.seeded[i]) derivative_of_[i] = seed(i);
    for (std::size_t i = direction_.seeded.size(); i < derivative_of_.size(); ++i) {
      const Node at = node(i);
      for (std::size_t k = 0; k < most_operands; ++k)
        if (passes(at, k) && derivative(at.in[k]) != no_node)
          accumulate(derivative_of_[i], times_derivative(static_cast<std::int32_t>(i), k, derivative(at.in[k])));
    }
    std::vector<std::int32_t> results;
    for (const std::int32_t output : graph_.outputs)
      results.push_back(derivative(copied_[static_cast<std::size_t>(output)]));
    return results;
  }

  // The part of the trace that the results need, without unused inputs.
  Derivative finish(const std::vector<std::int32_t>& results) {
    const loops::Graph& all = trace_.graph();
    Derivative d;
    loops::Graph graph;
    std::vector<bool> needed(all.nodes.size());
    for (const std::int32_t r : results) {
      Derivative::Result result;
      if (r != no_node) {
        using Kind = Derivative::Result::Kind;
        const Opcode opcode = all.nodes[static_cast<std::size_t>(r)].opcode;
        if (opcode == Opcode::literal)
          result = {Kind::zero, 0};  // a derivative is linear: the only possible number is zero
        else if (opcode == Opcode::input)
          result = {Kind::source, r};
        else
          result = {Kind::output, static_cast<std::int32_t>(graph.outputs.size())};
        if (result.kind == Kind::output) {
          graph.outputs.push_back(r);
          needed[static_cast<std::size_t>(r)] = true;
        }
      }
      d.results.push_back(result);
    }
    for (std::size_t i = all.nodes.size(); i-- > 0;)
      if (needed[i] && all.nodes[i].opcode >= Opcode::value)
        for (const std::int32_t x : all.nodes[i].in)
          if (x >= 0) needed[static_cast<std::size_t>(x)] = true;
    std::vector<std::int32_t> renumbered(all.nodes.size(), no_node);
    for (std::size_t i = 0; i < all.nodes.size(); ++i) {
      if (!needed[i]) continue;
      renumbered[i] = static_cast<std::int32_t>(graph.nodes.size());
      Node copy = all.nodes[i];
      if (copy.opcode == Opcode::input) {
        copy.in[0] = graph.inputs++;
        d.sources.push_back(static_cast<std::int32_t>(i));
      } else if (copy.opcode >= Opcode::value) {
        for (std::int32_t& x : copy.in)
          if (x >= 0) x = renumbered[static_cast<std::size_t>(x)];
      }
      graph.nodes.push_back(copy);
    }
    for (std::int32_t& output : graph.outputs) output = renumbered[static_cast<std::size_t>(output)];
    d.program = Shared(new Program(std::move(graph)));
    return d;
  }

  const loops::Graph& graph_;
  const Direction& direction_;
  Trace trace_;
  std::vector<std::int32_t> copied_;         // for each node of the original program: its node in the trace
  std::vector<std::int32_t> derivative_of_;  // for each node of the trace: its cotangent or tangent
};

}  // namespace

Derivative derive(const loops::Graph& graph, const Direction& direction) { return Derivation(graph, direction).make(); }

loops::Graph formula_of(std::size_t definition, std::size_t k) {
  Trace trace(loops::node_operands, Trace::Numbers::literals);
  const auto input = [&](std::int32_t i) { return trace.lane(i); };
  const Lane result = derivatives[definition][k].expand(input(0), input(1), input(2), input(3), input(4));
  loops::Graph graph = trace.graph();
  graph.outputs = {trace.node(result)};
  return graph;
}

}  // namespace reel::ops
