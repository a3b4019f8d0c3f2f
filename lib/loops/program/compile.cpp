// Compilation of programs: liveness, registers, and which steps write an output in place.
#include <bit>
#include <cstring>

#include "loops/program/program.hpp"

namespace reel::loops {

Node literal(double value) {
  Node node{Opcode::literal};
  const auto bits = std::bit_cast<std::uint64_t>(value);
  node.in[0] = static_cast<std::int32_t>(bits & 0xffffffffu);
  node.in[1] = static_cast<std::int32_t>(bits >> 32);
  return node;
}

double literal_value(const Node& node) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(static_cast<std::uint32_t>(node.in[1])) << 32 |
                               static_cast<std::uint32_t>(node.in[0]));
}

namespace {

bool is_constant(const Node& node) { return node.opcode == Opcode::parameter || node.opcode == Opcode::literal; }
bool is_step(const Node& node) { return node.opcode >= Opcode::value; }
bool is_mask(const Node& node) {
  return node.opcode == Opcode::comparison || node.opcode == Opcode::predicate || node.opcode == Opcode::logical;
}
bool reads_elements(const Node& node) { return is_mask(node) || node.opcode == Opcode::select; }

kernels::Loop loop_of(const Node& node, DType dtype) {
  const kernels::Set& set = kernels::active();
  switch (node.opcode) {
    case Opcode::value:
      return set.pointwise(node.function, dtype).value;
    case Opcode::derivative:
      return set.pointwise(node.function, dtype).derivative[node.operand];
    case Opcode::comparison:
      return set.comparison(static_cast<kernels::Comparison>(node.function), dtype);
    case Opcode::predicate:
      return set.test(static_cast<kernels::Predicate>(node.function), dtype);
    case Opcode::logical:
      return set.logic(static_cast<kernels::Logical>(node.function));
    default:
      return set.select[kernels::size_class(item_size(dtype))];
  }
}

}  // namespace

// Places are numbered in the order inputs, outputs, constants, registers.
class Code::Allocation {
 public:
  Allocation(Code& code, const Graph& graph) : code_(code), graph_(graph), node_(graph.nodes.size()) {
    code_.inputs_.assign(static_cast<std::size_t>(graph.inputs), Use::none);
    code_.outputs_ = graph.outputs.size();
    find_uses();
    number_constants();
    for (std::size_t i = 0; i < graph.nodes.size(); ++i)
      if (node_[i].last_use >= 0 && is_step(graph.nodes[i])) add_step(i);
    add_copies();
    const std::int32_t last = first_register_ + static_cast<std::int32_t>(code_.registers_);
    for (Step& step : code_.steps_)
      for (std::int32_t& x : step.node.in)
        if (x < 0) x = last;
  }

 private:
  // Where the value of a node is, and its lifetime.
  struct Value {
    std::int32_t place = -1, last_use = -1, output = -1;
    bool elements = false;  // a reader needs its elements one by one
  };
  Value& at(std::int32_t node) { return node_[static_cast<std::size_t>(node)]; }
  std::int32_t output_place(std::size_t k) const { return graph_.inputs + static_cast<std::int32_t>(k); }

  void find_uses() {
    const auto end = static_cast<std::int32_t>(graph_.nodes.size());
    for (std::size_t k = 0; k < graph_.outputs.size(); ++k) {
      Value& value = at(graph_.outputs[k]);
      if (value.output < 0) value.output = static_cast<std::int32_t>(k);
      value.last_use = end;
    }
    for (std::int32_t i = end; i-- > 0;) {
      const Node& node = graph_.nodes[static_cast<std::size_t>(i)];
      if (at(i).last_use < 0 || !is_step(node)) continue;
      for (const std::int32_t x : node.in) {
        if (x < 0) continue;
        at(x).last_use = std::max(at(x).last_use, i);
        at(x).elements |= reads_elements(node);
      }
    }
    for (std::int32_t i = 0; i < graph_.inputs; ++i) {
      at(i).place = i;
      if (at(i).last_use >= 0)
        code_.inputs_[static_cast<std::size_t>(i)] = at(i).elements ? Use::elements : Use::any_stride;
    }
  }

  void number_constants() {
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (node_[i].last_use < 0 || !is_constant(graph_.nodes[i])) continue;
      node_[i].place = output_place(code_.outputs_) + static_cast<std::int32_t>(code_.constants_.size());
      code_.constants_.push_back({graph_.nodes[i], -1});
    }
    first_register_ = output_place(code_.outputs_) + static_cast<std::int32_t>(code_.constants_.size());
    for (std::size_t i = 0, c = 0; i < graph_.nodes.size(); ++i) {
      if (node_[i].last_use < 0 || !is_constant(graph_.nodes[i])) continue;
      if (node_[i].elements) code_.constants_[c].filled = new_register();
      ++c;
    }
  }

  void add_step(std::size_t i) {
    const Node& node = graph_.nodes[i];
    using enum DType;
    Step step{node, -1, 0, {loop_of(node, float32), loop_of(node, float64)}};
    for (std::uint32_t k = 0; k < node_operands; ++k)
      if (std::int32_t& x = step.node.in[k]; x >= 0) {
        x = place_for(node, x);
        step.operands = k + 1;
      }
    // A result may take the place of an operand of the same size.
    for (const std::int32_t x : node.in)
      if (x >= 0) release(x, static_cast<std::int32_t>(i));
    Value& value = node_[i];
    value.place = value.output >= 0 ? output_place(static_cast<std::size_t>(value.output)) : take(is_mask(node));
    step.to = value.place;
    code_.steps_.push_back(step);
  }
  std::int32_t place_for(const Node& reader, std::int32_t x) {
    const std::int32_t place = at(x).place;
    if (!reads_elements(reader) || !is_constant(graph_.nodes[static_cast<std::size_t>(x)])) return place;
    return code_.constants_[static_cast<std::size_t>(place - output_place(code_.outputs_))].filled;
  }

  std::int32_t new_register() { return first_register_ + static_cast<std::int32_t>(code_.registers_++); }
  std::int32_t take(bool mask) {
    std::vector<std::int32_t>& free = free_[mask];
    if (free.empty()) return new_register();
    const std::int32_t place = free.back();
    free.pop_back();
    return place;
  }
  void release(std::int32_t x, std::int32_t reader) {
    Value& value = at(x);
    if (value.last_use != reader || value.place < first_register_) return;
    const Node& node = graph_.nodes[static_cast<std::size_t>(x)];
    if (is_step(node)) free_[is_mask(node)].push_back(value.place);
    value.last_use = -1;  // read twice, released once
  }

  void add_copies() {
    for (std::size_t k = 0; k < graph_.outputs.size(); ++k)
      if (const std::int32_t place = at(graph_.outputs[k]).place; place != output_place(k))
        code_.copies_.push_back({place, k});
  }

  Code& code_;
  const Graph& graph_;
  std::vector<Value> node_;
  std::int32_t first_register_ = 0;
  std::vector<std::int32_t> free_[2];  // of lanes, of masks
};

Code::Code(const Graph& graph) { Allocation(*this, graph); }

}  // namespace reel::loops
