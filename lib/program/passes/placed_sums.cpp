// Sums of parts placed into zeros, such as gradients of several slices of one tensor, become one instruction: zeros are
// written once, and each part is added to its place. Terms after the first keep the bits of what they do not cover,
// as in replay.
#include "ops/apply/table.hpp"
#include "ops/index/slice.hpp"
#include "program/passes/passes.hpp"

namespace reel::program {

namespace {

constexpr std::size_t no_instruction = ~std::size_t{0};

bool is_sum(const Instruction& i) { return i.pointwise() && i.operation == ops::value_of<"add">("add"); }

// The instruction of this kind that placed the operand, if nobody else reads the result.
std::size_t placing(const Program& p, Index operand, const ops::Primitive& kind, const std::vector<std::size_t>& maker,
                    const std::vector<Index>& uses) {
  const Operand& x = p.operands[operand];
  const std::size_t at = maker[x.value];
  const bool apt =
      at != no_instruction && x.whole && uses[x.value] == 1 && p.instructions[at].operation.primitive == &kind;
  return apt ? at : no_instruction;
}

}  // namespace

void join_places(Program& program) {
  const std::vector<Index> uses = program.count_uses();
  std::vector<std::size_t> maker(program.values.size(), no_instruction);
  std::vector<bool> gone(program.instructions.size());
  for (std::size_t at = 0; at < program.instructions.size(); ++at) {
    Instruction& i = program.instructions[at];
    for (const Index v : i.outputs)
      if (v != nothing) maker[v] = at;
    if (!is_sum(i)) continue;
    const std::size_t first = placing(program, i.inputs[0], ops::place_of_parts(), maker, uses),
                      second = placing(program, i.inputs[1], ops::place_of_term(), maker, uses);
    if (first == no_instruction || second == no_instruction) continue;
    Instruction& to = program.instructions[first];
    const Instruction& from = program.instructions[second];
    const detail::Block *a = detail::block(program.values[to.outputs[0]].tensor),
                        *b = detail::block(program.values[from.outputs[0]].tensor);
    if (a->shape() != b->shape() || a->dtype != b->dtype) continue;
    Instruction both = std::move(to);  // its lists grow in place: there may be thousands of parts
    both.inputs.insert(both.inputs.end(), from.inputs.begin(), from.inputs.end());
    both.attributes.append(from.attributes.words());
    both.outputs = i.outputs;
    gone[first] = gone[second] = true;
    i = std::move(both);
  }
  std::size_t k = 0;
  std::erase_if(program.instructions, [&](const Instruction&) { return gone[k++]; });
}

}  // namespace reel::program
