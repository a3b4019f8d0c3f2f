// Compilation of programs: liveness, registers, and which steps write an output in place.
#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>

#include "kernels/comparisons.hpp"
#include "kernels/pointwise.hpp"
#include "kernels/scalars.hpp"
#include "loops/program/program.hpp"
#include "loops/program/scalar.hpp"

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
  const auto& comparisons = kernels::active<kernels::ComparisonKernels>();
  switch (node.opcode) {
    case Opcode::value:
      return kernels::pointwise(node.function, dtype).value;
    case Opcode::derivative:
      return kernels::pointwise(node.function, dtype).derivative[node.operand];
    case Opcode::comparison:
      return comparisons.of(static_cast<kernels::Comparison>(node.function), dtype);
    case Opcode::predicate:
      return comparisons.of(static_cast<kernels::Predicate>(node.function), dtype);
    case Opcode::logical:
      return comparisons.of(static_cast<kernels::Logical>(node.function));
    case Opcode::choice:
      return comparisons.of(static_cast<kernels::Choice>(node.function), dtype);
    default:
      return comparisons.select[kernels::size_class(item_size(dtype))];
  }
}

// A graph whose selects compare by themselves where their conditions are comparisons, or two that logic combines: one
// step on lanes instead of steps that write and read masks. A select that follows the end of an output keeps its mask:
// the output may have overwritten what the comparison reads.
class Choices {
 public:
  explicit Choices(const Graph& graph) : from_(graph), renumbered_(graph.nodes.size()) {
    std::vector<bool> ends(graph.nodes.size());
    for (const std::int32_t output : graph.outputs) ends[static_cast<std::size_t>(output)] = true;
    made_.inputs = graph.inputs;
    made_.nodes.reserve(graph.nodes.size());
    for (std::size_t i = 0, ended = 0; i < graph.nodes.size(); ++i) {
      const Node& node = graph.nodes[i];
      const bool chooses =
          node.opcode == Opcode::select && comparisons(node.in[0], static_cast<std::int32_t>(ended)) <= 2;
      renumbered_[i] = chooses ? choose(node.in[0], renumbered(node.in[1]), renumbered(node.in[2])) : copy(node);
      if (ends[i]) ended = i;
    }
    for (const std::int32_t output : graph.outputs) made_.outputs.push_back(renumbered(output));
  }
  Graph take() { return std::move(made_); }

 private:
  using Choice = kernels::Choice;
  static constexpr int none = 3;  // more comparisons than are chosen by

  const Node& at(std::int32_t node) const { return from_.nodes[static_cast<std::size_t>(node)]; }
  std::int32_t renumbered(std::int32_t node) const { return renumbered_[static_cast<std::size_t>(node)]; }
  std::int32_t add(const Node& node) {
    made_.nodes.push_back(node);
    return static_cast<std::int32_t>(made_.nodes.size()) - 1;
  }
  std::int32_t copy(Node node) {
    if (is_step(node))
      for (std::int32_t& x : node.in)
        if (x >= 0) x = renumbered(x);
    return add(node);
  }

  // The number of comparisons that a mask consists of.
  int comparisons(std::int32_t mask, std::int32_t first) const {
    const Node& node = at(mask);
    if (mask < first) return none;
    if (node.opcode == Opcode::comparison) return 1;
    if (node.opcode == Opcode::predicate) return node.function == number(kernels::Predicate::isnan) ? 1 : none;
    if (node.function == number(kernels::Logical::exclusive)) return none;
    const int one = comparisons(node.in[0], first);
    if (node.function == number(kernels::Logical::negation) || one >= none) return one;
    return one + comparisons(node.in[1], first);
  }
  static std::uint16_t number(auto enumerator) { return static_cast<std::uint16_t>(enumerator); }

