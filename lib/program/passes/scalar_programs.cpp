// Operations on single elements become programs that run on a file of numbers (loops/program/scalar.hpp): pointwise
// ones, reads of elements of arrays, stacks and concatenations of elements, and elements placed into zeros.
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <memory>
#include <unordered_map>

#include "loops/program/scalar.hpp"
#include "loops/reduce/reduce.hpp"
#include "ops/apply/table.hpp"
#include "ops/compare.hpp"
#include "ops/elementwise/program.hpp"
#include "ops/index/slice.hpp"
#include "ops/index/where.hpp"
#include "ops/reduce/reduction.hpp"
#include "ops/shape/join.hpp"
#include "program/passes/passes.hpp"

namespace reel::program {

namespace {

const detail::Block* block_of(const Program& p, Index value) { return detail::block(p.values[value].tensor); }
// Of the dtypes that programs are for.
bool has_programs(DType d) { return d == DType::float32 || d == DType::float64; }

// What an instruction does with elements, if a group can hold it.
enum class Kind : std::uint8_t { none, pointwise, short_pointwise, elementwise, join, place, sum, mask, select };

class Elements {
 public:
  explicit Elements(const Program& program) : program_(program) {}
  Kind kind_of(const Instruction& i) const {
    if (i.fused || i.outputs.empty() || i.outputs[0] == nothing) return Kind::none;
    const detail::Block* z = block_of(program_, i.outputs[0]);
    if (!has_programs(z->dtype) || z->size == 0 || !reads_elements(i, z->dtype)) return Kind::none;
    if (i.operation.pointwise())
      return z->size == 1 && !i.operation.check && !i.operation.summed ? Kind::pointwise : Kind::none;
    const ops::Primitive* primitive = i.operation.primitive;
    if (primitive->evaluate == ops::elementwise_primitive().evaluate)
      return std::all_of(i.outputs.begin(), i.outputs.end(),
                         [&](Index v) { return v != nothing && block_of(program_, v)->size == 1; })
                 ? Kind::elementwise
                 : Kind::none;
    if (primitive == &ops::stack_of_parts() || primitive == &ops::concatenate_of_parts()) return Kind::join;
    const auto inputs = static_cast<std::int64_t>(i.inputs.size());
    const bool places = primitive == &ops::place_of_parts() || primitive == &ops::place_of_term();
    return places && z->size <= most_short + most_zeros * inputs ? Kind::place : Kind::none;
  }
  // Whether it is a pointwise operation on short arrays, or on those and single elements.
  bool is_short(const Instruction& i) const {
    if (!i.pointwise() || i.operation.check || i.operation.summed) return false;
    const detail::Block* z = block_of(program_, i.outputs[0]);
    return has_programs(z->dtype) && z->size > 1 && z->size <= most_short &&
           std::all_of(i.inputs.begin(), i.inputs.end(), [&](Index o) {
             const Operand& operand = program_.operands[o];
             const detail::Block* x = detail::block(operand.tensor);
             return x->dtype == z->dtype && (x->size == 1 || (x->size == z->size && operand.whole && x->contiguous()));
           });
  }

 private:
  static constexpr std::int64_t most_short = 16;  // elements of an array that is taken one by one
  static constexpr std::int64_t most_zeros = 4;   // elements of a result for each that is placed there
  bool reads_elements(const Instruction& i, DType dtype) const {
    return std::all_of(i.inputs.begin(), i.inputs.end(), [&](Index o) {
      const detail::Block* x = o == nothing ? nullptr : detail::block(program_.operands[o].tensor);
      return x && x->size == 1 && x->dtype == dtype;
    });
  }
  const Program& program_;
};

// Instructions that become one program, which takes the place of the last of them.
struct ElementGroup {
  DType dtype;
  std::vector<std::size_t> members;
  std::vector<Index> values;                                 // that members compute
  std::vector<loops::Node> nodes;                            // inputs are -2, -3, ... here
  std::vector<loops::ScalarProgram::Element> inputs;         // elements of values
  std::unordered_map<std::uint64_t, std::int32_t> input_of;  // for elements of operands that are inputs
  std::unordered_map<std::uint64_t, std::int32_t> inlined;   // nodes of inlined programs, by hash
  std::int32_t identity = -1;                                // the node of what a term of a sum does not cover
};

// Divides instructions into groups, of which each dtype has one that is open. Reading a value from outside closes its
// group, so that all outputs of a group are read after its last member.
class ElementGrouping {
 public:
  explicit ElementGrouping(Program& program)
      : program_(program),
        elements_(program),
        uses_(program.count_uses()),
        inside_(program.values.size()),
        made_(program.values.size()),
        gone_(program.instructions.size()) {}
  void run() {
    for (std::size_t i = 0; i < program_.instructions.size(); ++i) {
      const Instruction& instruction = program_.instructions[i];
      const auto [kind, dtype] = kind_of(instruction);
      if (kind == Kind::none) {
        close_read(instruction);
        continue;
      }
      ElementGroup& group = open_[dtype == DType::float64];
      group.dtype = dtype;
      add(group, i, kind);
    }
    for (ElementGroup& group : open_) close(group);
    std::size_t i = 0;
    std::erase_if(program_.instructions, [&](const Instruction&) { return gone_[i++]; });
  }

