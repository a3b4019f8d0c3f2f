// Fusion: neighbouring pointwise operations become one program of lib/loops/program, which keeps its intermediate
// values in the first-level cache.
#include <algorithm>
#include <map>
#include <reel/ops/make.hpp>
#include <reel/ops/shape.hpp>

#include "core/fail.hpp"
#include "loops/reduce/reduce.hpp"
#include "ops/apply/table.hpp"
#include "ops/product/matmul.hpp"
#include "ops/reduce/reduction.hpp"
#include "program/passes/passes.hpp"
#include "program/trace.hpp"

namespace reel::program {

namespace {

// The most steps whose registers fit the first-level cache.
constexpr std::size_t most_steps = 64;

bool is_real(DType d) { return d == DType::float32 || d == DType::float64; }

const detail::Block* output_of(const Program& p, const Instruction& i) {
  return detail::block(p.values[i.outputs[0]].tensor);
}

// Whether a fused loop supports it: one floating dtype, no check of elements.
bool fusible(const Program& p, const Instruction& i) {
  const ops::Operation& o = i.operation;
  if (!i.pointwise() || o.summed || o.check) return false;
  const detail::Block* z = output_of(p, i);
  if (!is_real(z->dtype) || z->size == 0) return false;
  return std::all_of(i.inputs.begin(), i.inputs.end(),
                     [&](Index x) { return detail::block(p.operands[x].tensor)->dtype == z->dtype; });
}

// The value that the instruction sums up completely, if the sum can be fused with its terms: only if it is large and
// nobody else reads the terms. Otherwise `nothing`.
Index summed_value(const Program& p, const Instruction& i, const ops::Primitive& sum, const std::vector<Index>& uses) {
  if (i.operation.primitive != &sum) return nothing;
  const Operand& x = p.operands[i.inputs[0]];
  const detail::Block* b = detail::block(x.tensor);
  const bool all = detail::block(p.values[i.outputs[0]].tensor)->size == 1;
  const bool apt = all && x.whole && uses[x.value] == 1 && is_real(b->dtype) && b->size > loops::run_length;
  return apt && p.values[x.value].origin == Value::Origin::result ? x.value : nothing;
}

// Instructions to be fused. The fused instruction takes the place of the last one.
struct Group {
  std::vector<std::size_t> members;
  bool open = true;  // no instruction outside has read its values yet
};

// Divides the instructions into groups. An instruction joins the newest open group of its dtype and shape. Reading a
// value from outside closes its group, so that all outputs of a group are read after its last member.
class Grouping {
 public:
  Grouping(const Program& program, const std::vector<Index>& uses)
      : program_(program), uses_(uses), group_of_(program.values.size(), no_group), total_(program.values.size()) {
    for (std::size_t i = 0; i < program.instructions.size(); ++i) place(i);
  }
  std::vector<Group>& groups() { return groups_; }

 private:
  static constexpr std::size_t no_group = ~std::size_t{0};
  // dtype and extents
  std::vector<std::int64_t> key_of(const Instruction& i) const {
    const detail::Block* z = output_of(program_, i);
    std::vector<std::int64_t> key(z->extents(), z->extents() + z->rank);
    key.push_back(static_cast<std::int64_t>(z->dtype));
    return key;
  }
  void close_read(const Instruction& i, std::size_t own) {
    for (const Index o : i.inputs)
      if (o != nothing)
        if (const std::size_t g = group_of_[program_.operands[o].value]; g != no_group && g != own)
          groups_[g].open = false;
  }
  // A member reads values of its own group whole and in order, element by element.
  bool reads_other_than_elements(const Instruction& i, std::size_t group) const {
    return std::any_of(i.inputs.begin(), i.inputs.end(), [&](Index o) {
      const Operand& x = program_.operands[o];
      return group_of_[x.value] == group && (!x.whole || total_[x.value]);
    });
  }
  // Whether the group that computes its terms also computes the sum.
  bool place_total(std::size_t at) {
    const Instruction& i = program_.instructions[at];
    const Index x = summed_value(program_, i, ops::sum_of_axes(), uses_);
    const std::size_t g = x == nothing ? no_group : group_of_[x];
    if (g == no_group || !groups_[g].open || total_[x]) return false;
    groups_[g].members.push_back(at);
    group_of_[i.outputs[0]] = g;
    total_[i.outputs[0]] = true;
    return true;
  }
  void place(std::size_t at) {
    const Instruction& i = program_.instructions[at];
    if (!fusible(program_, i)) return place_total(at) ? void() : close_read(i, no_group);
    const auto [newest, added] = newest_.try_emplace(key_of(i), groups_.size());
    if (!added) {
      const Group& g = groups_[newest->second];
      if (!g.open || g.members.size() >= most_steps || reads_other_than_elements(i, newest->second))
        newest->second = groups_.size();
    }
    if (newest->second == groups_.size()) groups_.emplace_back();
    close_read(i, newest->second);
    groups_[newest->second].members.push_back(at);
    group_of_[i.outputs[0]] = newest->second;
  }