  // mask ? x : y, by the mask of the old graph and nodes of the new one.
  std::int32_t choose(std::int32_t mask, std::int32_t x, std::int32_t y) {
    const Node& node = at(mask);
    if (node.opcode == Opcode::predicate) return choice(Choice::equal, node.in[0], node.in[0], y, x);  // isnan
    if (node.opcode == Opcode::comparison) return compare(node, x, y);
    switch (static_cast<kernels::Logical>(node.function)) {
      case kernels::Logical::conjunction:
        return choose(node.in[0], choose(node.in[1], x, y), y);
      case kernels::Logical::disjunction:
        return choose(node.in[0], x, choose(node.in[1], x, y));
      default:
        return choose(node.in[0], y, x);
    }
  }
  std::int32_t compare(const Node& node, std::int32_t x, std::int32_t y) {
    const std::int32_t a = node.in[0], b = node.in[1];
    switch (static_cast<kernels::Comparison>(node.function)) {
      case kernels::Comparison::equal:
        return choice(Choice::equal, a, b, x, y);
      case kernels::Comparison::not_equal:
        return choice(Choice::equal, a, b, y, x);
      case kernels::Comparison::less:
        return choice(Choice::less, a, b, x, y);
      case kernels::Comparison::less_equal:
        return choice(Choice::less_equal, a, b, x, y);
      case kernels::Comparison::greater:
        return choice(Choice::less, b, a, x, y);
      default:
        return choice(Choice::less_equal, b, a, x, y);
    }
  }
  std::int32_t choice(Choice by, std::int32_t a, std::int32_t b, std::int32_t x, std::int32_t y) {
    return add({Opcode::choice, 0, number(by), {renumbered(a), renumbered(b), x, y, -1}});
  }

  const Graph& from_;
  Graph made_;
  std::vector<std::int32_t> renumbered_;  // for each node of the old graph
};

}  // namespace