 private:
  // Where the nodes of a value's elements are: in node_of_element_, if a member of the group computes it.
  struct Made {
    std::uint32_t group = 0;  // 0: none
    std::uint32_t first = 0;
  };
  bool is_inside(Index value, const ElementGroup& group) const { return made_[value].group == number_of(group); }
  std::uint32_t number_of(const ElementGroup& group) const { return numbers_[&group - open_]; }

  void close_read(const Instruction& i) {
    for (const Index o : i.inputs)
      if (o != nothing)
        for (ElementGroup& group : open_)
          if (is_inside(program_.operands[o].value, group)) close(group);
  }

  // With the dtype of the group that it joins.
  std::pair<Kind, DType> kind_of(const Instruction& i) const {
    if (i.outputs.empty() || i.outputs[0] == nothing) return {Kind::none, {}};
    const DType dtype = block_of(program_, i.outputs[0])->dtype;
    if (dtype == DType::boolean) return masks_of(i);
    if (!has_programs(dtype)) return {Kind::none, dtype};
    if (sums_elements(i)) return {Kind::sum, dtype};
    if (selects(i, dtype)) return {Kind::select, dtype};
    const Kind kind = elements_.kind_of(i);
    const bool is_short = kind == Kind::none && elements_.is_short(i) && reads_group(i);
    return {is_short ? Kind::short_pointwise : kind, dtype};
  }
  const detail::Block* single(Index operand) const {
    const detail::Block* x = detail::block(program_.operands[operand].tensor);
    return x->size == 1 ? x : nullptr;
  }
  // A comparison of elements, or logic on results of such.
  std::pair<Kind, DType> masks_of(const Instruction& i) const {
    const std::pair<Kind, DType> none{Kind::none, {}};
    loops::Node node{};
    if (i.fused || !i.operation.primitive || !ops::gives_booleans(*i.operation.primitive, node)) return none;
    for (const DType dtype : {DType::float32, DType::float64}) {
      const ElementGroup& group = open_[dtype == DType::float64];
      const bool logic = node.opcode == loops::Opcode::logical;
      if (std::all_of(i.inputs.begin(), i.inputs.end(), [&](Index o) {
            const detail::Block* x = single(o);
            return x && (logic ? is_inside(program_.operands[o].value, group) : x->dtype == dtype);
          }))
        return {Kind::mask, dtype};
    }
    return none;
  }
  // One of two elements by a mask of the group.
  bool selects(const Instruction& i, DType dtype) const {
    if (i.operation.primitive != &ops::where_of_tensors()) return false;
    const ElementGroup& group = open_[dtype == DType::float64];
    return single(i.inputs[0]) && single(i.inputs[1]) && single(i.inputs[2]) && !group.members.empty() &&
           is_inside(program_.operands[i.inputs[2]].value, group);
  }
  bool reads_group(const Instruction& i) const {
    const ElementGroup& group = open_[block_of(program_, i.outputs[0])->dtype == DType::float64];
    return !group.members.empty() && std::any_of(i.inputs.begin(), i.inputs.end(),
                                                 [&](Index o) { return is_inside(program_.operands[o].value, group); });
  }
  // Whether it is the sum of all elements of what a group has made.
  bool sums_elements(const Instruction& i) const {
    if (i.operation.primitive != &ops::sum_of_axes()) return false;
    const Operand& x = program_.operands[i.inputs[0]];
    const detail::Block *from = detail::block(x.tensor), *z = block_of(program_, i.outputs[0]);
    if (!has_programs(z->dtype) || z->size != 1 || !x.whole || from->rank != 1 || from->size > most_terms) return false;
    const ElementGroup& group = open_[z->dtype == DType::float64];
    return !group.members.empty() && is_inside(x.value, group);
  }

