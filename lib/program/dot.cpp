// Programs as graphs in Graphviz's language.
#include "program/dot.hpp"

#include "core/fail.hpp"

namespace reel::program {

std::string to_dot(const Program& p) {
  std::vector<std::string> node(p.values.size());
  std::string text = "digraph program {\n";
  const auto add = [&](const std::string& name, std::string_view label, std::string_view shape) {
    text += "  " + name + " [label=\"" + std::string(label) + "\", shape=" + std::string(shape) + "]\n";
  };
  for (Index v = 0; v < p.values.size(); ++v) {
    const Value& value = p.values[v];
    if (value.origin == Value::Origin::result) continue;
    node[v] = "v" + std::to_string(v);
    const bool argument = value.origin == Value::Origin::argument;
    add(node[v], (argument ? "argument " : "constant ") + to_string(value.tensor.shape()), "ellipse");
  }
  for (std::size_t i = 0; i < p.instructions.size(); ++i) {
    const Instruction& instruction = p.instructions[i];
    const std::string name = "i" + std::to_string(i);
    std::string label = instruction.operation.name;
    for (const Index v : instruction.outputs) {
      if (v == nothing) continue;
      node[v] = name;
      label += " " + to_string(p.values[v].tensor.shape());
    }
    add(name, label, "box");
    for (const Index o : instruction.inputs)
      if (o != nothing) text += "  " + node[p.operands[o].value] + " -> " + name + "\n";
  }
  for (std::size_t k = 0; k < p.results.size(); ++k) {
    const std::string name = "r" + std::to_string(k);
    add(name, "result", "ellipse");
    text += "  " + node[p.operands[p.results[k]].value] + " -> " + name + "\n";
  }
  return text + "}\n";
}

}  // namespace reel::program