// Places are numbered in the order inputs, outputs, constants, registers.
class Code::Allocation {
 public:
  Allocation(Code& code, const Graph& graph)
      : code_(code), graph_(order(Choices(graph).take())), node_(graph_.nodes.size()) {
    code_.inputs_.assign(static_cast<std::size_t>(graph_.inputs), Use::none);
    code_.outputs_ = graph_.outputs.size();
    find_uses();
    find_chains();
    number_constants();
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i)
      if (node_[i].last_use >= 0 && is_step(graph_.nodes[i])) node_[i].chain < 0 ? add_step(i) : add_member(i);
    add_copies();
    set_absent(code_.steps_, first_register_ + static_cast<std::int32_t>(code_.registers_));
    for (Chain& chain : code_.chains_) set_absent(chain.members, static_cast<std::int32_t>(chain.places.size()));
    code_.graph_ = std::move(graph_);
  }

 private:
  // Where the value of a node is, and its lifetime.
  struct Value {
    std::int32_t place = -1, last_use = -1, output = -1;
    bool elements = false;               // a reader needs its elements one by one
    std::int32_t chain = -1, next = -1;  // the chain that computes it, and the chain's next node
    std::int32_t operand = -1;           // of an intermediate value of that chain: its number
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

  // Whether all steps can be chained. Beside others, chains would cost more than they save: measured at 10^7 elements.
  static bool is_chainable(const Graph& graph) {
    return kernels::active<kernels::ScalarEngines>().chain[0] &&
           std::all_of(graph.nodes.begin(), graph.nodes.end(),
                       [](const Node& node) { return !is_step(node) || chain_parts(node).chained; });
  }
  static Graph order(Graph graph) { return is_chainable(graph) ? order_chains(graph) : graph; }
  // The most values that a step adds to those of a chain: its operands and its result.
  static constexpr std::size_t step_values = node_operands + 1;
  // A chain has at least one function in this many that takes a value from a register. With fewer, all go through
  // memory, and a loop per function is faster beyond the caches: measured with the gradient of sum(exp(x) y), 10^7
  // float32.
  static constexpr std::size_t functions_per_taken = 4;
  // Neighbouring steps whose operands and results are few enough are a chain if that saves enough loads and stores.
  void find_chains() {
    if (!is_chainable(graph_)) return;
    std::vector<std::int32_t> members, values;
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      const Node& node = graph_.nodes[i];
      if (node_[i].last_use < 0 || !is_step(node)) continue;
      if (values.size() + step_values > kernels::chain_operands) end_chain(members, values);
      members.push_back(static_cast<std::int32_t>(i));
      values.push_back(members.back());
      for (const std::int32_t x : node.in)
        if (x >= 0 && std::find(values.begin(), values.end(), x) == values.end()) values.push_back(x);
    }
    end_chain(members, values);
  }
  void end_chain(std::vector<std::int32_t>& members, std::vector<std::int32_t>& values) {
    // Values that the next function takes from registers.
    std::size_t taken = 0;
    for (std::size_t m = 1; m < members.size(); ++m)
      taken += chain_parts(graph_.nodes[static_cast<std::size_t>(members[m])]).takes(members[m - 1]);
    if (taken > 0 && functions_per_taken * taken >= members.size()) {
      for (std::size_t m = 0; m < members.size(); ++m) {
        at(members[m]).chain = chains_;
        if (m + 1 < members.size()) at(members[m]).next = members[m + 1];
      }
      ++chains_;
    }
    members.clear();
    values.clear();
  }

  void add_member(std::size_t i) {
    const Node& node = graph_.nodes[i];
    Value& value = node_[i];
    if (code_.chains_.size() <= static_cast<std::size_t>(value.chain)) begin_chain(value.chain);
    Chain& chain = code_.chains_.back();
    Step step = step_of(node);
    for (std::uint32_t k = 0; k < node_operands; ++k)
      if (std::int32_t& x = step.node.in[k]; x >= 0) {
        x = operand_of(x);
        step.operands = k + 1;
      }
    const ChainParts parts = chain_parts(node);
    writer_->compute(static_cast<std::int32_t>(i), parts, [this](std::int32_t x) { return operand_of(x); });
    for (const std::int32_t x : node.in)
      if (x >= 0) release(x, static_cast<std::int32_t>(i));
    const bool inside = value.output < 0 && value.last_use < static_cast<std::int32_t>(node_.size()) &&
                        at(value.last_use).chain == value.chain;
    if (inside) {
      value.operand = take_intermediate();
    } else {
      value.place = value.output >= 0 ? output_place(static_cast<std::size_t>(value.output)) : take(false);
      code_.steps_.back().to = value.place;
    }
    step.to = operand_of(static_cast<std::int32_t>(i));
    const bool held =
        inside && value.last_use == value.next &&
        chain_parts(graph_.nodes[static_cast<std::size_t>(value.next)]).takes(static_cast<std::int32_t>(i));
    if (!held) writer_->store(step.to);
    chain.members.push_back(step);
  }
  void begin_chain(std::int32_t chain) {
    code_.chains_.emplace_back();
    writer_ = std::make_unique<ChainWriter>(code_.chains_.back().code);
    free_intermediates_.clear();
    Step step{Node{Opcode::value}, -1, 0, {}};
    step.chain = chain;
    code_.steps_.push_back(step);
  }
  std::int32_t take_intermediate() {
    std::vector<std::int32_t>& places = code_.chains_.back().places;
    if (free_intermediates_.empty()) {
      places.push_back(-1);
      return static_cast<std::int32_t>(places.size()) - 1;
    }
    const std::int32_t operand = free_intermediates_.back();
    free_intermediates_.pop_back();
    return operand;
  }
  // The number of a value among the operands of the chain.
  std::int32_t operand_of(std::int32_t x) {
    if (at(x).operand >= 0) return at(x).operand;
    std::vector<std::int32_t>& places = code_.chains_.back().places;
    const auto found = std::find(places.begin(), places.end(), at(x).place);
    const auto operand = static_cast<std::int32_t>(found - places.begin());
    if (found == places.end()) places.push_back(at(x).place);
    return operand;
  }
  static void set_absent(std::vector<Step>& steps, std::int32_t place) {
    for (Step& step : steps)
      for (std::int32_t& x : step.node.in)
        if (x < 0) x = place;
  }
  static Step step_of(const Node& node) {
    return {node, -1, 0, {loop_of(node, DType::float32), loop_of(node, DType::float64)}};
  }

  void add_step(std::size_t i) {
    const Node& node = graph_.nodes[i];
    Step step = step_of(node);
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
    if (value.last_use != reader) return;
    if (value.operand >= 0) {
      free_intermediates_.push_back(value.operand);
      value.last_use = -1;
    }
    if (value.place < first_register_) return;
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
  Graph graph_;
  std::vector<Value> node_;
  std::int32_t first_register_ = 0;
  std::vector<std::int32_t> free_[2];  // of lanes, of masks
  std::int32_t chains_ = 0;
  std::unique_ptr<ChainWriter> writer_;           // of the last chain
  std::vector<std::int32_t> free_intermediates_;  // of the last chain: operands
};

Code::Code(const Graph& graph) { Allocation(*this, graph); }
Code::~Code() {
  for (const auto& code : scalar_code_) delete code.load(std::memory_order_acquire);
}

const ScalarCode& Code::scalar_code(DType dtype) const {
  std::atomic<const ScalarCode*>& place = scalar_code_[dtype == DType::float64];
  if (const ScalarCode* known = place.load(std::memory_order_acquire)) return *known;
  auto made = std::make_unique<const ScalarCode>(graph_, dtype);
  const ScalarCode* first = nullptr;
  if (place.compare_exchange_strong(first, made.get(), std::memory_order_acq_rel)) return *made.release();
  return *first;  // of another thread
}

std::int32_t Code::last_output() const {
  return steps_.empty() || !copies_.empty() ? -1 : steps_.back().to - static_cast<std::int32_t>(inputs_.size());
}

}  // namespace reel::loops