  const Program& program_;
  const std::vector<Index>& uses_;
  std::vector<Group> groups_;
  std::vector<std::size_t> group_of_;  // for each value that a member computes
  std::vector<bool> total_;            // for each value: whether it is a fused sum
  std::map<std::vector<std::int64_t>, std::size_t> newest_;
};

// Builds the fused instruction of a group.
class Fusion {
 public:
  Fusion(const Program& program, const Group& group, const std::vector<Index>& uses) : program_(program) {
    made_.shape = std::make_shared<const Shape>(output_of(program, program.instructions[group.members[0]])->shape());
    for (const std::size_t m : group.members) {
      const Instruction& i = program.instructions[m];
      if (i.pointwise())
        add(i);
      else
        add_output(i.outputs[0], source(i.inputs[0]), loops::Write::total);
    }
    for (std::size_t k = 0; k < outputs_.size(); ++k)
      if (uses[outputs_[k]] > inside_[outputs_[k]]) add_output(outputs_[k], node_[outputs_[k]], loops::Write::place);
  }
  Instruction take() {
    // The first nodes are the inputs.
    const auto inputs = static_cast<std::int32_t>(made_.inputs.size());
    loops::Graph graph;
    graph.inputs = inputs;
    for (std::int32_t i = 0; i < inputs; ++i)
      graph.nodes.push_back({.opcode = loops::Opcode::input, .in = {i, -1, -1, -1, -1}});
    for (loops::Node n : graph_.nodes) {
      for (std::int32_t& x : n.in) x = x == -1 ? -1 : x < -1 ? -2 - x : x + inputs;
      graph.nodes.push_back(n);
    }
    for (const std::int32_t x : graph_.outputs) graph.outputs.push_back(x + inputs);
    made_.fused = std::make_shared<const loops::Code>(graph);
    made_.operation = {.name = "fused"};
    return std::move(made_);
  }

 private:
  void add_output(Index value, std::int32_t node, loops::Write how) {
    made_.outputs.push_back(value);
    made_.writes.push_back(how);
    graph_.outputs.push_back(node);
  }
  // The source of a step: the number of an earlier step; inputs are -2, -3, ... here.
  std::int32_t source(Index operand) {
    const Index value = program_.operands[operand].value;
    if (const auto found = node_.find(value); found != node_.end()) {
      ++inside_[value];
      return found->second;
    }
    const auto [at, added] = input_.try_emplace(operand, static_cast<std::int32_t>(made_.inputs.size()));
    if (added) made_.inputs.push_back(operand);
    return -2 - at->second;
  }
  void add(const Instruction& i) {
    const ops::Operation& o = i.operation;
    loops::Node node{};
    node.opcode = o.operand == ops::Operation::value ? loops::Opcode::value : loops::Opcode::derivative;
    node.operand = o.operand == ops::Operation::value ? std::uint8_t{0} : static_cast<std::uint8_t>(o.operand);
    node.function = o.definition;
    for (std::size_t k = 0; k < i.inputs.size(); ++k) node.in[k] = source(i.inputs[k]);
    node_[i.outputs[0]] = static_cast<std::int32_t>(graph_.nodes.size());
    graph_.nodes.push_back(node);
    outputs_.push_back(i.outputs[0]);
  }