  // ---- Nodes

  std::int32_t add_node(ElementGroup& group, const loops::Node& node) {
    group.nodes.push_back(node);
    return static_cast<std::int32_t>(group.nodes.size()) - 1;
  }
  // The node of element k of a contiguous operand.
  std::int32_t element(ElementGroup& group, Index operand, std::int64_t k = 0) {
    const Operand& o = program_.operands[operand];
    const std::int64_t offset = o.offset / static_cast<std::int64_t>(item_size(group.dtype)) + k;
    if (is_inside(o.value, group)) return node_of_element_[made_[o.value].first + static_cast<std::size_t>(offset)];
    if (program_.values[o.value].origin == Value::Origin::constant)
      return literal(group, constant(o.tensor, k, group.dtype));
    const auto [known, added] = group.input_of.try_emplace(std::uint64_t{operand} << 32 | static_cast<std::uint64_t>(k),
                                                           -2 - static_cast<std::int32_t>(group.inputs.size()));
    if (added) group.inputs.push_back({o.value, offset});
    return known->second;
  }
  static double constant(const Tensor& x, std::int64_t k, DType dtype) {
    const std::byte* data = detail::block(x)->data + static_cast<std::size_t>(k) * item_size(dtype);
    if (dtype == DType::float64) {
      double number;
      std::memcpy(&number, data, sizeof number);
      return number;
    }
    float number;
    std::memcpy(&number, data, sizeof number);
    return number;
  }
  void add(ElementGroup& group, std::size_t at, Kind kind) {
    const Instruction& i = program_.instructions[at];
    if (group.members.empty()) numbers_[&group - open_] = ++count_;
    group.members.push_back(at);
    for (const Index o : i.inputs)
      if (const Index v = program_.operands[o].value; is_inside(v, group)) ++inside_[v];
    if (kind == Kind::elementwise) return inline_program(group, i);
    std::vector<std::int32_t> nodes;
    if (kind == Kind::pointwise) {
      nodes.push_back(add_pointwise(group, pointwise(group, i, 0)));
    } else if (kind == Kind::short_pointwise) {
      for (std::int64_t k = 0; k < block_of(program_, i.outputs[0])->size; ++k)
        nodes.push_back(add_pointwise(group, pointwise(group, i, k)));
    } else if (kind == Kind::join) {
      for (const Index o : i.inputs) nodes.push_back(element(group, o));
    } else if (kind == Kind::mask) {
      loops::Node node{};
      ops::gives_booleans(*i.operation.primitive, node);
      for (std::size_t k = 0; k < i.inputs.size(); ++k) node.in[k] = element(group, i.inputs[k]);
      nodes.push_back(add_node(group, node));
    } else if (kind == Kind::select) {
      const std::int32_t x = element(group, i.inputs[0]), y = element(group, i.inputs[1]);
      nodes.push_back(add_node(group, {loops::Opcode::select, 0, 0, {element(group, i.inputs[2]), x, y, -1, -1}}));
    } else if (kind == Kind::sum) {
      nodes.push_back(sum_of_elements(group, i.inputs[0]));
    } else {
      nodes = placed(group, i);
    }
    make(group, i.outputs[0], nodes);
  }
  void make(ElementGroup& group, Index value, std::span<const std::int32_t> nodes) {
    group.values.push_back(value);
    made_[value] = {number_of(group), static_cast<std::uint32_t>(node_of_element_.size())};
    node_of_element_.insert(node_of_element_.end(), nodes.begin(), nodes.end());
  }
  // An equal node of an inlined program, if there is one: a derivative repeats what its function computes.
  std::int32_t intern(ElementGroup& group, const loops::Node& node) {
    const auto words = std::bit_cast<std::array<std::uint64_t, 3>>(node);
    constexpr std::uint64_t spread = 0x9e3779b97f4a7c15u;  // 2^64 / golden ratio
    const std::uint64_t key = ((words[0] * spread ^ words[1]) * spread ^ words[2]) * spread;
    const auto [known, added] = group.inlined.try_emplace(key, static_cast<std::int32_t>(group.nodes.size()));
    if (!added && group.nodes[static_cast<std::size_t>(known->second)] == node) return known->second;
    return add_node(group, node);
  }
  // The graph of a call of elementwise(), with the numbers that the call passes as literals.
  void inline_program(ElementGroup& group, const Instruction& i) {
    const ops::Attributes words = i.attributes.words();
    const auto* program = reinterpret_cast<const ops::Program*>(static_cast<std::intptr_t>(words[0]));
    const loops::Graph& graph = program->code().graph();
    std::vector<std::int32_t> nodes;
    for (const Index o : i.inputs) nodes.push_back(element(group, o));
    for (std::size_t n = nodes.size(); n < graph.nodes.size(); ++n) {
      loops::Node node = graph.nodes[n];
      if (node.opcode == loops::Opcode::parameter)
        node = loops::literal(std::bit_cast<double>(words[1 + static_cast<std::size_t>(node.in[0])]));
      else if (node.opcode != loops::Opcode::literal)
        for (std::int32_t& x : node.in) x = x < 0 ? -1 : nodes[static_cast<std::size_t>(x)];
      nodes.push_back(intern(group, node));
    }
    for (std::size_t k = 0; k < graph.outputs.size(); ++k)
      make(group, i.outputs[k], {&nodes[static_cast<std::size_t>(graph.outputs[k])], 1});
  }
  loops::Node pointwise(ElementGroup& group, const Instruction& i, std::int64_t at) {
    const ops::Operation& o = i.operation;
    const bool value = o.operand == ops::Operation::value;
    loops::Node node{value ? loops::Opcode::value : loops::Opcode::derivative};
    node.operand = value ? std::uint8_t{0} : static_cast<std::uint8_t>(o.operand);
    node.function = o.definition;
    for (std::size_t k = 0; k < i.inputs.size(); ++k) {
      const bool single = detail::block(program_.operands[i.inputs[k]].tensor)->size == 1;
      node.in[k] = element(group, i.inputs[k], single ? 0 : at);
    }
    return node;
  }
  // A sum with what a term does not cover is the other term, in every rounding mode.
  std::int32_t add_pointwise(ElementGroup& group, const loops::Node& node) {
    if (group.identity >= 0 && node == sum(node.in[0], node.in[1]))
      for (const int k : {0, 1})
        if (node.in[k] == group.identity) return node.in[1 - k];
    return add_node(group, node);
  }
  // As evaluate_place of ops/index/slice.cpp: the first part is written, the others are added.
  std::vector<std::int32_t> placed(ElementGroup& group, const Instruction& i) {
    const detail::Block* z = block_of(program_, i.outputs[0]);
    const auto rest = [&, is_term = i.operation.primitive == &ops::place_of_term()] {
      if (!is_term) return literal(group, 0.);
      if (group.identity < 0) group.identity = add_node(group, loops::literal(-0.));
      return group.identity;
    };
    std::vector<std::int32_t> nodes(static_cast<std::size_t>(z->size), no_node);
    const std::size_t words = i.attributes.words().size() / i.inputs.size();
    for (std::size_t k = 0; k < i.inputs.size(); ++k) {
      std::int64_t at = 0;
      for (int d = 0; d < z->rank; ++d)
        at += i.attributes.words()[k * words + 3 * static_cast<std::size_t>(d)] * z->strides()[d];
      std::int32_t& node = nodes[static_cast<std::size_t>(at)];
      const std::int32_t part = element(group, i.inputs[k]);
      if (k > 0 && node == no_node) node = rest();
      node = k == 0 ? part : add_pointwise(group, sum(node, part));
    }
    for (std::int32_t& node : nodes)
      if (node == no_node) node = rest();
    return nodes;
  }
  std::int32_t literal(ElementGroup& group, double number) { return intern(group, loops::literal(number)); }
  static loops::Node sum(std::int32_t x, std::int32_t y) {
    static const ops::Operation add = ops::value_of<"add">("add");
    return {loops::Opcode::value, 0, add.definition, {x, y, -1, -1, -1}};
  }

