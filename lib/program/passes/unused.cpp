// Dead code elimination.
#include <algorithm>

#include "program/passes/passes.hpp"

namespace reel::program {

namespace {

// Drops residuals that no derivative reads.
void drop_token(Instruction& i, const std::vector<bool>& used) {
  if (!i.residuals_wanted || !i.operation.primitive->tokens || used[i.outputs.back()]) return;
  i.outputs.back() = nothing;
  i.residuals_wanted = false;
}

}  // namespace

void drop_unused(Program& program) {
  std::vector<bool> used(program.values.size());
  for (const Index o : program.results) used[program.operands[o].value] = true;
  std::vector<bool> kept(program.instructions.size());
  for (std::size_t i = program.instructions.size(); i-- > 0;) {
    const Instruction& instruction = program.instructions[i];
    kept[i] = instruction.may_throw() || std::any_of(instruction.outputs.begin(), instruction.outputs.end(),
                                                     [&](Index v) { return v != nothing && used[v]; });
    if (!kept[i]) continue;
    drop_token(program.instructions[i], used);
    for (const Index o : instruction.inputs)
      if (o != nothing) used[program.operands[o].value] = true;
  }
  std::size_t i = 0;
  std::erase_if(program.instructions, [&](const Instruction&) { return !kept[i++]; });
}

void simplify(Program& program) {
  drop_unused(program);
  fold_constants(program);
  share_equal(program);
  drop_unused(program);
  join_places(program);
}

void optimize(Program& program) {
  simplify(program);
  fuse_pointwise(program);
}

}  // namespace reel::program