  const Program& program_;
  Instruction made_;
  loops::Graph graph_;
  std::vector<Index> outputs_;           // of the group
  std::map<Index, std::int32_t> node_;   // for each value that a member computes
  std::map<Index, std::int32_t> input_;  // for each operand from outside
  std::map<Index, Index> inside_;        // how often members read a value
};

// For each value the instruction that computes it; the number of instructions if there is none.
std::vector<std::size_t> sources(const Program& p) {
  std::vector<std::size_t> source(p.values.size(), p.instructions.size());
  for (std::size_t i = 0; i < p.instructions.size(); ++i)
    for (const Index v : p.instructions[i].outputs)
      if (v != nothing) source[v] = i;
  return source;
}

// Makes a fused instruction also compute a product that it reads. Returns false if no output can have its memory.
bool join(Instruction& fused, const Program& p, const Instruction& product) {
  const auto reads = [&](Index o) { return p.operands[o].value == product.outputs[0]; };
  const auto input = std::find_if(fused.inputs.begin(), fused.inputs.end(), reads) - fused.inputs.begin();
  const std::int32_t output = fused.fused->last_output();
  if (output < 0 || std::find(fused.writes.begin(), fused.writes.end(), loops::Write::total) != fused.writes.end())
    return false;
  fused.product = {static_cast<Index>(input), static_cast<Index>(output)};
  fused.inputs[fused.product->input] = product.inputs[0];
  fused.inputs.push_back(product.inputs[1]);
  fused.attributes = product.attributes;
  fused.operation.name = "fused matmul";
  return true;
}

// The matrix product that members of a group read element by element and nothing else reads: the number of its
// instruction. Without one, that of all instructions.
std::size_t product_read(const Program& p, const Group& group, const std::vector<Index>& uses,
                         const std::vector<std::size_t>& source) {
  const detail::Block* z = output_of(p, p.instructions[group.members[0]]);
  std::map<Index, Index> reads;  // of products
  for (const std::size_t m : group.members)
    for (const Index o : p.instructions[m].inputs) {
      const Operand& x = p.operands[o];
      const std::size_t at = source[x.value];
      if (at == p.instructions.size() || !x.whole) continue;
      const detail::Block* c = detail::block(x.tensor);
      const bool same_shape = std::equal(c->extents(), c->extents() + c->rank, z->extents(), z->extents() + z->rank);
      if (same_shape && is_product_read_in_parts(p, p.instructions[at]) && ++reads[x.value] == uses[x.value]) return at;
    }
  return p.instructions.size();
}

// Replaces means whose sum can be fused by such a sum and a division.
void divide_sums(Program& program, const std::vector<Index>& uses) {
  std::vector<Instruction> list;
  list.reserve(program.instructions.size());
  for (Instruction& each : program.instructions) {
    const Index x = summed_value(program, each, ops::mean_of_axes(), uses);
    Instruction& mean = list.emplace_back(std::move(each));
    if (x == nothing) continue;
    const Index result = mean.outputs[0];
    const Tensor like = program.values[result].tensor;
    const Index total = program.add_value(Value::Origin::result, ops::abstract(like.dtype(), like.shape()));
    const Tensor count = cast(scalar(static_cast<double>(program.values[x].tensor.size())), like.dtype());
    const Index divisor = program.add_value(Value::Origin::constant, count);
    mean.operation = {.name = ops::sum_of_axes().rule.name, .primitive = &ops::sum_of_axes()};
    mean.attributes = {ops::sum_of_axes().rule, ops::Attributes(mean.attributes.words())};
    mean.outputs[0] = total;
    Instruction divide;
    divide.operation = ops::value_of<"divide">("divide");
    divide.inputs = {program.whole(total), program.whole(divisor)};
    divide.outputs = {result};
    list.push_back(std::move(divide));
  }
  program.instructions = std::move(list);
}

}  // namespace

// Whether a product of matrices is faster if its result is read part by part: with few terms in a sum, and a result
// that does not fit the second-level cache together with what reads it. Measured: lib/README.md.
bool is_product_read_in_parts(const Program& p, const Instruction& i) {
  constexpr std::int64_t most_terms = 128, least_bytes = 512 * 1024;
  if (i.operation.primitive != &ops::matmul_of_tensors()) return false;
  const Tensor &a = p.operands[i.inputs[0]].tensor, &b = p.operands[i.inputs[1]].tensor;
  const detail::Block* c = output_of(p, i);
  return a.rank() > 1 && b.rank() > 1 && c->size * static_cast<std::int64_t>(item_size(c->dtype)) >= least_bytes &&
         ops::terms_of_product(a, i.attributes.words()) <= most_terms;
}

void fuse_pointwise(Program& program) {
  {
    const Untraced computing;  // the program may be part of one that is being traced
    divide_sums(program, program.count_uses());
  }
  const std::vector<Index> uses = program.count_uses();
  std::vector<Group> groups = std::move(Grouping(program, uses).groups());
  std::vector<bool> gone(program.instructions.size());
  const std::vector<std::size_t> source = sources(program);
  for (const Group& g : groups) {
    const std::size_t product = product_read(program, g, uses, source);
    const bool multiplies = product < program.instructions.size();
    if (g.members.size() < 2 && !multiplies) continue;
    Instruction whole = Fusion(program, g, uses).take();
    if (multiplies && join(whole, program, program.instructions[product]))
      gone[product] = true;
    else if (g.members.size() < 2)
      continue;
    for (const std::size_t m : g.members) gone[m] = true;
    gone[g.members.back()] = false;
    program.instructions[g.members.back()] = std::move(whole);
  }
  std::size_t i = 0;
  std::erase_if(program.instructions, [&](const Instruction&) { return gone[i++]; });
}

}  // namespace reel::program