  using Vector = std::vector<std::int32_t>;  // nodes
  Vector sum(ElementGroup& group, const Vector& x, const Vector& y) {
    Vector result;
    for (std::size_t j = 0; j < x.size(); ++j) result.push_back(add_node(group, sum(x[j], y[j])));
    return result;
  }
  // The additions of kernels/reduction/reduce.hpp, in their order, on vectors of the active instruction set.
  std::int32_t sum_of_elements(ElementGroup& group, Index operand) {
    const Operand& o = program_.operands[operand];
    const auto n = static_cast<std::size_t>(detail::block(o.tensor)->size);
    const auto lanes = loops::sum_lanes(group.dtype);
    const std::int32_t zero = literal(group, 0.);
    const std::size_t first = made_[o.value].first;
    const auto vector = [&](std::size_t at) {
      Vector result(lanes, zero);
      for (std::size_t j = 0; j < lanes && at + j < n; ++j) result[j] = node_of_element_[first + at + j];
      return result;
    };
    constexpr std::size_t accumulators = 8;
    const std::size_t eight = accumulators * lanes;
    std::vector<Vector> partial;
    std::size_t at = 0;
    if (n >= eight) {
      Vector acc[accumulators];
      for (std::size_t k = 0; k < accumulators; ++k) acc[k] = vector(k * lanes);
      for (at = eight; n - at >= eight; at += eight)
        for (std::size_t k = 0; k < accumulators; ++k) acc[k] = sum(group, acc[k], vector(at + k * lanes));
      for (std::size_t apart = 1; apart < accumulators; apart *= 2)
        for (std::size_t k = 0; k < accumulators; k += 2 * apart) acc[k] = sum(group, acc[k], acc[k + apart]);
      partial.push_back(acc[0]);
    }
    if (n - at >= lanes) {
      Vector whole = vector(at);
      for (at += lanes; n - at >= lanes; at += lanes) whole = sum(group, whole, vector(at));
      partial.push_back(whole);
    }
    if (at < n) partial.push_back(vector(at));
    Vector total = partial.back();
    for (partial.pop_back(); !partial.empty(); partial.pop_back()) total = sum(group, partial.back(), total);
    for (std::size_t half = lanes / 2; half > 0; half /= 2)
      for (std::size_t j = 0; j < half; ++j) total[j] = add_node(group, sum(total[j], total[j + half]));
    return total[0];
  }

