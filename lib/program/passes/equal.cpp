// Common subexpression elimination.
#include <cstring>
#include <map>

#include "program/passes/passes.hpp"

namespace reel::program {

namespace {

// The operation, attributes and operands of an instruction, as words.
using Key = std::vector<std::uint64_t>;

Key key_of(const Instruction& i) {
  const ops::Operation& o = i.operation;
  const auto operand = static_cast<std::uint8_t>(o.operand);
  const unsigned flags = (o.summed ? 2u : 0u) | (i.residuals_wanted ? 1u : 0u);
  Key key{reinterpret_cast<std::uintptr_t>(o.primitive), reinterpret_cast<std::uintptr_t>(o.check),
          std::uint64_t{o.definition} << 16 | std::uint64_t{operand} << 8 | flags, i.inputs.size()};
  key.insert(key.end(), i.inputs.begin(), i.inputs.end());
  for (const std::int64_t word : i.attributes.words()) key.push_back(static_cast<std::uint64_t>(word));
  return key;
}

// A constant of one element, as words; empty for larger constants.
Key key_of(const Tensor& constant) {
  const detail::Block* b = detail::block(constant);
  if (b->size != 1) return {};
  Key key{static_cast<std::uint64_t>(b->dtype), b->rank, 0, 0};
  std::memcpy(&key[2], b->data, item_size(b->dtype));
  return key;
}

class Sharing {
 public:
  explicit Sharing(Program& program) : program_(program), same_as_(program.values.size()) {
    for (Index v = 0; v < same_as_.size(); ++v) same_as_[v] = v;
  }
  void run() {
    std::map<Key, Index> constants;
    for (Index v = 0; v < program_.values.size(); ++v) {
      if (program_.values[v].origin != Value::Origin::constant) continue;
      if (Key key = key_of(program_.values[v].tensor); !key.empty())
        same_as_[v] = constants.try_emplace(std::move(key), v).first->second;
    }
    std::map<Key, std::size_t> first;  // instructions
    for (std::size_t i = 0; i < program_.instructions.size(); ++i) {
      Instruction& instruction = program_.instructions[i];
      for (Index& o : instruction.inputs) o = replaced(o);
      const auto [at, is_first] = first.try_emplace(shape_key(instruction), i);
      if (is_first) continue;
      const std::vector<Index>& outputs = program_.instructions[at->second].outputs;
      for (std::size_t k = 0; k < outputs.size(); ++k)
        if (instruction.outputs[k] != nothing) same_as_[instruction.outputs[k]] = outputs[k];
    }
    for (Index& o : program_.results) o = replaced(o);
  }

 private:
  // With what the inputs do not determine of the outputs: a derivative may have a larger shape than they have.
  Key shape_key(const Instruction& i) const {
    Key key = key_of(i);
    for (const Index v : i.outputs) {
      if (v == nothing) {
        key.push_back(~std::uint64_t{0});
        continue;
      }
      const detail::Block* b = detail::block(program_.values[v].tensor);
      key.push_back(b->rank);
      for (int d = 0; d < b->rank; ++d) key.push_back(static_cast<std::uint64_t>(b->extents()[d]));
    }
    return key;
  }
  Index replaced(Index operand) {
    if (operand == nothing) return nothing;
    const Index value = program_.operands[operand].value;
    if (same_as_[value] == value) return operand;
    if (program_.operands[operand].whole) return program_.whole(same_as_[value]);
    const Operand& old = program_.operands[operand];
    return program_.operand(same_as_[value], laid_out(program_.values[same_as_[value]].tensor, old.offset, old.tensor));
  }

  Program& program_;
  std::vector<Index> same_as_;  // for each value the first equal one
};

}  // namespace

void share_equal(Program& program) { Sharing(program).run(); }

}  // namespace reel::program
