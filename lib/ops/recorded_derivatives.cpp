// The derivatives of the pointwise table on tensors that a tape follows. The formula of a derivative is a short
// program, what its definition makes of lanes; each of its steps is one recorded op.
#include "ops/recorded_derivatives.hpp"

#include <atomic>
#include <memory>
#include <reel/ops/pointwise.hpp>

#include "ops/elementwise/program.hpp"

namespace reel::ops {

namespace {

using loops::Node, loops::Opcode;

constexpr std::size_t inputs = loops::node_operands;  // g, x, y, w, z

// An operand of a step: a number, an input, or the value of an earlier step, which the op may overwrite if nobody reads
// it later.
struct StepOperand {
  enum class Kind : std::uint8_t { number, input, value, last_use } kind = Kind::number;
  std::size_t index = 0;  // of the input or step
  double number = 0;
};

struct Step {
  Opcode opcode;
  std::size_t arity, function;          // as in a Node
  const PointwisePrimitive* primitive;  // of a value; null for others
  StepOperand operands[pointwise_arity_max];
};

std::vector<Step> steps_of(const loops::Graph& graph) {
  std::vector<Step> steps;
  std::vector<std::size_t> step_of(graph.nodes.size());
  for (std::size_t i = inputs; i <= static_cast<std::size_t>(graph.outputs[0]); ++i) {
    const Node& node = graph.nodes[i];
    if (node.opcode < Opcode::value) continue;
    Step step{node.opcode,
              0,
              node.function,
              node.opcode == Opcode::value ? &pointwise_primitive(node.function) : nullptr,
              {}};
    for (; step.arity < pointwise_arity_max && node.in[step.arity] >= 0; ++step.arity) {
      const auto from = static_cast<std::size_t>(node.in[step.arity]);
      StepOperand& source = step.operands[step.arity];
      if (from < inputs)
        source = {StepOperand::Kind::input, from};
      else if (graph.nodes[from].opcode == Opcode::literal)
        source.number = loops::literal_value(graph.nodes[from]);
      else
        source = {StepOperand::Kind::value, step_of[from]};
    }
    step_of[i] = steps.size();
    steps.push_back(step);
  }
  std::vector<bool> read(steps.size());
  for (std::size_t i = steps.size(); i-- > 0;)
    for (StepOperand& source : steps[i].operands)
      if (source.kind == StepOperand::Kind::value && !read[source.index]) {
        read[source.index] = true;
        source.kind = StepOperand::Kind::last_use;
      }
  return steps;
}

// Made when they are first needed, and kept.
const std::vector<Step>& steps_of(std::size_t definition, std::size_t k) {
  static constinit std::atomic<const std::vector<Step>*> all[kernels::table::size][pointwise_arity_max]{};
  std::atomic<const std::vector<Step>*>& kept = all[definition][k];
  const std::vector<Step>* steps = kept.load(std::memory_order_acquire);
  if (!steps) [[unlikely]] {
    auto made = std::make_unique<const std::vector<Step>>(steps_of(formula_of(definition, k)));
    if (kept.compare_exchange_strong(steps, made.get(), std::memory_order_acq_rel)) steps = made.release();
  }
  return *steps;
}

Operand operand(const StepOperand& source, const Tensor* const* in, Tensor* values) {
  switch (source.kind) {
    case StepOperand::Kind::number:
      return source.number;
    case StepOperand::Kind::input:
      return *in[source.index];
    case StepOperand::Kind::value:
      return values[source.index];
    default:
      return std::move(values[source.index]);
  }
}

constexpr Tensor (*comparisons[])(const Operand&, const Operand&) = {equal,      not_equal, less,
                                                                     less_equal, greater,   greater_equal};
constexpr Tensor (*predicates[])(const Operand&) = {isnan, isinf, isfinite};
constexpr Tensor (*connectives[])(const Operand&, const Operand&) = {logical_and, logical_or, logical_xor};

Tensor run(const Step& step, const Tensor* const* in, Tensor* values) {
  const PointwisePrimitive* const p = step.primitive;
  const Operand x = operand(step.operands[0], in, values);
  if (step.arity == 1)
    return p ? pointwise(*p, x) : step.opcode == Opcode::predicate ? predicates[step.function](x) : logical_not(x);
  const Operand y = operand(step.operands[1], in, values);
  if (step.arity == 2)
    return p ? pointwise(*p, x, y)
             : (step.opcode == Opcode::comparison ? comparisons : connectives)[step.function](x, y);
  const Operand w = operand(step.operands[2], in, values);
  return p ? pointwise(*p, x, y, w) : where(x, y, w);
}

}  // namespace

Tensor recorded_derivative(std::size_t definition, std::size_t k, Inputs in) {
  const std::vector<Step>& steps = steps_of(definition, k);
  detail::ShortList<Tensor, 4> made(steps.size());
  Tensor* const values = made.data();
  std::size_t i = 0;
  for (; i + 1 < steps.size(); ++i) values[i] = run(steps[i], in.data(), values);
  return run(steps[i], in.data(), values);
}

}  // namespace reel::ops