  // ---- The end of a group

  void close(ElementGroup& group) {
    if (group.members.size() > 1) replace(group);
    for (const Index v : group.values) made_[v] = {};
    group = {};
  }
  void replace(ElementGroup& group) {
    const auto inputs = static_cast<std::int32_t>(group.inputs.size());
    Instruction made;
    made.operation = {.name = "scalars"};
    loops::Graph graph;
    graph.inputs = inputs;
    graph.nodes.reserve(group.inputs.size() + group.nodes.size());
    for (std::int32_t k = 0; k < inputs; ++k)
      graph.nodes.push_back({.opcode = loops::Opcode::input, .in = {k, -1, -1, -1, -1}});
    const auto renumbered = [&](std::int32_t x) { return x == -1 ? -1 : x < -1 ? -2 - x : x + inputs; };
    for (loops::Node node : group.nodes) {
      if (node.opcode != loops::Opcode::literal)
        for (std::int32_t& x : node.in) x = renumbered(x);
      graph.nodes.push_back(node);
    }
    std::vector<std::int64_t> sizes;
    for (const Index v : group.values) {
      if (uses_[v] <= inside_[v]) continue;
      made.outputs.push_back(v);
      sizes.push_back(block_of(program_, v)->size);
      for (std::int64_t k = 0; k < sizes.back(); ++k)
        graph.outputs.push_back(renumbered(node_of_element_[made_[v].first + static_cast<std::size_t>(k)]));
    }
    // Inputs are elements of values so far.
    std::unordered_map<Index, std::uint32_t> number;
    for (loops::ScalarProgram::Element& x : group.inputs) {
      const auto [known, added] = number.try_emplace(x.array, static_cast<std::uint32_t>(made.inputs.size()));
      if (added) made.inputs.push_back(program_.whole(x.array));
      x.array = known->second;
    }
    made.scalars = std::make_shared<const loops::ScalarProgram>(std::move(graph), std::move(group.inputs),
                                                                std::move(sizes), group.dtype);
    for (const std::size_t m : group.members) gone_[m] = true;
    gone_[group.members.back()] = false;
    program_.instructions[group.members.back()] = std::move(made);
  }

  static constexpr std::int32_t no_node = -1;
  static constexpr std::int64_t most_terms = 64;  // of a sum: one block of the scalar kernels

  Program& program_;
  const Elements elements_;
  const std::vector<Index> uses_;
  std::vector<Index> inside_;  // how often members read a value
  std::vector<Made> made_;     // for each value
  std::vector<bool> gone_;     // for each instruction
  ElementGroup open_[2];       // of float32, float64
  std::uint32_t numbers_[2] = {0, 0};
  std::uint32_t count_ = 0;
  std::vector<std::int32_t> node_of_element_;
};

}  // namespace

void join_scalars(Program& program) { ElementGrouping(program).run(); }

}  // namespace reel::program
